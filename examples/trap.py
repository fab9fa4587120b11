"""The paper's trap: which algorithms find out that bits come in blocks, and what that takes.

    python examples/trap.py

Blocks of five bits are worth most if all are ones; otherwise the fewer ones, the better, which misleads whoever looks
at single bits. Models of independent bits (umda, pbil) fall for it; those that see which bits act together do not.
"""

from __future__ import annotations

import daedal

PROBLEM, RUNS = "trap:k=5,n=25", 5
POPSIZES = {"umda": 2000, "pbil": 2000, "boa": 2000, "dae-2015": 2000, "auto": None}


def line(algorithm: str, popsize: int | None) -> str:
    """Make some runs of an algorithm; say how many were solved, and after how many evaluations on average."""
    settings = {} if popsize is None else {"popsize": popsize}
    results = [daedal.maximize(PROBLEM, algorithm=algorithm, seed=seed, **settings) for seed in range(RUNS)]
    solved = sum(result.success for result in results)
    evaluations = sum(result.evaluations_to_best for result in results) / RUNS
    best = sum(result.fitness for result in results) / RUNS
    return f"{algorithm:10} {solved}/{RUNS} {best:8.1f} {evaluations:12,.0f}  {'#' * round(2 * best)}"


if __name__ == "__main__":
    print(f"{PROBLEM}: best value 25\n{'algorithm':10} solved  best  evaluations")
    for name, size in POPSIZES.items():
        print(line(name, size))
