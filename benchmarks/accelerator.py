"""The autoencoder by JAX beside the Numba kernels: the tables of docs/accelerators.md.

    python benchmarks/accelerator.py               # time per epoch over that of the kernels, on one core and on all
    python benchmarks/accelerator.py --networks    # 20 networks side by side, and one after the other
    python benchmarks/accelerator.py --cost        # work of an epoch, and the time of two GPUs for it: computed

Each line of the first two is a process of its own, in which both sides take turns, so that a ratio is of one process
and one time of day. "One core" binds the process to a core before JAX is loaded. A time per epoch is the difference of
a long and a short fit over the difference of their epochs, the least of some turns, so that neither compilation nor
the start of a fit is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SIZES = (64, 512, 2048)
BATCHES = {100: 1_000, 1_000: 5_000}  # rows of a batch, and of an epoch
NETWORKS = 20
EPOCHS = {64: 400, 512: 20, 2048: 2}  # more than in a short fit, which has one; fewer for large batches
TURNS = 5
SECONDS = 3_000


def clocks(do: Callable[[], object]) -> tuple[float, float]:
    """Give the time on the clock, and the CPU time of all threads, that something takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    return time.perf_counter() - wall, time.process_time() - cpu


def fit_of(backend: str, n: int, batch: int, epochs: int, networks: int = 1) -> Callable[[], object]:
    """Give a function that trains networks of n hidden units for so many epochs."""
    import numpy as np

    from daedal.models import DAE

    model = DAE(backend=backend, batch_size=batch, min_epochs=epochs, max_epochs=epochs, check_every=100_000)
    rngs = [np.random.default_rng(seed) for seed in range(networks)]
    x = [np.repeat(rng.integers(0, 2, (BATCHES[batch], n // 4), dtype=np.uint8), 4, axis=1) for rng in rngs]
    return lambda: model.fit_many(x, rngs=rngs)


def per_epoch(n: int, batch: int) -> dict[str, tuple[float, float]]:
    """Give seconds and CPU seconds of an epoch by each backend."""
    more = max(1, EPOCHS[n] * 100 // batch if n < 2048 else EPOCHS[n] // 2)
    fits = {backend: [fit_of(backend, n, batch, epochs) for epochs in (1, 1 + more)] for backend in ("numba", "jax")}
    best: dict[str, list[tuple[float, float]]] = {}
    for turn in range(1 + (TURNS if n < 2048 else 2)):
        for backend, both in fits.items():
            short, long = map(clocks, both)
            if turn:  # the first one compiles
                best.setdefault(backend, []).append(tuple((b - a) / more for a, b in zip(short, long, strict=True)))  # type: ignore[arg-type]
    return {backend: (min(t[0] for t in times), min(t[1] for t in times)) for backend, times in best.items()}


def side_by_side(n: int, batch: int) -> dict[str, tuple[float, float]]:
    """Give seconds and CPU seconds that fits of several networks take in each way."""
    epochs = max(2, EPOCHS[n] // 8)
    one = {backend: fit_of(backend, n, batch, epochs) for backend in ("numba", "jax")}
    many = fit_of("jax", n, batch, epochs, NETWORKS)
    ways = {backend: lambda fit=fit: [fit() for _ in range(NETWORKS)] for backend, fit in one.items()}
    ways["together"] = many
    taken: dict[str, list[tuple[float, float]]] = {}
    for turn in range(4):
        for way, do in ways.items():
            took = clocks(do)
            if turn:
                taken.setdefault(way, []).append(took)
    return {way: (min(t[0] for t in times), min(t[1] for t in times)) for way, times in taken.items()}


def child(what: str, n: int, batch: int, cores: str) -> dict[str, tuple[float, float]]:
    """Measure in a process of its own, on one core or on all."""
    words = [sys.executable, __file__, "--child", what, str(n), str(batch), cores]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=True)
    found: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(what: str, n: int, batch: int, cores: str) -> None:
    if cores == "one":
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    print(json.dumps(per_epoch(n, batch) if what == "epoch" else side_by_side(n, batch)))


def epochs_table(sizes: list[int]) -> None:
    print("| n | batch | cores | numba, ms | jax, ms | jax / numba | jax / numba, CPU time |")
    print("|---|---|---|---|---|---|---|")
    for n in sizes:
        for batch in BATCHES:
            for cores in ("one", "all"):
                found = child("epoch", n, batch, cores)
                (a, a_cpu), (b, b_cpu) = found["numba"], found["jax"]
                cells = [f"{1e3 * a:.2f}", f"{1e3 * b:.2f}", f"{b / a:.2f}", f"{b_cpu / a_cpu:.2f}"]
                print(f"| {n:,} | {batch:,} | {cores} |", " | ".join(cells), "|", flush=True)


def networks_table(sizes: list[int]) -> None:
    print("| n | cores | numba, one by one, s | jax, one by one, s | jax, side by side, s | gain | gain, CPU time |")
    print("|---|---|---|---|---|---|---|")
    for n in sizes:
        for cores in ("one", "all"):
            found = child("networks", n, 100, cores)
            walls = [found[way][0] for way in ("numba", "jax", "together")]
            gains = [found["jax"][k] / found["together"][k] for k in (0, 1)]
            print(f"| {n:,} | {cores} |", " | ".join(f"{one:.2f}" for one in (*walls, *gains)), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", action="store_true", help="20 networks side by side")
    parser.add_argument("--cost", action="store_true", help="the work of an epoch, and what GPUs would need")
    parser.add_argument("--n", type=int, nargs="+", choices=SIZES, help="some sizes only")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments: Any = parser.parse_args()
    if arguments.child:
        what, n, batch, cores = arguments.child
        measure(what, int(n), int(batch), cores)
    elif arguments.cost:
        from accelerator_cost import cost_table

        cost_table(arguments.n or SIZES, BATCHES, NETWORKS)
    elif arguments.networks:
        networks_table(arguments.n or [64, 512])
    else:
        epochs_table(arguments.n or list(SIZES))


if __name__ == "__main__":
    main()
