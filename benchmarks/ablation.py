"""The open questions about DAE-EDA: runs solved, evaluations and CPU time with one thing changed, and without.

    python benchmarks/ablation.py --question init --problems trap5_50 hiff_64 --seeds 0-19 --workers 2
    python benchmarks/ablation.py --question cost --table          # what is there, and no run
    python benchmarks/ablation.py --question cost --table --summary   # one table, a column for each problem

Each run is a row of --store (ablation.csv), by its settings, problem, population size and seed; what is there is not
run again, so that a table may be made in parts, and broken off at any time. Variants and problems are in
ablation_variants.py; files are looked for in $DAEDAL_DATA (default ../shared/data). Evaluations and CPU seconds are
means over the solved runs, until the best; the ratios are to those of the baseline, with intervals of 95 % from 10,000
bootstrap samples of the seeds (bold in a summary: 1 is not in it); "CPU s a success" is that of all runs, whole, over
the number of solved ones. p is of Fisher's exact test of the numbers solved, two-sided.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from math import comb
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import daedal
from ablation_variants import BASELINE, BEFORE, CASES, QUESTIONS, Settings, settings_of

SAMPLES = 10_000
MEASURES = ("evaluations_to_best", "cpu_seconds_to_best")


@dataclass(frozen=True)
class Run:
    """A row of the store: what was run, and what came out."""

    settings: str
    problem: str
    popsize: int
    seed: int
    solved: bool
    best: float
    evaluations_to_best: int
    evaluations: int
    generations: int
    cpu_seconds_to_best: float
    cpu_seconds: float
    epochs: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.settings, self.problem, self.popsize, self.seed


@dataclass(frozen=True)
class Job:
    """A run to be made: what it changes, on what."""

    changes: Settings
    problem: str
    popsize: int
    seed: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        return written(settings_of(self.changes, CASES[self.problem].n)), self.problem, self.popsize, self.seed


def written(settings: Settings) -> str:
    """Write what differs from BEFORE as a command line has it, in a fixed order; nothing: "before"."""
    names = [name for name in sorted(settings) if settings[name] != BEFORE[name]]
    return " ".join(f"{name}={settings[name]}" for name in names) or "before"


def run(job: Job) -> Run:
    case = CASES[job.problem]
    settings: dict[str, Any] = settings_of(job.changes, case.n)
    if case.optimum is not None:
        settings["target"] = case.optimum
    result = daedal.maximize(case.problem(job.problem), algorithm="dae", popsize=job.popsize, seed=job.seed, **settings)
    epochs = [record.info["epochs"] for record in result.history if "epochs" in record.info]
    return Run(
        *job.key, bool(result.success), float(result.fitness), result.evaluations_to_best, result.evaluations,
        result.generations, result.cpu_seconds_to_best, result.cpu_seconds, statistics.fmean(epochs or [0.0]),
    )  # fmt: skip


def read(store: Path) -> dict[tuple[str, str, int, int], Run]:
    """Give the runs in a store, by their keys."""
    if not store.exists():
        return {}
    with store.open(newline="", encoding="utf-8") as file:
        found = [_parsed(row) for row in csv.DictReader(file)]
    return {one.key: one for one in found}


def _parsed(row: dict[str, str]) -> Run:
    readers = {"int": int, "float": float, "str": str, "bool": lambda text: text == "True"}
    return Run(**{field.name: readers[str(field.type)](row[field.name]) for field in fields(Run)})


def make(jobs: list[Job], store: Path, workers: int) -> None:
    """Make the runs that the store does not have, and add each to it when it is done."""
    known = read(store)
    wanted = list({job.key: job for job in jobs if job.key not in known}.values())
    if not wanted:
        return
    is_new = not store.exists()
    with store.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Run)])
        if is_new:
            writer.writeheader()
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for number, done in enumerate(as_completed([pool.submit(run, job) for job in wanted]), start=1):
                writer.writerow(asdict(done.result()))
                file.flush()
                print(f"\r{number} of {len(wanted)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def ratio(runs: list[Run], baseline: list[Run], name: str) -> tuple[float, float, float] | None:
    """Give the ratio of the means over solved runs, and its interval; each bootstrap sample is of the same seeds."""
    of_seed = [{one.seed: getattr(one, name) for one in group if one.solved} for group in (runs, baseline)]
    if not all(of_seed):
        return None
    seeds = sorted({one.seed for one in [*runs, *baseline]})
    table = np.array([[values.get(seed, np.nan) for seed in seeds] for values in of_seed])
    chosen = np.random.default_rng(0).integers(0, len(seeds), (SAMPLES, len(seeds)))
    with np.errstate(all="ignore"):
        means = np.nansum(table[:, chosen], axis=2) / (~np.isnan(table[:, chosen])).sum(axis=2)
        ratios = means[0] / means[1]
    low, high = np.nanquantile(ratios, [0.025, 0.975])
    return float(np.nanmean(table[0]) / np.nanmean(table[1])), float(low), float(high)


def written_ratio(found: tuple[float, float, float] | None) -> str:
    return "-" if found is None else f"{found[0]:.2f} [{found[1]:.2f}, {found[2]:.2f}]"


def fisher(a: int, runs: int, b: int, others: int) -> float:
    """Give the two-sided p of a of some runs solved against b of others, by Fisher's exact test."""
    total, solved = runs + others, a + b

    def chance(k: int) -> float:
        return comb(runs, k) * comb(others, solved - k) / comb(total, solved)

    possible = range(max(0, solved - others), min(runs, solved) + 1)
    return min(1.0, sum(chance(k) for k in possible if chance(k) <= chance(a) * (1 + 1e-9)))


def line(name: str, runs: list[Run], baseline: list[Run]) -> str:
    """Write the row of a variant."""
    solved = [one for one in runs if one.solved]
    cells = [name, f"{len(solved)}/{len(runs)}"]
    cells.append(f"{statistics.fmean(one.evaluations_to_best for one in solved):,.0f}" if solved else "-")
    cells.append(f"{statistics.fmean(one.cpu_seconds_to_best for one in solved):.2f}" if solved else "-")
    cells.append(f"{sum(one.cpu_seconds for one in runs) / len(solved):.2f}" if solved else "-")
    cells.append(f"{statistics.fmean(one.epochs for one in runs):.0f}")
    if name == BASELINE:
        cells += ["1", "1", ""]
    else:
        cells += [written_ratio(ratio(runs, baseline, measure)) for measure in MEASURES]
        cells.append(f"{fisher(len(solved), len(runs), sum(one.solved for one in baseline), len(baseline)):.2g}")
    return f"| {' | '.join(cells)} |"


def runs_of(changes: Settings, problem: str, popsize: int, seeds: list[int], known: dict[Any, Run]) -> list[Run]:
    """Give the runs of a variant that are known."""
    keys = [Job(changes, problem, popsize, seed).key for seed in seeds]
    return [known[key] for key in keys if key in known]


def table(question: str, problem: str, popsize: int, seeds: list[int], known: dict[Any, Run]) -> None:
    """Print what is known of a question on a problem."""
    where = (problem, popsize, seeds, known)
    baseline = runs_of({}, *where)
    if not baseline:
        return
    print(f"\n{question}: {problem}, popsize {popsize}, seeds {seeds[0]}-{seeds[-1]}\n")
    print("| variant | solved | evaluations | CPU s | CPU s a success | epochs | evaluations, ratio | CPU, ratio | p |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, changes in {BASELINE: {}, **QUESTIONS[question]}.items():
        if runs := runs_of(changes, *where):
            print(line(name, runs, baseline))


def cell(runs: list[Run], baseline: list[Run]) -> str:
    """Write runs solved, and the ratios of evaluations and CPU time; bold where an interval does not have 1 in it."""
    words = [f"{sum(one.solved for one in runs)}/{len(runs)}"]
    if runs is baseline:
        solved = [one for one in runs if one.solved]
        means = [
            statistics.fmean(getattr(one, name) for one in solved) if solved else float("nan") for name in MEASURES
        ]
        return f"{words[0]}, {means[0]:,.0f}, {means[1]:.2f} s"
    for found in (ratio(runs, baseline, name) for name in MEASURES):
        text = "-" if found is None else f"{found[0]:.2f}"
        words.append(f"**{text}**" if found is not None and not found[1] <= 1 <= found[2] else text)
    return ", ".join(words)


def summary(
    question: str, sizes: dict[str, int], seeds: list[int], known: dict[Any, Run], only: list[str], beside: str
) -> None:
    """Print what is known of a question in one table: a line for each variant, a column for each problem.

    Ratios are to the runs of the variant `beside`.
    """
    variants = {BASELINE: {}, **QUESTIONS[question]}
    print(f"\n{question}: seeds {seeds[0]}-{seeds[-1]}\n")
    print("| | " + " | ".join(f"{problem}, P = {size:,}" for problem, size in sizes.items()) + " |")
    print("|---" * (1 + len(sizes)) + "|")
    baselines = {problem: runs_of(variants[beside], problem, size, seeds, known) for problem, size in sizes.items()}
    for name, changes in variants.items():
        cells = []
        for problem, size in sizes.items():
            baseline = baselines[problem]
            runs = baseline if name == beside else runs_of(changes, problem, size, seeds, known)
            cells.append(cell(runs, baseline) if len(runs) == len(seeds) else "")
        if any(cells) and (not only or name in (beside, *only)):
            print(f"| {name} | {' | '.join(cells)} |")


def numbers(text: str) -> list[int]:
    """Read seeds: 0-19, or 0,3,5."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--question", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--problems", nargs="+", choices=list(CASES), default=list(CASES)[:6])
    parser.add_argument("--variants", nargs="+", help="only these, by name, and the baseline")
    parser.add_argument("--seeds", type=numbers, default=numbers("0-19"))
    parser.add_argument("--popsize", type=int, help="for all problems, in place of their own")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--store", type=Path, default=Path("ablation.csv"))
    parser.add_argument("--summary", action="store_true", help="one table a question, of variants with all seeds")
    parser.add_argument("--beside", default=BASELINE, help="the variant that a summary compares with")
    parser.add_argument("--table", action="store_true", help="print what is there, and run nothing")
    words = parser.parse_args()
    tables = [(question, problem) for question in words.question for problem in words.problems]
    sizes = {name: words.popsize or CASES[name].popsize for name in words.problems}
    jobs = [
        Job(changes, problem, sizes[problem], seed)
        for question, problem in tables
        for name, changes in {BASELINE: {}, **QUESTIONS[question]}.items()
        if not words.variants or name in (BASELINE, *words.variants)
        for seed in words.seeds
    ]
    if not words.table:
        make(jobs, words.store, words.workers)
    known = read(words.store)
    if words.summary:
        for question in words.question:
            summary(question, sizes, words.seeds, known, words.variants or [], words.beside)
        return
    for question, problem in tables:
        table(question, problem, sizes[problem], words.seeds, known)


if __name__ == "__main__":
    main()
