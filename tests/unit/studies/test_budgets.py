"""What each budget buys: figures against NumPy and SciPy, and by hand; who is better; expected running times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from budget_helpers import STUDY, TRAP, UMDA, rows_by_place, some_rows, some_runs
from scipy import stats

from daedal.studies.analysis import analyse, mean_ranks, quartiles, row_of
from daedal.studies.store import Run


def test_rows_come_by_problem_budget_and_algorithm_with_the_figures_of_their_runs() -> None:
    rows = some_rows()
    names = ("umda", "PBIL 50")
    expected = [(problem.name, budget, name) for problem in STUDY.problems for budget in (100, 1000) for name in names]
    assert [(row.problem.name, row.budget, row.algorithm.name) for row in rows] == expected
    row = rows_by_place(rows)["trap:k=4,n=20", 1000, "umda"]
    values = np.arange(8) * 1.125 + 10
    assert row.best is not None
    assert (row.best.mean, row.best.sd) == pytest.approx((values.mean(), values.std(ddof=1)))
    assert (row.runs, row.solved, row.failed, row.complete, row.popsize) == (8, 3, 0, True, None)
    assert row.evaluations is not None
    assert row.batches is not None
    assert row.cpu_seconds is not None
    assert (row.evaluations.mean, row.batches.mean, row.cpu_seconds.mean) == (903.5, 4.0, 0.5)
    assert row.ert == pytest.approx((8 * 900 + 28) / 3)  # the calls of all, also of those that did not solve it
    assert rows_by_place(rows)["cost", 100, "PBIL 50"].popsize == 50


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 20, 21])
def test_medians_and_quartiles_are_those_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).normal(size=(count, 3))
    assert quartiles(values) == pytest.approx(np.percentile(values, [25, 50, 75], axis=0))


def test_the_better_one_has_the_first_rank_also_where_smaller_is_better() -> None:
    found = {place: row.rank for place, row in rows_by_place(some_rows()).items()}
    assert found == {
        ("trap:k=4,n=20", 100, "umda"): 1.5,  # the same mean
        ("trap:k=4,n=20", 100, "PBIL 50"): 1.5,
        ("trap:k=4,n=20", 1000, "umda"): 1.0,
        ("trap:k=4,n=20", 1000, "PBIL 50"): 2.0,
        ("cost", 100, "umda"): 2.0,
        ("cost", 100, "PBIL 50"): 1.0,
        ("cost", 1000, "umda"): 2.0,
        ("cost", 1000, "PBIL 50"): 1.0,
    }
    assert mean_ranks(some_rows()) == {100: {"umda": 1.75, "PBIL 50": 1.25}, 1000: {"umda": 1.5, "PBIL 50": 1.5}}


def test_stars_are_for_whoever_is_significantly_better_by_the_tests_of_scipy() -> None:
    runs = some_runs()
    rows = rows_by_place(some_rows())
    starred = {place for place, row in rows.items() if row.best is not None and row.best.star}
    assert starred == {("trap:k=4,n=20", 1000, "umda"), ("cost", 100, "PBIL 50"), ("cost", 1000, "PBIL 50")}
    one, other = (
        [run.best for run in runs[STUDY.cell(TRAP, algorithm, algorithm.popsizes[0], 1000).key].values()]
        for algorithm in STUDY.algorithms
    )
    best = rows["trap:k=4,n=20", 1000, "umda"].best
    assert best is not None
    assert best.p == pytest.approx(stats.wilcoxon(one, other).pvalue)
    unpaired = rows_by_place(analyse(STUDY, runs, test="mann-whitney"))["trap:k=4,n=20", 1000, "umda"].best
    assert unpaired is not None
    assert unpaired.p == pytest.approx(stats.mannwhitneyu(one, other).pvalue)


def test_nobody_has_won_before_all_have_ended() -> None:
    runs = some_runs()
    del runs[STUDY.cell(TRAP, STUDY.algorithms[1], 50, 1000).key][7]
    rows = rows_by_place(some_rows(runs))
    for name, complete in (("umda", True), ("PBIL 50", False)):
        row = rows["trap:k=4,n=20", 1000, name]
        assert (row.complete, row.rank) == (complete, None)
        assert row.best is not None
        assert (row.best.star, row.best.p) == (False, None)
    assert rows["trap:k=4,n=20", 100, "umda"].rank == 1.5  # another budget is another matter
    assert mean_ranks(some_rows(runs)) == {100: {"umda": 1.75, "PBIL 50": 1.25}, 1000: {}}


def test_failed_runs_count_and_have_no_figures_and_killed_ones_are_not_made_yet() -> None:
    runs = some_runs()
    key = STUDY.cell(TRAP, UMDA, None, 1000).key
    runs[key][0] = Run(0, "failed", False, error="oh")
    row = rows_by_place(some_rows(runs))["trap:k=4,n=20", 1000, "umda"]
    assert (row.runs, row.failed, row.solved, row.complete, row.rank) == (8, 1, 2, True, 1.0)
    assert row.ert == pytest.approx(sum(range(901, 908)) / 2)
    runs[key][0] = Run(0, "killed", False, error="oh")
    row = rows_by_place(some_rows(runs))["trap:k=4,n=20", 1000, "umda"]
    assert (row.runs, row.failed, row.complete, row.rank) == (7, 0, False, None)
    runs[key] = {seed: Run(seed, "failed", False, error="oh") for seed in range(8)}
    rows = rows_by_place(some_rows(runs))
    row, rival = (rows["trap:k=4,n=20", 1000, name] for name in ("umda", "PBIL 50"))
    assert (row.best, row.median, row.ert, row.rank, rival.rank) == (None, None, None, None, 1.0)
    assert rival.best is not None
    assert not rival.best.star  # nothing shows that it is better


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(True, 100), (True, 300)], 200.0),
        ([(True, 100), (False, 1000), (False, 1000)], 2100.0),
        ([(False, 1000)], None),
        ([(None, 1000)], None),
        ([], None),
    ],
)
def test_the_expected_running_time_is_all_evaluations_over_solved_runs(
    runs: list[tuple[bool | None, int]], expected: float | None
) -> None:
    made = {seed: Run(seed, "done", success, evaluations=one) for seed, (success, one) in enumerate(runs)}
    assert row_of(TRAP, UMDA, made, len(made)).ert == expected


def test_runs_that_found_nothing_feasible_are_the_worst() -> None:
    runs = some_runs()
    key = STUDY.cell(TRAP, UMDA, None, 1000).key
    runs[key][2].best = -math.inf
    row = rows_by_place(some_rows(runs))["trap:k=4,n=20", 1000, "umda"]
    assert row.best is not None
    assert (row.best.mean, math.isnan(row.best.sd), row.rank, row.best.star) == (-math.inf, True, 2.0, False)
