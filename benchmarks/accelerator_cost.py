"""The work of an epoch of the autoencoder by JAX, from its compiled program, and the time that GPUs would need for it.

Called by `python benchmarks/accelerator.py --cost`. Nothing here is measured on a GPU. Floating-point operations and
bytes are those of `compiled.cost_analysis()`, and launches are the instructions of the optimised program that do
something, both as compiled for the CPU of this machine; for a GPU, XLA fuses a little differently. `cost_analysis`
counts the body of a loop once, however often it runs: so it is one update on one batch that is compiled and counted,
and multiplied by the updates of an epoch. Drawing its words (2 launches, 4 bytes an entry) and the shuffle of an epoch
(3 launches, the rows read and written) are added by hand; the generator's own operations are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LAUNCH_SECONDS = 5e-6
"""An assumption: about what a launch takes where nothing hides it, so that a program of many small ones waits."""

WORDS_LAUNCHES, SHUFFLE_LAUNCHES = 2, 3
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}  # instructions that do nothing
_OPCODE = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*?[\])}] ([a-z][\w-]*)\(")


@dataclass(frozen=True)
class GPU:
    name: str
    flops: float  # a second, of float32 outside of tensor cores: vendor's figure
    bandwidth: float  # bytes a second: vendor's figure


GPUS = (GPU("A100 40GB", 19.5e12, 1_555e9), GPU("RTX 4090", 82.6e12, 1_008e9))


@dataclass(frozen=True)
class Work:
    """What an epoch takes."""

    flops: float
    bytes: float
    launches: int

    def seconds(self, gpu: GPU) -> tuple[float, str]:
        """Give the time of what takes longest, as if it hid the rest, and what that is."""
        times = {
            "compute": self.flops / gpu.flops,
            "memory": self.bytes / gpu.bandwidth,
            "launches": self.launches * LAUNCH_SECONDS,
        }
        bound = max(times, key=lambda name: times[name])
        return times[bound], bound


def launches_of(program: str) -> int:
    """Count the instructions of an optimised program's entry that do something."""
    entry = program[program.index("\nENTRY") :]
    found = [match[1] for line in entry.splitlines() if (match := _OPCODE.match(line))]
    return sum(opcode not in _FREE for opcode in found)


def work_of(n: int, batch: int, rows: int, networks: int) -> Work:
    """Compile one update of so many networks, side by side, and give what an epoch of them takes."""
    import jax
    import numpy as np

    from daedal.models import DAE
    from daedal.models.jax_backend.epochs import Numbers, Plan
    from daedal.models.jax_backend.fitting import job_of, numbers_of
    from daedal.models.jax_backend.network import batch_gradient, move, new_learner
    from daedal.models.jax_backend.noise import corrupt

    model, rng = DAE(backend="jax", batch_size=batch), np.random.default_rng(0)
    job = job_of(model, rng.integers(0, 2, (rows, n), dtype=np.uint8), rng, None)
    plan: Plan = job.plan
    numbers: Numbers = numbers_of(model, job.given.x.shape[1], job.batches, None)

    def update(learner: Any, x: Any, words: Any) -> Any:
        aim = x.astype(np.float32)
        corrupted = corrupt(aim, words, plan.noise, job.given.noise)
        gradient, _ = batch_gradient(learner.layers, aim, corrupted, squared=False)
        return move(learner, gradient, numbers.rule, plan.batch)

    def shapes() -> tuple[Any, Any, Any]:
        from daedal.models.jax_backend.start import zero_layers

        learner = new_learner(zero_layers(plan.widths, tied=True), adam=False)
        return learner, np.zeros((plan.batch, n), np.uint8), np.zeros((plan.batch, n), np.uint32)

    def lifted(one: Any) -> Any:
        return jax.ShapeDtypeStruct((networks, *one.shape) if networks > 1 else one.shape, one.dtype)

    program = jax.vmap(update) if networks > 1 else update
    given = jax.tree.map(lifted, jax.eval_shape(shapes))
    compiled = jax.jit(program, donate_argnums=0).lower(*given).compile()
    cost = compiled.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost  # as older versions of JAX gave it
    each = networks * 4 * plan.batch * n  # the words of an update
    return Work(
        flops=job.batches * cost["flops"],
        bytes=job.batches * (cost["bytes accessed"] + each) + 2 * networks * rows * n,
        launches=job.batches * (launches_of(compiled.as_text()) + WORDS_LAUNCHES) + SHUFFLE_LAUNCHES,
    )


def cost_table(sizes: Iterable[int], batches: Mapping[int, int], networks: int) -> None:
    print("Computed, not measured: the time of an epoch, and what it is due to.\n")
    print("| n | batch | networks | GFLOP | GB | launches |", " | ".join(f"{gpu.name}, ms" for gpu in GPUS), "|")
    print("|---" * (6 + len(GPUS)) + "|")
    for n in sizes:
        for batch, rows in batches.items():
            for count in (1, networks):
                work = work_of(n, batch, rows, count)
                least = [work.seconds(gpu) for gpu in GPUS]
                cells = [f"{1e3 * seconds:.2f} ({bound})" for seconds, bound in least]
                numbers = " | ".join(
                    f"{one:,.{0 if one >= 100 else 3}f}" for one in (work.flops / 1e9, work.bytes / 1e9)
                )
                numbers += f" | {work.launches:,}"
                print(f"| {n:,} | {batch:,} | {count} | {numbers} |", " | ".join(cells), "|", flush=True)
