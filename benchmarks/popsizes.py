"""Which population size is best for a budget: mean best values over a grid of sizes, beside the chosen one and "auto".

    python benchmarks/popsizes.py --budgets 300 3000 --algorithms umda hboa --n 60 --runs 5

The rule in daedal/searches/presets.py comes from its tables: see docs/algorithms.md.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import daedal

SHARES = (1 / 2.5, 1 / 5, 1 / 8, 1 / 12, 1 / 19, 1 / 30, 1 / 45, 1 / 75)
"""Population sizes, as shares of the budget."""


def qubo(n: int, seed: int) -> Callable[[NDArray[np.int64]], Any]:
    """Give a dense quadratic function with random weights."""
    q = np.random.default_rng(seed).normal(size=(n, n))
    weights = (q + q.T) / 2
    return lambda x: ((x @ weights) * x).sum(axis=1)


def interactions(n: int, seed: int) -> Callable[[NDArray[np.int64]], Any]:
    """Give weights of single variables, 60 pairs and 30 triples."""
    rng = np.random.default_rng(seed)
    single = rng.normal(size=n)
    pairs, of_pairs = rng.integers(0, n, (60, 2)), 2 * rng.normal(size=60)
    triples, of_triples = rng.integers(0, n, (30, 3)), 3 * rng.normal(size=30)
    return lambda x: x @ single + x[:, pairs].prod(axis=2) @ of_pairs + x[:, triples].prod(axis=2) @ of_triples


def problems(n: int) -> dict[str, tuple[Any, int | None]]:
    """Give problems of about n variables, by name."""
    return {
        "onemax": (f"onemax:n={n}", None),
        "trap": (f"trap:k=5,n={5 * max(1, n // 6)}", None),
        "nk": (f"nk:n={n},k=3,seed=5", None),
        "qubo": (qubo(n, 1), n),
        "interactions": (interactions(n, 2), n),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--algorithms", nargs="+", default=["umda", "pbil", "tree", "ecga", "hboa", "dae-2015"])
    parser.add_argument("--sizes", type=int, nargs="+", help="population sizes; shares of the budget if not given")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    words = parser.parse_args()
    warnings.simplefilter("ignore", daedal.BudgetWarning)
    for budget in words.budgets:
        sizes = words.sizes or sorted({max(4, round(share * budget)) for share in SHARES})
        print(f"\nbudget {budget}\n{'':20}" + "".join(f"{size:>10}" for size in [*map(str, sizes), "chosen", "auto"]))
        for algorithm in words.algorithms:
            for name, (objective, n) in problems(words.n).items():
                row = [
                    statistics.fmean(
                        daedal.maximize(
                            objective, n, algorithm=algorithm, popsize=size, seed=100 + run, max_evaluations=budget
                        ).fitness
                        for run in range(words.runs)
                    )
                    for size in [*sizes, None, "auto"]
                ]
                print(f"{algorithm + ' ' + name:20}" + "".join(f"{value:10.2f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
