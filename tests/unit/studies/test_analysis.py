"""What runs made by hand say about population sizes, with answers known beforehand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import pytest

from daedal.studies.analysis import Measure, Row, analyse, size_rows
from daedal.studies.plan import Settled, Unsettled, outcomes
from daedal.studies.spec import Study
from daedal.studies.store import DONE, FAILED, KILLED, Run

Runs = dict[str, dict[int, Run]]
Numbers = Sequence[float]

BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20, 50, 100], "runs": 10}
STATUS = {"+": DONE, "-": DONE, "?": DONE, "x": FAILED, "k": KILLED}
SUCCESS = {"+": True, "-": False, "?": None, "x": False, "k": False}


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def fill(
    runs: Runs, one: Study, popsize: int | None, story: str, evaluations: Numbers | None = None, **more: Any
) -> None:
    """Write the runs of a cell, one letter per seed: solved +, not -, unknown ?, failed x, killed k, not run .

    Further: the numbers of each run (seconds, best, batches), problem and algorithm by index, the first seed.
    """
    cell = one.cell(one.problems[more.get("problem", 0)], one.algorithms[more.get("algorithm", 0)], popsize)
    usual = {"evaluations_to_best": 100, "cpu_seconds_to_best": 1.0, "best": 5.0, "batches": None}
    given = {"evaluations_to_best": evaluations, "cpu_seconds_to_best": more.get("seconds"), **more}
    numbers = {name: given.get(name) or [value] * len(story) for name, value in usual.items()}
    for index, letter in enumerate(story):
        if letter != ".":
            seed = more.get("first", one.seed) + index
            known = {name: of_runs[index] for name, of_runs in numbers.items()} if STATUS[letter] == DONE else {}
            run = Run(seed=seed, status=STATUS[letter], success=SUCCESS[letter], **known)
            runs.setdefault(cell.key, {})[seed] = run


def at(rows: Sequence[Row], level: int) -> list[Row]:
    return [row for row in rows if row.level == level]


def chosen(rows: Sequence[Row]) -> list[list[int | Unsettled | None]]:
    """Give the sizes of each problem and algorithm at 50 and 90 %, or why there is none."""
    pairs = zip(at(rows, 50), at(rows, 90), strict=True)
    return [[one.choice.popsize if isinstance(one.choice, Settled) else one.choice for one in pair] for pair in pairs]


def effort(rows: Sequence[Row], level: int = 50, row: int = 0, *, again: bool = False) -> Row:
    """Give what a chosen size took; again: with other seeds."""
    found = at(rows, level)[row]
    return found.confirmed if again else found


def counts(found: Row) -> tuple[int | None, int, int | None, int, bool]:
    return found.popsize, found.runs, found.solved, found.failed, found.complete


def approx(mean: float, variance: float) -> Measure:
    return Measure(mean=pytest.approx(mean), sd=pytest.approx(math.sqrt(variance)))


def starred(rows: Sequence[Row], level: int, measure: str = "evaluations_to_best") -> list[str]:
    return [row.algorithm.name for row in at(rows, level) if row.runs and getattr(row, measure).star]


def test_the_sizes_and_their_effort_by_hand() -> None:
    one, runs = study(seed=3), {}
    fill(runs, one, 20, "++++------")
    values, best = [2, 4, 4, 4, 5, 5, 7, 9, 5, 5], [8.0] * 5 + [6.0] * 5
    fill(runs, one, 50, "+++++-----", values, seconds=[0.5, 1.5] * 5, best=best, batches=[7, 9] * 5)
    best = [8.0] * 6 + [7.0] + [8.0] * 3
    fill(runs, one, 100, "++++++-+++", [1000] * 9 + [2000], seconds=[3.0] * 10, best=best)
    rows = analyse(one, runs)
    assert chosen(rows) == [[50, 100]]
    half, most = rows
    assert (counts(half), counts(most)) == ((50, 10, 5, 0, True), (100, 10, 9, 0, True))
    # All runs count, solved or not: distances from 5 are 3, 1, 1, 1, 0, 0, 2, 4, 0, 0, and n - 1 = 9.
    assert half.evaluations_to_best == approx(5.0, 32 / 9)
    assert (half.cpu_seconds_to_best, half.best) == (approx(1.0, 10 / 4 / 9), approx(7.0, 10 / 9))
    assert half.batches == approx(8.0, 10 / 9)
    assert most.evaluations_to_best == approx(1100.0, (9 * 100**2 + 900**2) / 9)  # nine distances of 100 and one of 900
    assert (most.cpu_seconds_to_best, most.best, most.batches) == (Measure(mean=3.0, sd=0.0), approx(7.9, 0.1), None)


def test_failed_runs_are_not_solved_and_have_no_effort() -> None:
    one, runs = study(), {}
    values, best = [10] * 5 + [0, 0, 24, 24, 0], [8.0] * 5 + [0.0, 0.0, 1.0, 1.0, 0.0]
    fill(runs, one, 20, "+++++xx--k", values, best=best)
    found = effort(analyse(one, runs))
    assert counts(found) == (20, 9, 5, 2, False)  # the one that was killed has yet to be made
    assert found.evaluations_to_best == approx(14.0, (5 * 4**2 + 2 * 10**2) / 6)
    assert found.best == approx(6.0, (5 * 2**2 + 2 * 5**2) / 6)
    solved = outcomes(one, runs, *one.pairs()[0])[20]
    assert solved == {seed: letter == "+" for seed, letter in enumerate("+++++xx--")}


def test_few_runs_that_ended_well() -> None:
    one, runs = study(runs=2), {}
    fill(runs, one, 20, "xx")
    (found,) = size_rows(one, runs)
    assert counts(found) == (20, 2, 0, 2, True)
    assert found.best is found.evaluations_to_best is found.cpu_seconds_to_best is None
    fill(runs, one, 20, "+x", [40, 0], seconds=[0.5, 0])
    found = effort(analyse(one, runs))
    assert (found.evaluations_to_best, found.cpu_seconds_to_best) == (
        Measure(mean=40.0, sd=0.0),
        Measure(mean=0.5, sd=0.0),
    )
    fill(runs, one, 20, "+-", best=[4.0, -math.inf])  # nothing feasible is in the mean, too
    best = effort(analyse(one, runs)).best
    assert best.mean == -math.inf
    assert math.isnan(best.sd)


def test_a_row_says_how_far_it_is() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "--x---....")
    fill(runs, one, 50, "++-x......")
    for row in analyse(one, runs):
        assert row.failed_at_any_size == 2
        assert counts(row.under_way) == (50, 4, 2, 1, False)
    fill(runs, one, 50, "+" * 10)
    assert analyse(one, runs)[0].under_way is None


def test_confirming_runs_take_no_part_in_the_choice() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "+" * 5 + "-" * 5, [10] * 10)
    fill(runs, one, 50, "+" * 9 + "x", [30] * 10)
    before = analyse(one, runs)
    assert before[0].confirmed is None
    fresh = one.fresh_seeds(1)[0]
    fill(runs, one, 20, "+-", [70, 90], first=fresh)
    fill(runs, one, 50, "++x-", [50, 70, 0, 30], first=fresh)
    fill(runs, one, 100, "-" * 10, first=fresh)  # of a size that is no answer
    assert analyse(one, runs) == before  # none was asked for
    rows = analyse(one, runs, confirm=4)
    assert chosen(rows) == chosen(before)
    assert [dataclasses.replace(row, confirmed=None, failed_at_any_size=1) for row in rows] == before
    half, most = effort(rows, 50, again=True), effort(rows, 90, again=True)
    assert (counts(half), counts(most)) == ((20, 2, 1, 0, False), (50, 4, 2, 1, True))
    assert (half.evaluations_to_best, most.evaluations_to_best) == (approx(80.0, 200), approx(50.0, 400))
    assert counts(effort(analyse(one, runs, confirm=2), 90, again=True)) == (50, 2, 2, 0, True)
    unsettled: Runs = {}
    fill(unsettled, one, 20, "-" * 10, first=fresh)
    assert analyse(one, unsettled, confirm=10)[0].confirmed is None


RISING = list(range(10))
LESS, MORE, MOST = [100 + i for i in RISING], [200 + 2 * i for i in RISING], [400 + 3 * i for i in RISING]


def rivals(*evaluations: Numbers | None, seconds: Sequence[Numbers] | None = None) -> tuple[Study, Runs]:
    """Algorithms that solve everything with the first size, or, for None, nothing with any."""
    count = len(next(values for values in evaluations if values is not None))
    one, runs = study(algorithms=["umda", "pbil", "tree"][: len(evaluations)], runs=count), {}
    for index, values in enumerate(evaluations):
        for popsize in (20, 50, 100) if values is None else (20,):
            times = None if seconds is None else seconds[index]
            fill(runs, one, popsize, ("-" if values is None else "+") * count, values, seconds=times, algorithm=index)
    return one, runs


def test_a_clear_winner_gets_the_star_at_both_levels_and_what_has_no_size_is_no_rival() -> None:
    for values, winner in (((MORE, LESS, MOST), ["pbil"]), ((LESS, None), []), ((LESS, MORE, None), ["umda"])):
        rows = analyse(*rivals(*values))
        assert starred(rows, 50) == starred(rows, 90) == winner
        assert starred(rows, 50, "cpu_seconds_to_best") == []  # all took one second


def test_seconds_have_stars_of_their_own_but_not_of_two_kinds_of_processors() -> None:
    one, runs = rivals(LESS, MORE, seconds=[[9.0 + i for i in RISING], [1.0 + i / 2 for i in RISING]])
    for cpus, winner in ((("new", "old"), []), (("new", "new"), ["pbil"])):
        for key, cpu in zip(runs, cpus, strict=True):
            for run in runs[key].values():
                run.cpu = cpu
        rows = analyse(one, runs)
        assert starred(rows, 90) == ["umda"]
        assert starred(rows, 90, "cpu_seconds_to_best") == winner
        assert (effort(rows, 90).cpu_seconds_to_best.p is None) == (not winner)


def test_no_star_before_the_last_run_of_the_last_rival() -> None:
    one, runs = rivals(LESS, MORE, MOST)
    last = one.cell(one.problems[0], one.algorithms[2], 20).key
    assert starred(analyse(one, runs), 50) == starred(analyse(one, runs), 90) == ["umda"]
    held = runs[last].pop(9)  # nine of ten have solved it: both levels are known, but not the mean
    rows = analyse(one, runs)
    assert chosen(rows) == [[20, 20]] * 3
    assert starred(rows, 50) == starred(rows, 90) == []
    runs[last] = {0: held}  # and now nothing is known of it
    rows = analyse(one, runs)
    assert chosen(rows)[2] == [Unsettled.OPEN] * 2
    assert starred(rows, 50) == starred(rows, 90) == []


def test_levels_and_problems_are_compared_each_for_itself() -> None:
    one, runs = study(problems=["onemax:n=8", "trap:k=4,n=8"], algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "+" * 10, LESS)
    fill(runs, one, 20, "+" * 5 + "-" * 5, [50 + 2 * i for i in RISING], algorithm=1)
    fill(runs, one, 50, "+" * 10, MOST, algorithm=1)
    fill(runs, one, 20, "+" * 10, MOST, problem=1)
    fill(runs, one, 20, "+" * 10, LESS, problem=1, algorithm=1)
    rows = analyse(one, runs)
    assert chosen(rows[:4]) == [[20, 20], [20, 50]]
    assert [starred(rows[:4], level) for level in (50, 90)] == [["pbil"], ["umda"]]
    assert [starred(rows[4:], level) for level in (50, 90)] == [["pbil"], ["pbil"]]


def test_mann_and_whitney_do_not_pair_the_runs_and_holm_corrects() -> None:
    # Each run of umda takes a little less than that of pbil with the same seed, and runs differ much by their seeds:
    # the pairs are clear, the two samples lie in each other.
    less, more = [1000 * i for i in RISING], [1000 * i + 10 + i for i in RISING]
    one, runs = rivals(less, more, seconds=[more, less])
    for measure, winner in (("evaluations_to_best", "umda"), ("cpu_seconds_to_best", "pbil")):
        assert starred(analyse(one, runs), 90, measure) == [winner]
        assert starred(analyse(one, runs, test="mann-whitney"), 90, measure) == []
    # Two samples far apart, whose pairs have no seed in common.
    one, runs = study(algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "+++++xxxxx", LESS)
    fill(runs, one, 20, "xxxxx+++++", MORE, algorithm=1)
    assert starred(analyse(one, runs), 50) == []
    assert starred(analyse(one, runs, test="mann-whitney"), 50) == ["umda"]  # p = 2 / 252
    # Holm turns a star off: 8 pairs in one direction have p = 2 / 2**8 = 0.0078, the smallest of three counts thrice.
    values = [LESS[:8], MORE[:8], [*MORE[:7], MORE[7] + 1]]
    one, runs = rivals(*values, seconds=values)
    for measure in ("evaluations_to_best", "cpu_seconds_to_best"):
        assert starred(analyse(one, runs), 90, measure) == ["umda"]
        assert starred(analyse(one, runs, correct=True), 90, measure) == []
