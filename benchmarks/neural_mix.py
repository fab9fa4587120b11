"""`neural-mix` beside the default and `mix`: calls to the optimum, runs solved, CPU, and a paired test.

    python benchmarks/neural_mix.py --store neural_mix.csv                     # runs that are not in the file yet
    python benchmarks/neural_mix.py --store neural_mix.csv --only nk sat
    python benchmarks/neural_mix.py --store neural_mix.csv --tables            # tables of what is there, no runs

Functions have their variables shuffled and masked by the seed, as in `peers`; those of files come from $DAEDAL_DATA
(default ../shared/data). Calls are rows passed to the function until the optimum; a run that does not reach it counts
with all its calls. p is that of Wilcoxon's signed-rank test, two-sided, on the logarithms of the calls of the same
seeds; "ratio" is the geometric mean of calls of `neural-mix` over the other's. CPU is that of the optimizer. Seeds 0-99
are for choices; the tables are of 1000-1019. The file has a line for each run, so that one can be broken off and go on.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from instance_files import DATA, FILES
from peer_runs import Job, carry_out
from peer_tables import table
from peers import LIMIT, seeds_of

FUNCTIONS = (
    "nk_30_4.1",
    "nkexact:n=34,k=4",
    "spin_100_0",
    "trap:k=5,n=50",
    "s3v80c1000-1",
    "nkexact:n=30,k=4",
    "hiff:n=64",
    "uf50-01",
    "overlap:k=5,n=60",
    "spin_100_1",
    "sat:n=100",
    "steptrap:k=5,n=50",
)
ALGORITHMS = ("default", "mix", "neural-mix", "neural-mix,donors=walsh")
"""The last has no network: it shows what the others have of it."""

FOCUS = "neural-mix"


@dataclass(frozen=True)
class Run:
    """One run, as a line of the file."""

    algorithm: str
    function: str
    seed: int
    limit: int
    solved: int
    calls: int
    cpu: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.algorithm, self.function, self.seed, self.limit


NAMES = [field.name for field in fields(Run)]


def read(path: Path) -> dict[tuple[str, str, int, int], Run]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        kinds = (str, str, int, int, int, int, float)
        lines = [line for line in csv.reader(file) if line and line != NAMES]
    runs = [Run(*(kind(text) for kind, text in zip(kinds, line, strict=True))) for line in lines]
    return {run.key: run for run in runs}


def make_runs(words: argparse.Namespace, functions: Sequence[str], runs: dict[tuple[str, str, int, int], Run]) -> None:
    """Make the runs that are missing, all algorithms of a seed one after the other, and add each to the file."""
    wanted = [
        Job(algorithm, function, seed, words.limit)
        for function in functions
        for seed in words.seeds
        for algorithm in words.algorithms
        if (algorithm, function, seed, words.limit) not in runs
    ]
    is_new = not words.store.exists()
    with words.store.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(NAMES)
        for job in wanted:
            found = carry_out(job)
            run = Run(job.algorithm, job.function, job.seed, job.budget, int(found.solved), found.calls, found.cpu)
            runs[run.key] = run
            writer.writerow([getattr(run, name) for name in NAMES])
            file.flush()
            print(f"{job.function} seed {job.seed} {job.algorithm}: {run.calls}", file=sys.stderr)


def compared(own: Sequence[Run], other: Sequence[Run]) -> list[str]:
    """Give on the seeds that both have: the ratio of calls, how many seeds were better, equal, worse, and p."""
    theirs = {run.seed: run for run in other}
    pairs = [(run.calls, theirs[run.seed].calls) for run in own if run.seed in theirs]
    if not pairs:
        return ["-", "-", "-"]
    logs = np.log([mine / yours for mine, yours in pairs])
    p = f"{wilcoxon(logs).pvalue:.2g}" if logs.any() else "1"
    counts = f"{(logs < 0).sum()}/{(logs == 0).sum()}/{(logs > 0).sum()}"
    return [f"{np.exp(logs.mean()):.2f}", counts, p]


def rows(words: argparse.Namespace, functions: Sequence[str], runs: Sequence[Run]) -> Iterator[list[str]]:
    for function in functions:
        of = {
            name: [
                run
                for run in runs
                if (run.algorithm, run.function, run.limit) == (name, function, words.limit) and run.seed in words.seeds
            ]
            for name in words.algorithms
        }
        if not all(of.values()):
            continue
        for name, found in of.items():
            calls = [run.calls for run in found]
            yield [
                function,
                name,
                f"{sum(run.solved for run in found)}/{len(found)}",
                f"{np.mean(calls):,.0f}",
                f"{np.median(calls):,.0f}",
                f"{np.mean([run.cpu for run in found]):.2f}",
                *(["", "", ""] if name == words.focus else compared(of[words.focus], found)),
            ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="CSV of runs, read and added to")
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--focus", default=FOCUS, help="the algorithm that the others are compared with")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("1000-1019"))
    parser.add_argument("--limit", type=int, default=LIMIT, help="calls after which a run is given up")
    parser.add_argument("--only", nargs="+", default=[""], help="functions whose names begin with one of these")
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), help="as `instances` names them")
    parser.add_argument("--tables", action="store_true", help="tables of what is there, no runs")
    words = parser.parse_args()
    functions = [name for name in words.functions if name.startswith(tuple(words.only))]
    if not DATA.exists() and not words.tables:
        print(f"left out what is in files: no folder {DATA} (set DAEDAL_DATA)", file=sys.stderr)
        functions = [name for name in functions if name not in FILES]
    runs = read(words.store)
    if not words.tables:
        make_runs(words, functions, runs)
    head = ["function", "algorithm", "solved", "mean calls", "median", "CPU s", "ratio", "fewer/same/more", "p"]
    print(table(head, list(rows(words, functions, list(runs.values())))))


if __name__ == "__main__":
    main()
