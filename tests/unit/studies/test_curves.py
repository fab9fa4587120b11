"""What figures and pages draw: runtime distributions, curves of the best value, sizes, failures."""

from __future__ import annotations

import dataclasses
import math
import zlib
from typing import Any

import numpy as np
import pytest
from budget_helpers import STUDY as BUDGETS
from budget_helpers import some_runs

from daedal.result.records import Generation
from daedal.studies.snapshot import (
    Snapshot,
    anytime_curves,
    failed_runs,
    runtime_curves,
    shown_cells,
)
from daedal.studies.spec import Study
from daedal.studies.store import Run, packed_history

STUDY = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50, 100], "runs": 5})
SMALL, LARGE = STUDY.cells()


def run(seed: int, success: bool | None, evaluations: int | None = 100, **more: Any) -> Run:
    return Run(
        seed=seed, status="done", success=success, evaluations_to_best=evaluations, evaluations=200, best=20.0, **more
    )


def failed(seed: int, status: str = "failed") -> Run:
    return Run(seed=seed, status=status, success=False, error="ValueError: no")


def history(evaluations: list[int], best: list[float]) -> bytes:
    records = [
        Generation(generation=number, evaluations=at, best=value, mean=value)
        for number, (at, value) in enumerate(zip(evaluations, best, strict=True))
    ]
    return packed_history(records)


def test_a_runtime_distribution_counts_failed_runs_and_not_those_that_were_killed() -> None:
    made = {0: run(0, True, 90), 1: run(1, False), 2: run(2, True, 30), 3: failed(3), 4: failed(4, "killed")}
    stranger = {99: run(99, True, 1)}  # another study's
    (curve,) = runtime_curves(Snapshot(study=STUDY, runs={SMALL.key: made | stranger}))
    assert (curve.popsize, curve.runs, curve.longest, curve.complete) == (50, 4, 200, False)
    assert curve.evaluations.tolist() == [30, 90]
    assert curve.share.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    ("small", "large", "shown"),
    [
        (5, 0, 50),  # it solves 90 %
        (3, 5, 100),  # which does
        (3, 3, 50),  # the smallest that solves half
        (1, 0, 50),  # the most
        (1, 1, 100),  # the larger of two
    ],
)
def test_one_size_stands_for_an_algorithm(small: int, large: int, shown: int) -> None:
    made = {
        cell.key: {seed: run(seed, seed < solved) for seed in range(5)}
        for cell, solved in ((SMALL, small), (LARGE, large))
    }
    assert [cell.popsize for cell in shown_cells(STUDY, made)] == [shown]


def test_no_cell_is_shown_without_a_run_and_the_largest_budget_with_one() -> None:
    assert shown_cells(STUDY, {SMALL.key: {0: failed(0)}}) == []
    runs = some_runs()
    assert {cell.budget for cell in shown_cells(BUDGETS, runs)} == {1000}
    left = {cell.key: runs[cell.key] for cell in BUDGETS.cells() if cell.budget == 100}
    assert {cell.budget for cell in shown_cells(BUDGETS, left)} == {100}


def test_curves_are_quartiles_of_steps_and_ended_runs_keep_their_value() -> None:
    histories = {
        0: history([10, 20, 40], [1.0, 2.0, 4.0]),
        1: history([10, 30], [3.0, 5.0]),
        2: history([10], [0.0]),
    }
    made = {seed: run(seed, False) for seed in range(3)}
    (curve,) = anytime_curves(Snapshot(study=STUDY, runs={SMALL.key: made}, histories={SMALL.key: histories}))
    at = {int(x): k for k, x in enumerate(curve.evaluations)}
    assert np.all(np.diff(curve.evaluations) > 0)
    assert (min(at), max(at), curve.runs, curve.complete) == (10, 40, 3, False)
    for place, values in {10: [1, 3, 0], 20: [2, 3, 0], 29: [2, 3, 0], 30: [2, 5, 0], 40: [4, 5, 0]}.items():
        found = (curve.q1[at[place]], curve.median[at[place]], curve.q3[at[place]])
        assert found == pytest.approx(np.quantile(np.array(values, float), [0.25, 0.5, 0.75]))


@pytest.mark.parametrize(("minimize", "worst"), [(False, -math.inf), (True, math.inf)])
def test_what_found_nothing_feasible_counts_as_the_worst(minimize: bool, worst: float) -> None:
    problem = dataclasses.replace(STUDY.problems[0], minimize=minimize)
    study = dataclasses.replace(STUDY, problems=(problem,))
    key = study.cells()[0].key
    histories = {0: history([10, 20], [worst, 1.0]), 1: history([10, 20], [worst, 1.0])}
    made = {seed: run(seed, False) for seed in range(2)}
    (curve,) = anytime_curves(Snapshot(study=study, runs={key: made}, histories={key: histories}))
    assert curve.median[0] == worst
    assert curve.median[-1] == curve.q1[-1] == curve.q3[-1] == 1.0


def test_damaged_histories_are_refused() -> None:
    uneven = zlib.compress(b'{"evaluations":[1,2],"best":[1]}')
    for bad in (b"no", history([10], [1.0])[2:], uneven, zlib.compress(b'{"evaluations":[null],"best":[1]}')):
        shown = Snapshot(study=STUDY, runs={SMALL.key: {0: run(0, True)}}, histories={SMALL.key: {0: bad}})
        with pytest.raises(ValueError, match="history"):
            anytime_curves(shown)


def test_failures_have_their_cell_seed_and_text() -> None:
    fresh = STUDY.fresh_seeds(1)[0]
    made = {0: failed(0), 1: run(1, True), 2: failed(2, "killed"), fresh: failed(fresh)}
    found = failed_runs(Snapshot(study=STUDY, runs={LARGE.key: made}, confirm=1))
    assert [(cell.popsize, one.seed, one.status) for cell, one in found] == [
        (100, 0, "failed"),
        (100, 2, "killed"),
        (100, fresh, "failed"),
    ]
    assert {one.error for _, one in found} == {"ValueError: no"}
