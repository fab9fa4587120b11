"""Cost of the models: networks next to their bare matrix products, Bayesian networks, and a whole run of `boa`.

    python benchmarks/models.py

One process, one thread, CPU time, minimum of repeats. "Share" is the time of the matrix products of a fit (`np.dot`,
float32) divided by the time of the fit; the rest is noise, logistic functions, updates and Python.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import daedal
from daedal.models import DAE, RBM, BayesNet
from daedal.searches.presets import PENALTY_OF_BOA
from daedal.threads import one_blas_thread
from daedal.types import Bits

OCTAVE_SECONDS = 114.0  # hiff n=64, P=500: the authors' tuned program on this class of machine
ROWS = 1_000


def cpu_seconds(function: Callable[[], object], repeats: int = 7) -> float:
    function()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def product_seconds(rows: int, n: int, m: int) -> float:
    """Return the CPU seconds of one product of rows and weights."""
    x, w, out = (np.ones(shape, dtype=np.float32) for shape in ((rows, n), (n, m), (rows, m)))
    return cpu_seconds(lambda: [np.dot(x, w, out=out) for _ in range(200)]) / 200


def half_converged_parents(n: int, rows: int) -> Bits:
    """Draw parents as of a trap of 5 bits half way: blocks of ones (.4), of zeros (.3), random ones, shuffled."""
    rng = np.random.default_rng(0)
    kind = rng.random((rows, n // 5 + 1, 1))
    blocks = np.where(kind < 0.4, 1, np.where(kind < 0.7, 0, rng.integers(0, 2, (rows, n // 5 + 1, 5))))
    x = blocks.reshape(rows, -1)[:, :n]
    return np.ascontiguousarray(x[:, rng.permutation(n)], dtype=np.uint8)


def networks() -> None:
    """Print what a fit and a sample cost; an autoencoder takes five products a batch, RBM with two steps seven."""
    dae, dae_2015 = DAE(), replace(DAE.paper_2015(), min_epochs=75, max_epochs=75)
    rbm = RBM(max_epochs=60, stop_below=0.0, low_error=0.0, rise=100.0)
    print("| model | n | fit, CPU ms | share | sample, CPU ms |")
    print("|---|---|---|---|---|")
    for name, model in (("dae", dae), ("dae-2015", dae_2015), ("rbm", rbm)):
        for n in (20, 50, 128, 512):
            x = half_converged_parents(n, ROWS)
            if isinstance(model, DAE):
                (_, used, batch), m, products = model.divide(ROWS), n, 5
            else:
                used, batch, m, products = ROWS, model.batch_rows(ROWS), model.units(n), 7
            bare = products * model.max_epochs * (used // batch) * product_seconds(batch, n, m)
            fitted = model.fit(x, rng=np.random.default_rng(0))
            fit = cpu_seconds(lambda model=model, x=x: model.fit(x, rng=np.random.default_rng(0)), 3)
            sample = cpu_seconds(lambda fitted=fitted: fitted.sample(ROWS, rng=np.random.default_rng(0)), 3)
            print(f"| {name} | {n} | {fit * 1e3:.1f} | {bare / fit:.2f} | {sample * 1e3:.1f} |", flush=True)


def bayesian_networks() -> None:
    net, rng = BayesNet(penalty=PENALTY_OF_BOA), np.random.default_rng(0)
    print("\n| Bayesian network, n=75 | CPU ms |")
    print("|---|---|")
    for rows in (8_000, 16_000):
        x = half_converged_parents(75, rows)
        print(f"| {rows:,} parents | {cpu_seconds(lambda x=x: net.fit(x, rng=rng)) * 1e3:.1f} |", flush=True)
    wide = half_converged_parents(256, 8_000)
    tracemalloc.start()
    fitted = net.fit(wide, rng=rng)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"\nn=256, 8,000 parents: {peak:.1f} MiB above the data, {fitted.info['edges']:.0f} edges")


def boa_run() -> None:
    daedal.maximize("hiff:n=64", algorithm="boa", popsize=500, seed=0, max_generations=1)  # loads the kernels
    runs = [daedal.maximize("hiff:n=64", algorithm="boa", popsize=500, seed=seed) for seed in range(10)]
    longest = max(run.cpu_seconds for run in runs)
    print(
        f"\nboa on hiff n=64, P=500, seeds 0-9: the longest run took {longest:.3f} s CPU, "
        f"{OCTAVE_SECONDS / longest:,.0f} x less than the {OCTAVE_SECONDS:.0f} s of the authors' tuned Octave program"
    )


def main() -> None:
    with one_blas_thread():
        networks()
        bayesian_networks()
        boa_run()


if __name__ == "__main__":
    main()
