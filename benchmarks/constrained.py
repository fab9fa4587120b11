"""Problems with constraints as black boxes: how many seeds are solved, by how many evaluations.

    python benchmarks/constrained.py > docs/data/constraints.csv

Multi-knapsack problems are those of the OR-Library (mknapcb1.txt: n = 100 variables, 5 constraints), from the folder
DAEDAL_DATA, default ../shared/data. Solved means the best known value, or the optimum where it is known.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import daedal

KNAPSACKS = {1: 24381, 2: 24274, 3: 23551, 11: 42757, 21: 59822}
"""Problems of the file, and the best values known (best-feasible-slns.txt there)."""


@dataclass
class Case:
    """A problem: a function that gives values and violations, its size, and its optimum."""

    name: str
    function: Callable[[Any], tuple[Any, Any]]
    n: int
    optimum: float


def knapsack_files() -> Iterator[Case]:
    """Give multi-knapsack problems, and one of them where only what is violated is seen."""
    folder = Path(os.environ.get("DAEDAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    words = iter((folder / "mkp" / "mknapcb1.txt").read_text().split())
    for number in range(1, int(next(words)) + 1):
        n, m, _ = int(next(words)), int(next(words)), next(words)
        profits, weights, capacities = (np.array([float(next(words)) for _ in range(count)]) for count in (n, n * m, m))
        if number not in KNAPSACKS:
            continue
        weights = weights.reshape(m, n)

        def score(x: Any, c: Any = profits, a: Any = weights, b: Any = capacities) -> tuple[Any, Any]:
            return x @ c, x @ a.T - b

        yield Case(f"mknapcb1, problem {number}", score, n, KNAPSACKS[number])
        if number == 1:
            cut = lambda x, f=score: (f(x)[0], np.maximum(0, f(x)[1]))  # noqa: E731
            yield Case("the same, outputs cut off at 0", cut, n, KNAPSACKS[number])


def knapsack() -> Case:
    """Give a knapsack with one constraint, whose optimum dynamic programming knows."""
    rng = np.random.default_rng(1)
    profits, weights = rng.integers(10, 100, 100), rng.integers(10, 100, 100)
    capacity = int(weights.sum()) // 3
    best = np.zeros(capacity + 1)
    for profit, weight in zip(profits, weights, strict=True):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + profit)
    return Case("knapsack, n=100, one constraint", lambda x: (x @ profits, x @ weights - capacity), 100, best[-1])


def equalities() -> Case:
    """Return two equations as |h(x)|: the number of ones in each half."""
    worth = np.random.default_rng(2).integers(1, 1000, 60)
    best = np.sort(worth[:30])[-10:].sum() + np.sort(worth[30:])[-7:].sum()

    def score(x: Any) -> tuple[Any, Any]:
        halves = x.reshape(-1, 2, 30).sum(axis=2)
        return x @ worth, np.abs(halves - np.array([10, 7]))

    return Case("two equations, as |h(x)|, n=60", score, 60, best)


def blocks() -> Case:
    """Return eight blocks of five bits that need two ones each (1 in 10^4 candidates), while ones raise the value."""
    worth = np.random.default_rng(3).integers(1, 1000, 50)
    best = np.sort(worth[:40].reshape(8, 5))[:, -2:].sum() + worth[40:].sum()

    def score(x: Any) -> tuple[Any, Any]:
        wrong = x[:, :40].reshape(-1, 8, 5).sum(axis=2) != 2
        return x @ worth, wrong.sum(axis=1)

    return Case("feasible 1 in 10^4, n=50", score, 50, best)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=50_000)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--only", default="", help="problems whose names have this in them")
    given = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["problem", "runs", "solved", "mean evaluations of solved runs", "infeasible"])
    for case in (one for one in [*knapsack_files(), knapsack(), equalities(), blocks()] if given.only in one.name):
        results = [
            daedal.maximize(
                case.function,
                n=case.n,
                violations=True,
                algorithm=given.algorithm,
                seed=seed,
                max_evaluations=given.evaluations,
                target=case.optimum,
            )
            for seed in range(1, given.seeds + 1)
        ]
        solved = [result.evaluations for result in results if result.success]
        mean = f"{fmean(solved):.0f}" if solved else ""
        infeasible = sum(not result.feasible for result in results)
        table.writerow([case.name, given.seeds, len(solved), mean, infeasible])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
