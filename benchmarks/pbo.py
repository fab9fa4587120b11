"""The 25 functions of PBO (extra `ioh`): the best value that daedal's algorithms and a (1+1) EA find, and when.

    python benchmarks/pbo.py > docs/data/pbo.csv
    python benchmarks/pbo.py default ea --functions 18 23 --n 64 --budget 3000 --seeds 0-9

Algorithms are those of benchmarks/rivals.py: `default`, any of daedal's by name, ea, climber, p3 and so on. All see the
same functions through one wrapper that counts calls, with variables shuffled and masked by the seed, which is what the
instances of PBO do. ioh has no optimizers of its own to compare with.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys

from counting import Counting
from daedal.problems import PBO
from instances import CLOSE, Instance
from rivals import run

ALGORITHMS = ("default", "mix", "ils", "umda", "hboa", "ea")


def instance(function: int, n: int) -> Instance:
    problem = PBO(function=function, n=n)
    return Instance(problem.made().meta_data.name, n, problem.evaluate, problem.optimum)


def cell(made: Instance, algorithm: str, seeds: list[int], budget: int) -> list[object]:
    """Return the mean best value, the mean number of evaluations to it, and how many runs found the optimum."""
    best, calls = [], []
    for seed in seeds:
        function = Counting(made, seed, budget)
        run(algorithm, function, seed, budget)
        best.append(function.best)
        calls.append(function.calls_to_best)
    solved = "" if made.optimum is None else sum(value >= made.optimum - CLOSE for value in best)
    return [f"{statistics.fmean(best):.5g}", f"{statistics.fmean(calls):.0f}", solved]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithms", nargs="*", default=ALGORITHMS)
    parser.add_argument("--functions", type=int, nargs="*", default=range(1, 26))
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--budget", type=int, default=10_000)
    parser.add_argument("--seeds", default="0-2", help="as in 0-2")
    words = parser.parse_args()
    first, _, last = words.seeds.partition("-")
    seeds = list(range(int(first), int(last or first) + 1))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["function", "name", "optimum", "algorithm", "runs", "best", "evaluations to best", "solved"])
    for function in words.functions:
        made = instance(function, words.n)
        optimum = "" if made.optimum is None else f"{made.optimum:g}"
        for algorithm in words.algorithms:
            done = cell(made, algorithm, seeds, words.budget)
            table.writerow([function, made.name, optimum, algorithm, len(seeds), *done])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
