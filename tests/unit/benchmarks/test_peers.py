"""What the tables of benchmarks/peers.py count, on records made up for it; and that a store goes on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import peer_tables
from peer_cells import ANYTIME
from peer_runs import MARKS, Job, Record, Store, carry_out, instance_number

SEEDS = list(range(1000, 1008))  # two runs on each of four instances


def record(algorithm: str, function: str, seed: int, budget: int, value: float, *, solved: bool = True) -> Record:
    marks = {str(mark): value for mark in MARKS if mark <= budget}
    calls = 500 + seed - SEEDS[0]
    return Record(algorithm, function, seed, budget, solved, calls, 10, value, value, marks, 0.001)


def words(**others: object) -> argparse.Namespace:
    chosen = {"seeds": SEEDS, "algorithms": ["default", "climber", "ea"], "limit": 5000, "only": "", **others}
    return argparse.Namespace(**chosen)


def anytime_store(own: float) -> Store:
    """Climber 10 and EA 8, each +- 1 on the same instance (sd sqrt(2)), far apart between instances."""
    store = Store(None)
    for function in ANYTIME:
        for seed in SEEDS:
            level = 100.0 * (seed % 4) + (1.0 if seed < 1004 else -1.0)
            store.add(record("climber", function, seed, 3000, level + 10))
            store.add(record("ea", function, seed, 3000, level + 8))
            for mark in MARKS:
                store.add(record("default", function, seed, mark, level + own))
    return store


@pytest.mark.parametrize(
    ("own", "below", "level", "ahead"), [(11.0, 0, 28, 28), (9.5, 0, 28, 0), (9.0, 0, 0, 0), (7.0, 28, 0, 0)]
)
def test_criteria_count_cells_by_half_a_standard_deviation(own: float, below: int, level: int, ahead: int) -> None:
    lines = peer_tables.criteria(anytime_store(own), words(), "default")[1:]
    assert [line[1] for line in lines[:3]] == [f"{below}/28", f"{level}/28", f"{ahead}/28, 0 tied"]


def test_the_deviation_is_that_on_one_instance() -> None:
    values = {seed: 100.0 * instance_number(seed) + (1.0 if seed < 1004 else -1.0) for seed in SEEDS}
    assert peer_tables.pooled_sd(values) == pytest.approx(2**0.5)


def test_packages_are_compared_on_the_seeds_that_both_have() -> None:
    store = anytime_store(9.0)
    for function in ANYTIME:
        store.add(record("optuna", function, 1000, 1000, 9.5))  # own: 10 there, though far above on average
    counts = [line for line in peer_tables.criteria(store, words(), "default") if line[0] == "ahead of optuna"]
    assert counts[0][1] == "21/21"


def test_runs_that_failed_are_told_and_not_averaged() -> None:
    store = Store(None)
    for seed in SEEDS:
        store.add(record("p3", "hiff:n=64", seed, 5000, 448.0, solved=seed < 1002))
    rows = peer_tables.calls_table(store, words(algorithms=["p3"]), ["hiff:n=64"])
    assert rows[1][:3] == ["hiff:n=64", "500 (2/8)", "3,877"]


def test_tables_are_written_into_files_with_their_names(tmp_path: Path) -> None:
    peer_tables.write_into(tmp_path, [("one", [["a", "b"], ["1,000", "-"]])])
    assert (tmp_path / "one.csv").read_text() == 'a,b\n"1,000",-\n'


def test_a_store_goes_on_and_forgets_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    jobs = [Job(name, "onemax:n=10", 3, 100) for name in ("climber", "ea", "umda")]
    for job in jobs:
        Store(path).add(carry_out(job))
    again = Store(path)
    assert all(job in again for job in jobs)
    assert carry_out(jobs[0]).marks == again.of("climber", "onemax:n=10", 100, [3])[0].marks
    again.forget(["ea"])
    assert [job in Store(path) for job in jobs] == [True, False, True]
