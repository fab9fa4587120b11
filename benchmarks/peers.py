"""Compare daedal with other optimizers: evaluations to the optimum, best values at small budgets, CPU time.

    python benchmarks/peers.py --optimum --algorithms default hboa p3 gomea --seeds 1000-1019 --store peers.jsonl
    python benchmarks/peers.py --anytime --algorithms default climber ea pymoo nevergrad --store peers.jsonl
    python benchmarks/peers.py --families --cpu --algorithms default p3 --store peers.jsonl
    python benchmarks/peers.py --optimum --anytime --families --cpu --tables --store peers.jsonl --write docs/data

The last one makes no runs. It writes its tables into CSV files in a folder.

Algorithms: `default` (what daedal takes by itself), any of daedal's by name, with settings after commas
("umda,popsize=100"); climber (restarted), ea ((1+1)), random, p3; gomea, optuna, nevergrad, pymoo (extra `bench`).
All see the same functions, with variables shuffled and masked by the seed, through one wrapper that counts calls: rows
passed to the function. The store keeps every run (one line of JSON each), so that an interrupted benchmark goes on;
`--redo NAME ...` makes the runs of an algorithm again. Runs are made in one process unless
`--workers` says more; CPU times are best measured with one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import peer_tables
from instances import DATA, FILES
from peer_cells import ANYTIME, FAMILIES, LARGE, NOISY, OPTIMUM
from peer_runs import MARKS, Job, Record, Store, carry_out
from rivals import FIXED, is_installed

LIMIT = 200_000
"""Calls after which a run to the optimum is given up."""

MOST = {"optuna": 1000}
"""Largest budget of slow rivals: TPE takes more than 10 ms a call."""

SEEDS = {"optuna": 4, "nevergrad": 8}
"""How many of the seeds slow rivals get."""

ALL = [
    "default",
    "mix",
    "dae",
    "hboa",
    "umda",
    "umda,popsize=100",
    "p3",
    "gomea",
    "climber",
    "ea",
    "optuna",
    "nevergrad",
    "pymoo",
]
ANYTIME_ONLY = ("umda,popsize=100", "random", "optuna", "nevergrad", "pymoo")
"""Rivals that are too slow, or too weak, for runs to the optimum."""


def seeds_of(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def jobs(words: argparse.Namespace) -> Iterator[Job]:
    """Give the runs that were asked for."""
    functions = [
        name
        for group, names in ((words.optimum or words.cpu, OPTIMUM), (words.families, FAMILIES))
        if group
        for name in names
    ]
    for algorithm in words.algorithms:
        seeds = words.seeds[: SEEDS.get(algorithm, len(words.seeds))]
        for function in functions if algorithm not in ANYTIME_ONLY else ():
            yield from (Job(algorithm, function, seed, words.limit) for seed in seeds)
        for function in ANYTIME if words.anytime else ():
            known = [mark for mark in MARKS if mark <= MOST.get(algorithm, MARKS[-1])]
            budgets = known[-1:] if algorithm in FIXED else known
            yield from (Job(algorithm, function, seed, budget) for budget in budgets for seed in seeds)
        for function in NOISY if words.families else ():
            if MOST.get(algorithm, MARKS[-1]) >= MARKS[-1]:
                yield from (Job(algorithm, function, seed, MARKS[-1]) for seed in seeds)


def possible(job: Job) -> bool:
    """Whether packages and files are there; says so once where they are not."""
    missing = ""
    if not is_installed(job.algorithm):
        missing = f"{job.algorithm}: not installed (pip install daedal[bench])"
    elif job.function in FILES and not DATA.exists():
        missing = f"{job.function}: no folder {DATA} (set DAEDAL_DATA)"
    elif job.function.startswith("features") and not is_installed("sklearn"):
        missing = "features: scikit-learn, which has the data, is not installed"
    if missing and missing not in _said:
        _said.add(missing)
        print(f"left out {missing}", file=sys.stderr)
    return not missing


_said: set[str] = set()


def make_runs(words: argparse.Namespace, store: Store) -> None:
    wanted = [job for job in jobs(words) if words.only in job.function and job not in store and possible(job)]
    for done, record in enumerate(results(wanted, words.workers), start=1):
        store.add(record)
        if done % 20 == 0 or done == len(wanted):
            print(f"{done} of {len(wanted)} runs: {record.algorithm} {record.function}", file=sys.stderr)


def results(wanted: list[Job], workers: int) -> Iterator[Record]:
    if workers == 1:
        yield from map(carry_out, wanted)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(carry_out, job) for job in wanted]):
            yield future.result()


def make_large_runs(words: argparse.Namespace, store: Store) -> None:
    """Make the runs at large n, each in a process of its own, whose memory is measured."""
    for algorithm in words.algorithms:
        for function in LARGE:
            job = Job(algorithm, function, words.seeds[0], words.limit)
            if words.only in function and job not in store and possible(job):
                ask = [sys.executable, __file__, "--one", algorithm, function, str(job.seed), str(job.budget)]
                done = subprocess.run(ask, capture_output=True, text=True, check=True)
                store.add(Record(**json.loads(done.stdout)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for table in ("optimum", "anytime", "families", "cpu"):
        parser.add_argument(f"--{table}", action="store_true")
    parser.add_argument("--algorithms", nargs="+", default=ALL)
    parser.add_argument("--focus", nargs="+", default=["default"], help="algorithms whose criteria are counted")
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("1000-1019"))
    parser.add_argument("--limit", type=int, default=LIMIT, help="calls of a run to the optimum")
    parser.add_argument("--only", default="", help="functions whose names contain this")
    parser.add_argument("--store", type=Path, help="file of runs, read and added to")
    parser.add_argument("--redo", nargs="+", default=[], help="algorithms whose runs are made again")
    parser.add_argument("--tables", action="store_true", help="tables of what is there, no runs")
    parser.add_argument("--write", type=Path, help="folder for the tables, such as docs/data")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--one", nargs=4, metavar=("ALGORITHM", "FUNCTION", "SEED", "BUDGET"), help="one run, as JSON")
    words = parser.parse_args()
    if words.one:
        algorithm, function, seed, budget = words.one
        print(json.dumps(asdict(carry_out(Job(algorithm, function, int(seed), int(budget))))))
        return
    store = Store(words.store)
    store.forget(words.redo)
    if not words.tables:
        make_runs(words, store)
        if words.cpu:
            make_large_runs(words, store)
    tables = list(peer_tables.all_tables(store, words))
    if words.write:
        peer_tables.write_into(words.write, tables)
    for name, rows in tables if not words.write else ():
        print(f"{name}:\n\n{peer_tables.markdown(rows)}\n")


if __name__ == "__main__":
    main()
