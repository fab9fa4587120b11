"""What runs say: hand-made ones, with answers known beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from daedal.study.analysis import Effort, Entry, Measure, Row, analyse, efforts, outcomes
from daedal.study.plan import Unsettled
from daedal.study.run import DONE, FAILED, KILLED, Run
from daedal.study.spec import Study

Runs = dict[str, dict[int, Run]]

BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20, 50, 100], "runs": 10}
STATUS = {"+": DONE, "-": DONE, "?": DONE, "x": FAILED, "k": KILLED}
SUCCESS = {"+": True, "-": False, "?": None, "x": False, "k": False}


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def fill(
    runs: Runs,
    one: Study,
    popsize: int,
    story: str,
    *,
    evaluations: Sequence[float] | None = None,
    seconds: Sequence[float] | None = None,
    best: Sequence[float] | None = None,
    problem: int = 0,
    algorithm: int = 0,
    first: int | None = None,
) -> None:
    """Write the runs of a cell, a letter a seed: solved +, not -, nobody knows ?, failed x, killed k, not run ."""
    cell = one.cell(one.problems[problem], one.algorithms[algorithm], popsize)
    start = one.seed if first is None else first
    for index, letter in enumerate(story):
        if letter == ".":
            continue
        run = Run(seed=start + index, status=STATUS[letter], success=SUCCESS[letter], error="no luck")
        if STATUS[letter] == DONE:
            run = Run(
                seed=start + index,
                status=DONE,
                success=SUCCESS[letter],
                best=5.0 if best is None else best[index],
                evaluations=int(100 if evaluations is None else evaluations[index]),
                seconds=1.0 if seconds is None else seconds[index],
                total_seconds=2.0,
            )
        runs.setdefault(cell.key, {})[start + index] = run


def entry(rows: Sequence[Row], level: int, row: int = 0) -> Entry:
    return rows[row].entries[level]


def starred(rows: Sequence[Row], level: int, measure: str = "evaluations") -> list[str]:
    found = []
    for row in rows:
        effort = row.entries[level].effort
        if effort is not None and getattr(effort, measure).star:
            found.append(row.algorithm.name)
    return found


# Sizes and their effort


def test_the_sizes_and_their_effort_by_hand() -> None:
    one, runs = study(seed=3), {}
    fill(runs, one, 20, "++++------")
    fill(
        runs,
        one,
        50,
        "+++++-----",
        evaluations=[2, 4, 4, 4, 5, 5, 7, 9, 5, 5],
        seconds=[0.5, 1.5] * 5,
        best=[8.0] * 5 + [6.0] * 5,
    )
    fill(
        runs,
        one,
        100,
        "++++++-+++",
        evaluations=[1000] * 9 + [2000],
        seconds=[3.0] * 10,
        best=[8.0] * 6 + [7.0] + [8.0] * 3,
    )
    (row,) = analyse(one, runs)
    assert (row.problem, row.algorithm) == (one.problems[0], one.algorithms[0])
    assert row.entries == {
        50: Entry(
            choice=50,
            effort=Effort(
                popsize=50,
                runs=10,
                solved=5,
                failed=0,
                complete=True,
                best=Measure(mean=7.0, sd=pytest.approx(math.sqrt(10 / 9))),
                # All runs count, solved or not: distances from 5 are 3, 1, 1, 1, 0, 0, 2, 4, 0, 0, and n - 1 = 9.
                evaluations=Measure(mean=5.0, sd=pytest.approx(math.sqrt(32 / 9))),
                # ten distances of one half
                seconds=Measure(mean=1.0, sd=pytest.approx(math.sqrt(10 / 4 / 9))),
            ),
        ),
        90: Entry(
            choice=100,
            effort=Effort(
                popsize=100,
                runs=10,
                solved=9,
                failed=0,
                complete=True,
                best=Measure(mean=pytest.approx(7.9), sd=pytest.approx(math.sqrt(0.1))),
                # mean 1100; nine distances of 100 and one of 900
                evaluations=Measure(mean=1100.0, sd=pytest.approx(math.sqrt((9 * 100**2 + 900**2) / 9))),
                seconds=Measure(mean=3.0, sd=0.0),
            ),
        ),
    }


def test_one_size_may_answer_both() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "+" * 10)
    rows = analyse(one, runs)
    assert entry(rows, 50) == entry(rows, 90)
    assert entry(rows, 50).choice == 20


def test_what_no_size_solves_and_what_is_not_known_yet() -> None:
    one, runs = study(), {}
    assert analyse(one, {})[0].entries == dict.fromkeys((50, 90), Entry(choice=Unsettled.OPEN))
    fill(runs, one, 20, "------....")  # six have failed
    fill(runs, one, 50, "++++++--..")
    rows = analyse(one, runs)
    assert entry(rows, 50).choice == 50
    effort = entry(rows, 50).effort
    assert effort is not None
    assert (effort.runs, effort.solved, effort.complete) == (8, 6, False)
    assert entry(rows, 90) == Entry(choice=Unsettled.OPEN)  # 100 was not tried
    fill(runs, one, 100, "--........")
    rows = analyse(one, runs)
    assert entry(rows, 90) == Entry(choice=Unsettled.NONE)


def test_failed_runs_are_not_solved_and_have_no_effort() -> None:
    one, runs = study(), {}
    fill(
        runs,
        one,
        20,
        "+++++xx--k",
        evaluations=[10] * 5 + [0, 0, 24, 24, 0],
        best=[8.0] * 5 + [0.0, 0.0, 1.0, 1.0, 0.0],
    )
    effort = entry(analyse(one, runs), 50).effort
    assert effort is not None
    assert (effort.runs, effort.solved, effort.failed) == (9, 5, 2)
    assert not effort.complete  # the one that was killed has yet to be made
    assert effort.evaluations == Measure(mean=14.0, sd=pytest.approx(math.sqrt((5 * 4**2 + 2 * 10**2) / 6)))
    assert effort.best == Measure(mean=6.0, sd=pytest.approx(math.sqrt((5 * 2**2 + 2 * 5**2) / 6)))
    assert outcomes(one, runs, one.problems[0], one.algorithms[0])[20] == {
        seed: letter == "+" for seed, letter in enumerate("+++++xx--")
    }


def test_a_cell_that_only_failed() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "xxxxxxxxxx")
    (effort,) = efforts(one, runs, one.problems[0], one.algorithms[0])
    assert effort == Effort(
        popsize=20, runs=10, solved=0, failed=10, complete=True, best=None, evaluations=None, seconds=None
    )


def test_one_run_that_ended_well_has_no_deviation() -> None:
    one, runs = study(runs=2), {}
    fill(runs, one, 20, "+x", evaluations=[40, 0], seconds=[0.5, 0])
    effort = entry(analyse(one, runs), 50).effort
    assert effort is not None
    assert (effort.evaluations, effort.seconds) == (Measure(mean=40.0, sd=0.0), Measure(mean=0.5, sd=0.0))


def test_nothing_feasible_is_in_the_mean() -> None:
    one, runs = study(runs=2), {}
    fill(runs, one, 20, "+-", best=[4.0, -math.inf])
    effort = entry(analyse(one, runs), 50).effort
    assert effort is not None
    assert effort.best is not None
    assert effort.best.mean == -math.inf
    assert math.isnan(effort.best.sd)


def test_without_an_optimum_there_is_no_answer_but_every_size_has_its_effort() -> None:
    one, runs = study(), {}
    for popsize, value in ((20, 4.0), (50, 6.0), (100, 7.5)):
        fill(runs, one, popsize, "?" * 10, best=[value, value + 1] * 5, evaluations=[popsize * 10] * 10)
    (row,) = analyse(one, runs)
    assert row.entries == dict.fromkeys((50, 90), Entry(choice=Unsettled.NONE))
    made = efforts(one, runs, one.problems[0], one.algorithms[0])
    assert [(effort.popsize, effort.solved) for effort in made] == [(20, 0), (50, 0), (100, 0)]
    assert [effort.best.mean for effort in made if effort.best is not None] == [4.5, 6.5, 8.0]
    assert [effort.evaluations for effort in made] == [
        Measure(mean=popsize * 10.0, sd=0.0) for popsize in (20, 50, 100)
    ]


def test_rows_are_problem_by_problem() -> None:
    one = study(problems=["onemax:n=8", "trap:k=4,n=8"], algorithms=["pbil", "umda"])
    rows = analyse(one, {})
    assert [(row.problem.name, row.algorithm.name) for row in rows] == [
        (problem, algorithm) for problem in ("onemax:n=8", "trap:k=4,n=8") for algorithm in ("pbil", "umda")
    ]


# What belongs to a study


def test_runs_of_other_studies_are_left_alone() -> None:
    one, runs = study(seed=10, runs=4, popsizes=[20, 50]), {}
    fill(runs, one, 20, "+---", evaluations=[10] * 4)
    fill(runs, one, 50, "++++", evaluations=[20] * 4)
    alone = analyse(one, runs)
    assert [entry(alone, level).choice for level in (50, 90)] == [50, 50]
    others = study(seed=0, runs=30, popsizes=[20, 30, 50], problems=["onemax:n=8", "onemax:n=9"])
    fill(runs, others, 20, "+" * 10, evaluations=[10**6] * 10)  # the same cell, with seeds before
    fill(runs, others, 20, "+" * 16, evaluations=[10**6] * 16, first=14)  # and behind
    fill(runs, others, 30, "+" * 30, evaluations=[1] * 30)  # another size
    fill(runs, others, 20, "+" * 30, evaluations=[1] * 30, problem=1)  # another problem
    assert analyse(one, runs) == alone
    made = efforts(one, runs, one.problems[0], one.algorithms[0])
    assert [(effort.popsize, effort.runs) for effort in made] == [(20, 4), (50, 4)]
    assert {
        size: len(of_size) for size, of_size in outcomes(one, runs, one.problems[0], one.algorithms[0]).items()
    } == {
        20: 4,
        50: 4,
    }


def test_names_may_change_after_the_runs() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "+" * 10)
    renamed = study(
        problems=[{"name": "easy", "problem": "onemax: n=8"}], algorithms=[{"name": "simple", "algorithm": "umda"}]
    )
    (row,) = analyse(renamed, runs)
    assert (row.problem.name, row.algorithm.name, row.entries[90].choice) == ("easy", "simple", 20)


def test_confirming_runs_take_no_part_in_the_choice() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "+" * 5 + "-" * 5, evaluations=[10] * 10)
    fill(runs, one, 50, "+" * 9 + "x", evaluations=[30] * 10)
    before = analyse(one, runs)
    assert entry(before, 50).confirmed is None
    fresh = one.fresh_seeds(1)[0]
    fill(runs, one, 20, "+-", evaluations=[70, 90], first=fresh)
    fill(runs, one, 50, "++x-", evaluations=[50, 70, 0, 30], first=fresh)
    assert analyse(one, runs) == before  # none was asked for
    rows = analyse(one, runs, confirm=4)
    for level in (50, 90):
        assert entry(rows, level).choice == entry(before, level).choice
        assert entry(rows, level).effort == entry(before, level).effort
    half, most = entry(rows, 50).confirmed, entry(rows, 90).confirmed
    assert half is not None
    assert most is not None
    assert (half.popsize, half.runs, half.solved, half.failed, half.complete) == (20, 2, 1, 0, False)
    assert half.evaluations == Measure(mean=80.0, sd=pytest.approx(math.sqrt(200)))
    assert (most.popsize, most.runs, most.solved, most.failed, most.complete) == (50, 4, 2, 1, True)
    assert most.evaluations == Measure(mean=50.0, sd=20.0)
    fewer = entry(analyse(one, runs, confirm=2), 90).confirmed
    assert fewer is not None
    assert (fewer.runs, fewer.solved, fewer.complete) == (2, 2, True)


def test_what_has_no_size_is_not_confirmed() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "-" * 10, first=one.fresh_seeds(1)[0])
    assert entry(analyse(one, runs, confirm=10), 50) == Entry(choice=Unsettled.OPEN)


# Stars

THREE = ["umda", "pbil", "tree"]
RISING = list(range(10))


def rivals(
    *evaluations: Sequence[float] | None, seconds: Sequence[Sequence[float]] | None = None
) -> tuple[Study, Runs]:
    """Algorithms that solve everything with the first size, or, for None, nothing with any."""
    count = len(next(values for values in evaluations if values is not None))
    one, runs = study(algorithms=THREE[: len(evaluations)], runs=count), {}
    for index, values in enumerate(evaluations):
        if values is None:
            for popsize in (20, 50, 100):
                fill(runs, one, popsize, "-" * count, algorithm=index)
        else:
            times = None if seconds is None else seconds[index]
            fill(runs, one, 20, "+" * count, evaluations=values, seconds=times, algorithm=index)
    return one, runs


def test_a_clear_winner_gets_the_star_at_both_levels() -> None:
    rows = analyse(*rivals([300 + 2 * i for i in RISING], [100 + i for i in RISING], [200 + 3 * i for i in RISING]))
    assert starred(rows, 50) == starred(rows, 90) == ["pbil"]
    assert starred(rows, 50, "seconds") == []  # all took one second


def test_evaluations_and_seconds_have_stars_of_their_own() -> None:
    one, runs = rivals(
        [100 + i for i in RISING],
        [200 + 3 * i for i in RISING],
        seconds=[[9.0 + i for i in RISING], [1.0 + i / 2 for i in RISING]],
    )
    rows = analyse(one, runs)
    assert starred(rows, 90) == ["umda"]
    assert starred(rows, 90, "seconds") == ["pbil"]
    for row in rows:
        effort = row.entries[90].effort
        assert effort is not None
        assert effort.evaluations is not None
        assert effort.evaluations.star is (row.algorithm.name == "umda")


def test_seconds_of_two_kinds_of_processors_are_not_compared() -> None:
    one, runs = rivals(
        [100 + i for i in RISING],
        [200 + 3 * i for i in RISING],
        seconds=[[9.0 + i for i in RISING], [1.0 + i / 2 for i in RISING]],
    )
    for key, cpu in zip(runs, ("new", "old"), strict=True):
        for run in runs[key].values():
            run.cpu = cpu
    rows = analyse(one, runs)
    assert starred(rows, 90) == ["umda"]
    assert starred(rows, 90, "seconds") == []
    effort = rows[0].entries[90].effort
    assert effort is not None
    assert effort.seconds is not None
    assert effort.seconds.p is None
    for of_cell in runs.values():
        for run in of_cell.values():
            run.cpu = "new"
    assert starred(analyse(one, runs), 90, "seconds") == ["pbil"]


def test_no_star_without_a_clear_winner() -> None:
    rows = analyse(*rivals([100 + i for i in RISING], [100 + i for i in RISING], [300 + 2 * i for i in RISING]))
    assert starred(rows, 50) == starred(rows, 90) == []
    # better than one, as often below the other as above it
    rows = analyse(*rivals([100] * 10, [100 + (-1) ** i * (i + 1) for i in RISING], [300 + i for i in RISING]))
    assert starred(rows, 50) == []


def test_no_star_without_a_rival() -> None:
    assert starred(analyse(*rivals([100 + i for i in RISING])), 90) == []
    # where the rival has no size it is left out, and the other is alone
    assert starred(analyse(*rivals([100 + i for i in RISING], None)), 90) == []


def test_whoever_has_no_size_is_left_out_of_the_comparison() -> None:
    rows = analyse(*rivals([100 + i for i in RISING], [200 + 2 * i for i in RISING], None))
    assert [row.entries[90].choice for row in rows] == [20, 20, Unsettled.NONE]
    assert starred(rows, 90) == ["umda"]


def test_no_star_before_the_last_run_of_the_last_rival() -> None:
    one, runs = rivals([100 + i for i in RISING], [200 + 2 * i for i in RISING], [400 + 3 * i for i in RISING])
    last = one.cell(one.problems[0], one.algorithms[2], 20).key
    assert starred(analyse(one, runs), 50) == starred(analyse(one, runs), 90) == ["umda"]
    held = runs[last].pop(9)  # nine of ten have solved it: both levels are known, but not the mean
    rows = analyse(one, runs)
    assert [row.entries[90].choice for row in rows] == [20, 20, 20]
    assert starred(rows, 50) == starred(rows, 90) == []
    runs[last] = {0: held}  # and now nothing is known of it
    rows = analyse(one, runs)
    assert rows[2].entries[50].choice is Unsettled.OPEN
    assert starred(rows, 50) == starred(rows, 90) == []


def test_a_row_says_how_far_it_is() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "--x---....")
    fill(runs, one, 50, "++-x......")
    (row,) = analyse(one, runs)
    assert row.failed == 2
    assert row.under_way is not None
    assert (row.under_way.popsize, row.under_way.runs, row.under_way.solved) == (50, 4, 2)
    fill(runs, one, 50, "+" * 10)
    assert analyse(one, runs)[0].under_way is None


def test_levels_are_compared_each_for_itself() -> None:
    one, runs = study(algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "+" * 10, evaluations=[100 + i for i in RISING])
    fill(runs, one, 20, "+" * 5 + "-" * 5, evaluations=[50 + 2 * i for i in RISING], algorithm=1)
    fill(runs, one, 50, "+" * 10, evaluations=[500 + 2 * i for i in RISING], algorithm=1)
    rows = analyse(one, runs)
    assert [[row.entries[level].choice for level in (50, 90)] for row in rows] == [[20, 20], [20, 50]]
    assert starred(rows, 50) == ["pbil"]
    assert starred(rows, 90) == ["umda"]


def test_problems_are_compared_each_for_itself() -> None:
    one, runs = study(problems=["onemax:n=8", "trap:k=4,n=8"], algorithms=["umda", "pbil"]), {}
    for problem in (0, 1):
        for algorithm in (0, 1):
            values = [(100 if problem == algorithm else 300) + (algorithm + 1) * i for i in RISING]
            fill(runs, one, 20, "+" * 10, evaluations=values, problem=problem, algorithm=algorithm)
    rows = analyse(one, runs)
    assert starred(rows[:2], 90) == ["umda"]
    assert starred(rows[2:], 90) == ["pbil"]


def test_seven_common_seeds_are_too_few() -> None:
    # n pairs in one direction have p = 2 / 2**n: 0.0156 for 7, 0.0078 for 8
    for story, stars_found in (("+++++++xxx", []), ("++++++++xx", ["umda"])):
        one, runs = study(algorithms=["umda", "pbil"]), {}
        fill(runs, one, 20, story, evaluations=[100 + i for i in RISING])
        fill(runs, one, 20, "+" * 10, evaluations=[300 + 2 * i for i in RISING], algorithm=1)
        assert starred(analyse(one, runs), 50) == stars_found


def test_mann_and_whitney_do_not_pair_the_runs() -> None:
    # Each run of umda takes a little less than that of pbil with the same seed, and runs differ much by their seeds:
    # the pairs are clear, the two samples lie in each other.
    less, more = [1000 * i for i in RISING], [1000 * i + 10 + i for i in RISING]
    one, runs = rivals(less, more, seconds=[more, less])
    for measure, winner in (("evaluations", "umda"), ("seconds", "pbil")):
        assert starred(analyse(one, runs), 90, measure) == [winner]
        assert starred(analyse(one, runs, test="mann-whitney"), 90, measure) == []
    # Two samples far apart, whose pairs have no seed in common.
    one, runs = study(algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "+++++xxxxx", evaluations=[100 + i for i in RISING])
    fill(runs, one, 20, "xxxxx+++++", evaluations=[200 + i for i in RISING], algorithm=1)
    assert starred(analyse(one, runs), 50) == []
    assert starred(analyse(one, runs, test="mann-whitney"), 50) == ["umda"]  # p = 2 / 252


def test_holm_turns_a_star_off() -> None:
    # 8 pairs in one direction: p = 2 / 2**8 = 0.0078, and of three pairs of algorithms the smallest counts three times.
    eight = list(range(8))
    far = [300 + 2 * i for i in eight]
    values = [[100 + i for i in eight], far, [*far[:7], far[7] + 1]]
    one, runs = rivals(*values, seconds=values)
    for measure in ("evaluations", "seconds"):
        assert starred(analyse(one, runs), 90, measure) == ["umda"]
        assert starred(analyse(one, runs, correct=True), 90, measure) == []


def test_confirming_runs_give_no_stars() -> None:
    one, runs = rivals([100 + i for i in RISING], [100 + i for i in RISING])
    fresh = one.fresh_seeds(1)[0]
    fill(runs, one, 20, "+" * 10, evaluations=[1 + i for i in RISING], first=fresh)
    fill(runs, one, 20, "+" * 10, evaluations=[500 + i for i in RISING], first=fresh, algorithm=1)
    rows = analyse(one, runs, confirm=10)
    assert starred(rows, 90) == []
    confirmed = entry(rows, 90).confirmed
    assert confirmed is not None
    assert confirmed.evaluations is not None
    assert not confirmed.evaluations.star


def test_an_unknown_test_is_named() -> None:
    with pytest.raises(ValueError, match="unknown test 'wilcoxon'"):
        analyse(*rivals([1, 2], [3, 4]), test="wilcoxon")  # type: ignore[arg-type]
