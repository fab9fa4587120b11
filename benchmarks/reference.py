"""The reference figures: runs of seeds 0-19 at fixed population sizes, beside what is expected of them.

    python benchmarks/reference.py [--runs 20] [--first 0] [--workers 2] [--only " boa"] [--nk FILE] [--set key=value]

Problems are shuffled, as `daedal solve` does. The paper's column has its evaluations at the sizes that solve >= 50 % /
>= 90 % of the runs. "chain" is a ring of 50 variables with a random table for each pair of neighbors. A wish of 0/20
means that none was stated: the row is there to compare with. nk_30_4.1 is looked for in $DAEDAL_DATA/nk (default
../shared/data/nk) and left out where it is missing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import daedal
from daedal.problems import NK, shuffled


@dataclass(frozen=True)
class Case:
    algorithm: str
    problem: str
    popsize: int
    solved: int  # at least so many of 20
    evaluations: tuple[int, int]  # mean evaluations_to_best of all runs


ANY = (0, 10**9)
CASES = [
    Case("dae-2015", "trap:k=4,n=20", 1000, 16, (2_600, 5_800)),
    Case("dae-2015", "trap:k=4,n=40", 2000, 17, (20_000, 34_000)),
    Case("dae-2015", "trap:k=5,n=25", 2000, 16, (8_500, 15_500)),
    Case("dae-2015", "trap:k=5,n=50", 2000, 8, (27_000, 46_000)),
    Case("dae-2015", "hiff:n=64", 2000, 12, (19_000, 33_000)),
    Case("dae-2015", "nk_30_4.1", 2000, 14, (12_000, 26_000)),
    Case("dae", "hiff:n=64", 1000, 16, (0, 18_000)),
    Case("dae", "trap:k=5,n=50", 2000, 16, (0, 42_000)),
    Case("dae", "nk_30_4.1", 2000, 16, ANY),
    Case("pbil", "trap:k=4,n=20", 4000, 17, ANY),
    Case("boa", "trap:k=4,n=20", 500, 16, (1_400, 3_000)),
    Case("boa", "trap:k=4,n=40", 1000, 16, (6_000, 10_000)),
    Case("boa", "hiff:n=64", 1000, 18, (8_000, 14_000)),
    Case("boa", "trap:k=5,n=50", 4000, 18, (25_000, 48_000)),
    Case("boa", "nk_30_4.1", 4000, 14, ANY),
    Case("rbm", "trap:k=4,n=20", 2000, 12, ANY),
    Case("rbm", "trap:k=4,n=40", 4000, 12, (35_000, 70_000)),
    Case("rbm", "hiff:n=64", 4000, 12, ANY),
    Case("ecga", "trap:k=4,n=40", 4000, 18, ANY),
    Case("ecga", "trap:k=5,n=25", 8000, 18, ANY),
    Case("tree", "chain", 800, 18, ANY),
    Case("umda", "chain", 800, 0, ANY),
    Case("tree", "onemax:n=100", 600, 20, ANY),
    Case("umda", "onemax:n=100", 600, 20, ANY),
    Case("hboa", "trap:k=5,n=50", 2000, 0, ANY),
    Case("hboa", "hiff:n=64", 500, 0, ANY),
    Case("hboa", "hiff:n=128", 1000, 0, ANY),
]


PAPER = {  # evaluations at the population sizes that solve >= 50 % and >= 90 % of the runs
    ("dae", "trap:k=4,n=20"): "2,550 / 4,450",
    ("dae", "trap:k=4,n=40"): "37,400 / 37,400",
    ("dae", "trap:k=5,n=25"): "11,650 / 11,650",
    ("dae", "trap:k=5,n=50"): "57,750 / 57,750",
    ("dae", "hiff:n=64"): "22,250 / 36,900",
    ("dae", "nk_30_4.1"): "10,725 / 31,900",
    ("rbm", "trap:k=4,n=20"): "20,300 / 20,300",
    ("rbm", "trap:k=4,n=40"): "45,000 / 56,000",
    ("rbm", "hiff:n=64"): "43,200 / 75,800",
    ("boa", "trap:k=4,n=20"): "1,850 / 1,850",
    ("boa", "trap:k=4,n=40"): "7,875 / 7,875",
    ("boa", "trap:k=5,n=50"): "34,600 / 43,800",
    ("boa", "hiff:n=64"): "11,175 / 11,175",
    ("boa", "nk_30_4.1"): "9,500 / 32,500",
    ("pbil", "trap:k=4,n=20"): "23,050 / 71,200",
}


def chain(n: int = 50, seed: int = 1) -> NK:
    """Make a chain: each table looks at a variable and the next one; its optimum is exact."""
    neighbors = np.array([[i, (i + 1) % n] for i in range(n)])
    return NK(neighbors, np.random.default_rng(seed).random((n, 4)))


def run(job: tuple[Case, str, int, dict[str, str]]) -> tuple[bool, int, float, float]:
    case, problem, seed, settings = job
    objective = shuffled(chain(), rng=np.random.default_rng(seed)) if problem == "chain" else problem
    result = daedal.maximize(objective, algorithm=case.algorithm, popsize=case.popsize, seed=seed, **settings)
    epochs = [record.info["epochs"] for record in result.history if "epochs" in record.info]
    mean_epochs = statistics.fmean(epochs) if epochs else 0.0
    return bool(result.success), result.evaluations_to_best, result.cpu_seconds_to_best, mean_epochs


def line(case: Case, runs: list[tuple[bool, int, float, float]]) -> str:
    solved = sum(row[0] for row in runs)
    evaluations = [row[1] for row in runs]
    mean = statistics.fmean(evaluations)
    sd = statistics.stdev(evaluations) if len(runs) > 1 else 0.0
    low, high = case.evaluations
    wanted = f">= {case.solved}/20" + ("" if case.evaluations == ANY else f", {low:,}-{high:,}")
    good = solved * 20 >= case.solved * len(runs) and low <= mean <= high
    paper = PAPER.get((case.algorithm.removesuffix("-2015"), case.problem), "-")
    cpu, epochs = (statistics.fmean(row[k] for row in runs) for k in (2, 3))
    return (
        f"| {case.algorithm} | {case.problem} | {case.popsize} | {solved}/{len(runs)} | {mean:,.0f} +- {sd:,.0f} | "
        f"{cpu:.2f} | {epochs:.0f} | {paper} | {wanted} | {'yes' if good else 'NO'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help='part of " algorithm problem popsize"')
    parser.add_argument(
        "--nk", type=Path, default=Path(os.environ.get("DAEDAL_DATA", "../shared/data")) / "nk/nk_30_4.1"
    )
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    options = parser.parse_args()
    settings = dict(word.split("=", 1) for word in options.set)

    print("| algorithm | problem | P | solved | evaluations to best | CPU s | epochs/gen | paper | expected | met |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for case in CASES:
            if options.only not in f" {case.algorithm} {case.problem} {case.popsize}":
                continue
            problem = f"nk:{options.nk}" if case.problem == "nk_30_4.1" else case.problem
            if problem.startswith("nk:") and not options.nk.exists():
                print(f"left out {case.problem}: no file {options.nk}", file=sys.stderr)
                continue
            jobs = [(case, problem, seed, settings) for seed in range(options.first, options.first + options.runs)]
            print(line(case, list(pool.map(run, jobs))), flush=True)


if __name__ == "__main__":
    main()
