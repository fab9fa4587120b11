"""The reference figures: runs of seeds 0-19 at fixed population sizes, beside what is expected of them.

    python benchmarks/reference.py [--runs 20] [--workers 2] [--only dae-2015] [--nk FILE] [--set key=value]...

Problems are shuffled, as `daedal solve` does. nk_30_4.1 is looked for in $DAEDAL_DATA/nk (default ../shared/data/nk)
and left out where it is missing.
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

import daedal


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
    Case("dae", "hiff:n=64", 1000, 16, (0, 16_000)),
    Case("dae", "trap:k=5,n=50", 2000, 16, (0, 42_000)),
    Case("pbil", "trap:k=4,n=20", 4000, 17, ANY),
]


def run(job: tuple[Case, str, int, dict[str, str]]) -> tuple[bool, int, float, float]:
    case, problem, seed, settings = job
    result = daedal.maximize(problem, algorithm=case.algorithm, popsize=case.popsize, seed=seed, **settings)
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
    cpu, epochs = (statistics.fmean(row[k] for row in runs) for k in (2, 3))
    return (
        f"| {case.algorithm} | {case.problem} | {case.popsize} | {solved}/{len(runs)} | {mean:,.0f} +- {sd:,.0f} | "
        f"{cpu:.2f} | {epochs:.0f} | {wanted} | {'yes' if good else 'NO'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help='part of "algorithm problem popsize"')
    parser.add_argument(
        "--nk", type=Path, default=Path(os.environ.get("DAEDAL_DATA", "../shared/data")) / "nk/nk_30_4.1"
    )
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    options = parser.parse_args()
    settings = dict(word.split("=", 1) for word in options.set)

    print("| algorithm | problem | P | solved | evaluations to best | CPU s to best | epochs/gen | expected | met |")
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for case in CASES:
            if options.only not in f"{case.algorithm} {case.problem} {case.popsize}":
                continue
            problem = f"nk:{options.nk}" if case.problem == "nk_30_4.1" else case.problem
            if problem.startswith("nk:") and not options.nk.exists():
                print(f"left out {case.problem}: no file {options.nk}", file=sys.stderr)
                continue
            jobs = [(case, problem, seed, settings) for seed in range(options.runs)]
            print(line(case, list(pool.map(run, jobs))), flush=True)


if __name__ == "__main__":
    main()
