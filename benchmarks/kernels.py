"""How close training, sampling and whole runs come to their bare matrix products.

    python benchmarks/kernels.py

One process, one thread, CPU time, minimum of repeats. "Share" is the time of the bare products (`np.dot` of the same
shapes, float32) divided by the time of everything: corruption, shuffling, sigmoids, updates.
"""

from __future__ import annotations

import resource

import numpy as np
from daedal.optimizers.eda import EDAConfiguration

import daedal
from bare import cpu_times, five_products, two_products
from daedal.kernels import dae as kernels
from daedal.kernels.descent import Rule, zero_moments
from daedal.kernels.network import train as train_network
from daedal.kernels.noise import noise_shape
from daedal.kernels.products import padded
from daedal.kernels.tiles import LANES
from daedal.models import DAE
from daedal.models.network_start import drawn_stack
from daedal.rng import words16, words32
from daedal.threads import one_blas_thread

BATCH = 100
EXPECTED = {20: 0.65, 34: 0.67, 64: 0.70, 128: 0.75, 512: 0.85}


def training_share(n: int) -> float:
    """Compare a whole epoch on 2,000 rows (1,000 at n = 512) with its batches' five products."""
    rows = 2_000 if n < 512 else 1_000
    x = np.random.default_rng(0).integers(0, 2, (rows, n), dtype=np.uint8)
    epochs, model = 10, DAE()
    rng = np.random.Generator(np.random.SFC64(0))
    data = np.zeros((rows, padded(n)), dtype=np.uint8)
    data[:, :n] = x
    work = kernels.make_workspace(n, n, BATCH, model.corruption)
    stack = drawn_stack((n, n), tied=True, init="normal", scale=model.init_scale, mean=None, rng=rng)
    gradients, order, rate = (kernels.zero_gradient(stack[0]),), np.arange(rows), model.rate(n)
    rule, moments = (
        Rule(rate, rate * model.bias_factor, model.momentum, 1.0, False),
        (zero_moments(stack[0], adam=False),),
    )

    def train() -> None:
        swaps, noise = words32(rng, epochs * rows), words16(rng, epochs * rows * n + LANES)
        train_network(
            data, order, rows, swaps, noise, noise_shape(), epochs, BATCH, 0, True, False, rule, 0, stack, (n, n),
            (work,), gradients, moments,
        )  # fmt: skip

    bare, real = cpu_times(five_products(BATCH, n, n), train)
    return bare * (rows // BATCH) * epochs / real


def sampling_share(n: int) -> float:
    """Compare 512 rows with their two products a round."""
    x = np.random.default_rng(0).integers(0, 2, (200, n), dtype=np.uint8)
    rng = np.random.Generator(np.random.SFC64(0))
    fitted = DAE(min_epochs=1, max_epochs=1).fit(x, rng=rng)
    bare, real = cpu_times(two_products(128, n, n), lambda: fitted.sample(512, rng=rng))
    return bare * (512 // 128) * fitted.sampling_steps / real


def run_multiple(problem: str, algorithm: str, popsize: int) -> tuple[float, daedal.Result]:
    """Divide the CPU time of a whole run by that of the products in its epochs and samples."""
    daedal.maximize(problem, algorithm=algorithm, popsize=popsize, seed=1, max_generations=1)  # loads the kernels
    result = daedal.maximize(problem, algorithm=algorithm, popsize=popsize, seed=1)
    configuration = daedal.algorithms()[algorithm].configuration
    assert isinstance(configuration, EDAConfiguration)
    model = configuration.model
    assert isinstance(model, DAE)
    n = len(result.x)
    parents = popsize // 2
    training = parents - min(int(model.validation * parents), 500)
    batch = min(model.batch_size, training // 5)
    batches = sum(record.info.get("epochs", 0.0) for record in result.history) * (training // batch)
    sampled = (result.evaluations - popsize) * model.sampling_steps / 128
    five, two = cpu_times(five_products(batch, n, n), two_products(128, n, n))
    return result.cpu_seconds / (batches * five + sampled * two), result


def main() -> None:
    with one_blas_thread():
        print("| n | training share | at least | sampling share |")
        print("|---|---|---|---|")
        for n, least in EXPECTED.items():
            print(f"| {n} | {training_share(n):.2f} | {least:.2f} | {sampling_share(n):.2f} |", flush=True)
        print()
        print("| whole run | P | CPU s | multiple of its bare products | solved |")
        print("|---|---|---|---|---|")
        for problem, algorithm, popsize in (
            ("trap:k=4,n=40", "dae-2015", 2000),
            ("trap:k=4,n=40", "dae-2016", 2000),
            ("trap:k=5,n=50", "dae-2015", 2000),
            ("trap:k=5,n=50", "dae-2016", 2000),
            ("hiff:n=64", "dae-2015", 2000),
            ("hiff:n=64", "dae-2016", 1000),
            ("hiff:n=128", "dae-2016", 2000),
        ):
            multiple, result = run_multiple(problem, algorithm, popsize)
            print(
                f"| {algorithm} {problem} | {popsize} | {result.cpu_seconds:.2f} | {multiple:.2f} | {result.success} |",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory of this process: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
