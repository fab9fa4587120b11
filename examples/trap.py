"""The trap of the paper: algorithms that learn which bits interact solve it, and the others do not.

    python examples/trap.py

A block of five bits is worth most if all of them are ones. Otherwise, fewer ones are better, which misleads every
search that looks at single bits. So models of independent bits (umda, pbil) fail, and models of interactions do not.
"""

from __future__ import annotations

import daedal

PROBLEM, RUNS = "trap:k=5,n=25", 3
POPSIZES = {"umda": 2000, "pbil": 2000, "boa": 2000, "dae-2015": 2000, "auto": None}


def line(algorithm: str, popsize: int | None) -> str:
    """Run an algorithm several times, and return a line about the runs."""
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
