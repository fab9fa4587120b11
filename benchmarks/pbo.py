"""The 25 functions of PBO (extra `ioh`): the best value that daedal's algorithms and a (1+1) EA find, and when.

    python benchmarks/pbo.py                                       # the table of docs/benchmarks.md
    python benchmarks/pbo.py default ea --functions 18 23 --n 64 --budget 3000 --seeds 0-9

Algorithms are those of benchmarks/rivals.py: `default`, any of daedal's by name, ea, climber, p3 and so on. All see the
same functions through one wrapper that counts calls, with variables shuffled and masked by the seed, which is what the
instances of PBO do. ioh has no optimizers of its own to compare with.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from counting import Counting
from daedal.problems import PBO
from instance import CLOSE, Instance
from instance_kernels import Bits, Floats
from rivals import run

ALGORITHMS = ("default", "mix", "ils", "umda", "hboa", "ea")


def instance(function: int, n: int) -> Instance:
    problem = PBO(function=function, n=n)

    def fill(x: Bits, out: Floats) -> None:
        out[:] = problem.evaluate(x)

    return Instance(problem.made().meta_data.name, n, fill, (), problem.optimum)


def cell(made: Instance, algorithm: str, seeds: list[int], budget: int) -> tuple[float, str]:
    """Give the mean of the best values, and that with the mean number of calls to them and the runs that solved it."""
    best, calls = [], []
    for seed in seeds:
        function = Counting(made, seed, budget)
        run(algorithm, function, seed, budget)
        best.append(function.best)
        calls.append(function.calls_to_best)
    solved = "" if made.optimum is None else sum(value >= made.optimum - CLOSE for value in best)
    missed = f" ({solved}/{len(seeds)})" if solved not in ("", len(seeds)) else ""
    value = statistics.fmean(best)
    return value, f"{value:.5g}{missed} in {statistics.fmean(calls):,.0f}"


def row(function: int, words: argparse.Namespace, seeds: list[int]) -> str:
    """Write one function's line; the best mean, and what equals it, is bold."""
    made = instance(function, words.n)
    cells = [cell(made, algorithm, seeds, words.budget) for algorithm in words.algorithms]
    most = max(value for value, _ in cells)
    shown = [f"**{text}**" if np.isclose(value, most, rtol=1e-9) else text for value, text in cells]
    optimum = "?" if made.optimum is None else f"{made.optimum:g}"
    return f"| {function} {made.name} | {optimum} | {' | '.join(shown)} |"


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
    started = time.process_time()
    print(f"| function, n = {words.n} | optimum | {' | '.join(words.algorithms)} |")
    print(f"|---|---|{'---|' * len(words.algorithms)}")
    for function in words.functions:
        print(row(function, words, seeds), flush=True)
    print(f"\n{(time.process_time() - started) / 60:.0f} minutes of CPU time.")


if __name__ == "__main__":
    main()
