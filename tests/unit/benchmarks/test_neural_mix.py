"""What benchmarks/neural_mix.py compares, on runs made up for it; and that its file goes on where it ended."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import neural_mix
from neural_mix import Run, compared, make_runs, read, rows
from peer_runs import Job, Record


def runs(algorithm: str, calls: list[int]) -> list[Run]:
    return [Run(algorithm, "f", seed, 100, 1, number, 0.5) for seed, number in enumerate(calls)]


def words(store: Path) -> argparse.Namespace:
    return argparse.Namespace(
        store=store, algorithms=["mix", "neural-mix"], focus="neural-mix", seeds=[0, 1, 2], limit=100
    )


def test_runs_of_the_same_seed_are_compared() -> None:
    ratio, counts, p = compared(runs("neural-mix", [10, 20, 30, 40]), runs("mix", [20, 20, 60, 80, 999]))
    assert (ratio, counts) == ("0.59", "3/1/0")
    assert float(p) == pytest.approx(0.25)  # three differences of one sign: 2 / 2^3
    assert compared(runs("neural-mix", [5, 6]), runs("mix", [5, 6])) == ["1.00", "0/2/0", "1"]
    assert compared(runs("neural-mix", [5]), []) == ["-", "-", "-"]


def test_a_file_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Job] = []

    def carry_out(job: Job) -> Record:
        if len(made) == 4:
            raise KeyboardInterrupt
        made.append(job)
        return Record(job.algorithm, job.function, job.seed, job.budget, True, 10 + len(made), 1, 0.0, 0.0, {}, 0.1)

    monkeypatch.setattr(neural_mix, "carry_out", carry_out)
    how = words(tmp_path / "runs.csv")
    with pytest.raises(KeyboardInterrupt):
        make_runs(how, ["f"], read(how.store))
    assert len(read(how.store)) == 4
    first, made = made, []
    make_runs(how, ["f"], read(how.store))
    assert len(made) == 2
    assert not set(first) & set(made)
    lines = list(rows(how, ["f", "g"], list(read(how.store).values())))
    assert [line[:4] for line in lines] == [["f", "mix", "3/3", "12"], ["f", "neural-mix", "3/3", "13"]]
