"""Which runs are needed: the paper's procedure, whatever the order in which runs end and however often it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.studies.plan import (
    LEVELS,
    CellStatus,
    Choice,
    Settled,
    Status,
    Unsettled,
    choices,
    needed_runs,
    study_status,
)
from daedal.studies.spec import Study
from daedal.studies.store import DONE, FAILED, KILLED, Run

Table = dict[int | None, list[bool | None]]
"""By population size: the outcome of each seed, were it run."""

Made = dict[int | None, dict[int, bool | None]]
Pairs = Sequence[tuple[int | None, int]]
FIRST = 7
"""The first seed, so that no seed is the index of its run."""

OPEN, NONE = dict.fromkeys(LEVELS, Unsettled.OPEN), dict.fromkeys(LEVELS, Unsettled.NONE)
randoms = st.integers(0, 2**32).map(Random)
"""Hypothesis draws from these as a whole, which is faster than number by number."""


@st.composite
def tables(draw: st.DrawFn) -> Table:
    runs = draw(st.integers(1, 20))
    sizes = draw(st.integers(0, 6))  # 0: an algorithm without a population
    # Rates of success that rise and fall from size to size, some at the very edge of a level.
    rate = st.sampled_from([0.0, 0.4, 0.5, 0.6, 0.85, 0.9, 0.95, 1.0])
    nobody_knows = draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))
    random = draw(randoms)

    def outcomes(rate: float) -> list[bool | None]:
        return [None if random.random() < nobody_knows else random.random() < rate for _ in range(runs)]

    popsizes = [50 * 2**index for index in range(sizes)] if sizes else [None]
    return {popsize: outcomes(draw(rate)) for popsize in popsizes}


def seeds_of(table: Table) -> range:
    return range(FIRST, FIRST + len(next(iter(table.values()))))


def answers(table: Table, made: Made) -> dict[int, Choice]:
    return choices(made, list(table), seeds_of(table))


def revealed(table: Table, random: Random, share: float) -> Made:
    """Give some of the outcomes."""
    rows = {popsize: zip(seeds_of(table), row, strict=True) for popsize, row in table.items()}
    return {popsize: {seed: one for seed, one in row if random.random() < share} for popsize, row in rows.items()}


def reveal(table: Table, made: Made, runs: Pairs) -> None:
    for popsize, seed in runs:
        assert seed not in made.get(popsize, {})  # nothing is asked for twice
        made.setdefault(popsize, {})[seed] = table[popsize][seed - FIRST]


def finish(table: Table, made: Made, arrive: Callable[[Pairs], Pairs] = lambda needed: needed) -> set:
    """Make runs until no more are needed; `arrive` says which of those that are needed end next."""
    new = set()
    while needed := needed_runs(made, list(table), seeds_of(table)):
        ended = arrive(needed)
        reveal(table, made, ended)
        new |= set(ended)
        # What was needed stays so, whatever the others have brought: so it could be begun at the same time.
        assert set(needed) - set(ended) <= set(needed_runs(made, list(table), seeds_of(table)))
    return new


def one_by_one(table: Table) -> set:
    """The runs of the paper's procedure without anything at once, written out."""
    made, answered = set(), set()
    for popsize, row in table.items():
        unanswered = [level for level in LEVELS if level not in answered]
        if not unanswered:
            break
        solved = failed = 0
        for seed, outcome in zip(seeds_of(table), row, strict=True):
            if 100 * (len(row) - failed) < min(unanswered) * len(row):
                break  # though all the rest were solved, it would be too few
            made.add((popsize, seed))
            solved += outcome is True
            failed += outcome is False
        answered |= {level for level in unanswered if 100 * solved >= level * len(row)}
    return made


def best_of_all(table: Table) -> dict[int, Choice]:
    """The answers from everything: the smallest size that solves as many."""
    found: dict[int, Choice] = {}
    for level in LEVELS:
        good = [Settled(popsize) for popsize, row in table.items() if 100 * row.count(True) >= level * len(row)]
        found[level] = good[0] if good else Unsettled.NONE
    return found


# Answers


@settings(deadline=None)
@given(tables(), randoms)
def test_an_answer_is_right_and_once_given_stays(table: Table, random: Random) -> None:
    runs = [(popsize, seed) for popsize in table for seed in seeds_of(table)]
    made: Made = {}
    told: dict[int, Choice] = dict(OPEN)
    for run in random.sample(runs, len(runs)):
        reveal(table, made, [run])
        for level, choice in answers(table, made).items():
            assert told[level] in (Unsettled.OPEN, choice)
            told[level] = choice
    assert told == best_of_all(table)


@settings(deadline=None)
@given(tables(), randoms)
def test_nothing_is_said_before_it_is_certain(table: Table, random: Random) -> None:
    """An answer is given as soon as, and not before, the best and the worst of what is missing agree on it."""
    known = revealed(table, random, 0.7)
    smallest, largest = (
        answers(table, {size: {seed: row.get(seed, rest) for seed in seeds_of(table)} for size, row in known.items()})
        for rest in (True, False)
    )
    for level, found in answers(table, known).items():
        agreed = smallest[level] == largest[level]
        assert found == (smallest[level] if agreed else Unsettled.OPEN)


def test_only_sizes_and_seeds_of_the_study_count() -> None:
    assert choices({}, [50], range(20)) == OPEN
    assert choices({100: dict.fromkeys(range(20), True)}, [50, 100], range(20)) == OPEN  # 50 was not tried
    others = {50: dict.fromkeys(range(100, 140), True), 75: dict.fromkeys(range(20), True)}
    assert choices(others, [50, 100], range(20)) == OPEN
    own = {50: dict.fromkeys(range(20), False) | dict.fromkeys(range(100, 140), True)}
    assert choices(own, [50], range(20)) == NONE


def test_the_levels_are_the_papers() -> None:
    assert LEVELS == (50, 90)
    for solved, expected in (
        (9, NONE),
        (10, {50: Settled(50), 90: Unsettled.NONE}),
        (17, {50: Settled(50), 90: Unsettled.NONE}),
        (18, {50: Settled(50), 90: Settled(50)}),
    ):
        assert choices({50: {seed: seed < solved for seed in range(20)}}, [50], range(20)) == expected


# Runs

HALF: Made = {50: {seed: seed < 10 for seed in range(20)}}
"""50 % is answered, and 90 % asked for."""


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        ({}, (50, range(11))),  # eleven of twenty are certain
        ({50: dict.fromkeys(range(10), False)}, (50, [10])),
        ({50: dict.fromkeys(range(11), False)}, (100, range(11))),
        (HALF, (100, [0, 1, 2])),  # each of them is run, be they all failures
        (HALF | {100: {0: False, 1: False, 2: True}}, (100, [3])),
        (HALF | {100: dict.fromkeys(range(3), False)}, (250, [0, 1, 2])),  # 90 % is out of reach
        # seed 0 is under way while others have ended: it is still needed, and seed 3 is not certain
        (HALF | {100: {1: False, 2: False}}, (100, [0])),
        (HALF | {100: {1: True, 2: True}}, (100, [0, 3, 4])),
        ({50: dict.fromkeys(range(20), True)}, (50, [])),  # no larger size once 90 % are solved
        ({50: {seed: seed >= 2 for seed in range(20)}}, (50, [])),
    ],
)
def test_the_runs_that_are_certain_to_be_needed(made: Made, needed: tuple[int, Sequence[int]]) -> None:
    popsize, seeds = needed
    assert needed_runs(made, [50, 100, 250], range(20)) == [(popsize, seed) for seed in seeds]


def test_where_nobody_knows_the_optimum_every_size_is_run_in_full() -> None:
    table: Table = {50: [None] * 20, 100: [None] * 20}
    made: Made = {}
    assert finish(table, made) == {(popsize, seed) for popsize in table for seed in seeds_of(table)}
    assert answers(table, made) == NONE


@settings(max_examples=200, deadline=None)
@given(tables(), randoms, st.sampled_from([0.0, 0.0, 0.3, 0.9, 1.0]))
def test_whatever_is_there_only_the_rest_is_run_in_any_order(table: Table, random: Random, share: float) -> None:
    """Runs of an interrupted study, of a full grid, or of another study: none is made again, none is missed."""
    made = revealed(table, random, share)
    before = {(popsize, seed) for popsize, row in made.items() for seed in row}
    new = finish(table, made, lambda needed: random.sample(needed, random.randint(1, len(needed))))
    assert new == one_by_one(table) - before
    assert answers(table, made) == best_of_all(table)
    for choice in answers(table, made).values():
        if isinstance(choice, Settled):
            assert set(made[choice.popsize]) == set(seeds_of(table))  # what is the answer is run in full


# How far a study is

Runs = dict[str, dict[int, Run]]
BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20, 50], "runs": 4}


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def fill(
    runs: Runs, one: Study, popsize: int | None, story: str, *, error: str = "oh", algorithm: int = 0, first: int = 0
) -> None:
    """Write the runs of a cell, a letter a seed: solved +, not -, failed x, killed k, not run ."""
    cell = one.cell(one.problems[0], one.algorithms[algorithm], popsize)
    for seed, letter in enumerate(story, start=first):
        status = {"x": FAILED, "k": KILLED}.get(letter, DONE)
        if letter != ".":
            run = Run(seed=seed, status=status, success=letter == "+", error=None if status == DONE else error)
            runs.setdefault(cell.key, {})[seed] = run


def lines(status: Status) -> list[tuple[int | None, int, int, int | None, int]]:
    return [(cell.popsize, cell.done, cell.failed, cell.solved, cell.left) for cell in status.cells]


def test_a_study_from_before_its_first_run_to_its_end() -> None:
    two = study(problems=["onemax:n=8", "trap:k=4,n=8"])
    status = study_status(two, {})
    # three of four are certain: were they all failures, 50 % would be out of reach
    assert status.cells == tuple(
        CellStatus(problem=problem, algorithm="umda", popsize=20, done=0, failed=0, killed=0, solved=0, left=3)
        for problem in ("onemax:n=8", "trap:k=4,n=8")
    )
    assert (status.errors, status.total("left")) == ({}, 6)
    one, runs = study(), {}
    fill(runs, one, 20, "-+x.")
    assert lines(study_status(one, runs)) == [(20, 2, 1, 1, 1)]
    fill(runs, one, 20, "-+x+")
    assert lines(study_status(one, runs)) == [(20, 3, 1, 2, 0), (50, 0, 0, 0, 1)]  # 90 % of 4 are all 4
    fill(runs, one, 50, "++")
    assert lines(study_status(one, runs)) == [(20, 3, 1, 2, 0), (50, 2, 0, 2, 1)]
    fill(runs, one, 50, "++++")
    status = study_status(one, runs)
    assert lines(status) == [(20, 3, 1, 2, 0), (50, 4, 0, 4, 0)]
    assert [status.total(name) for name in ("done", "failed", "solved", "left")] == [7, 1, 6, 0]


def test_sizes_that_nobody_needed_and_runs_of_other_studies_are_left_out() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "++++xx")  # another one had six runs
    status = study_status(one, runs)
    assert (lines(status), status.errors) == ([(20, 4, 0, 4, 0)], {})
    assert lines(study_status(one, runs, full_grid=True)) == [(20, 4, 0, 4, 0), (50, 0, 0, 0, 4)]


def test_confirming_runs_are_left_once_a_size_is_chosen() -> None:
    one, runs = study(), {}
    assert study_status(one, runs, confirm=5).total("left") == 3
    fill(runs, one, 20, "++++")
    assert lines(study_status(one, runs, confirm=5)) == [(20, 4, 0, 4, 5)]
    fill(runs, one, 20, "+-", first=one.fresh_seeds(1)[0])
    assert lines(study_status(one, runs, confirm=5)) == [(20, 6, 0, 5, 3)]
    assert lines(study_status(one, runs, confirm=2)) == [(20, 6, 0, 5, 0)]
    assert lines(study_status(one, runs)) == [(20, 4, 0, 4, 0)]


def test_each_error_is_counted_the_most_frequent_first() -> None:
    one, runs = study(algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "x+..", error="rare")
    fill(runs, one, 20, "x-k-", error="frequent", algorithm=1)
    status = study_status(one, runs)
    assert list(status.errors.items()) == [("frequent", 2), ("rare", 1)]
    assert (status.total("failed"), status.total("killed")) == (2, 1)


def test_two_names_of_one_thing_count_once() -> None:
    twice = [{"name": name, "problem": "onemax:n=8"} for name in ("one", "other")]
    one, runs = study(problems=twice, popsizes=[20]), {}
    fill(runs, one, 20, "++x-")
    status = study_status(one, runs)
    assert lines(status) == [(20, 3, 1, 2, 0)] * 2
    assert (status.total("done"), status.total("failed"), status.errors) == (3, 1, {"oh": 1})


def test_with_budgets_every_run_is_needed_and_what_was_killed_is_made_again() -> None:
    one, runs = study(popsizes=[20], budgets=[100, 300]), {}
    small, large = one.cells()
    assert [(cell.budget, cell.popsize, cell.left) for cell in study_status(one, {}).cells] == [
        (100, 20, 4),
        (300, 20, 4),
    ]
    for cell, story in ((small, "--x"), (large, "+k--")):
        for seed, letter in enumerate(story):
            status = {"x": FAILED, "k": KILLED}.get(letter, DONE)
            runs.setdefault(cell.key, {})[seed] = Run(seed=seed, status=status, success=letter == "+")
    status = study_status(one, runs)
    assert [(cell.done, cell.failed, cell.killed, cell.left) for cell in status.cells] == [(2, 1, 0, 1), (3, 0, 1, 1)]
    assert status.total("left") == 2
