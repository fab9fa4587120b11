"""Which runs are needed: the paper's procedure, whatever the order in which runs end and however often it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.study.plan import LEVELS, Unsettled, choices, needed_runs

Table = dict[int, list[bool | None]]
"""By population size: the outcome of each seed, were it run."""

Made = dict[int, dict[int, bool | None]]
FIRST = 7
"""The first seed, so that no seed is the index of its run."""


randoms = st.integers(0, 2**32).map(Random)
"""Hypothesis draws from these as a whole, which is faster than number by number."""


@st.composite
def tables(draw: st.DrawFn) -> Table:
    runs = draw(st.integers(1, 20))
    sizes = draw(st.integers(1, 6))
    # Rates of success that rise and fall from size to size, some at the very edge of a level.
    rates = draw(st.lists(st.sampled_from([0.0, 0.4, 0.5, 0.6, 0.85, 0.9, 0.95, 1.0]), min_size=sizes, max_size=sizes))
    nobody_knows = draw(st.sampled_from([0.0, 0.0, 0.2, 1.0]))
    random = draw(randoms)

    def outcome(rate: float) -> bool | None:
        return None if random.random() < nobody_knows else random.random() < rate

    return {50 * 2**index: [outcome(rate) for _ in range(runs)] for index, rate in enumerate(rates)}


def seeds_of(table: Table) -> range:
    return range(FIRST, FIRST + len(next(iter(table.values()))))


def everything(table: Table) -> Made:
    return {popsize: dict(zip(seeds_of(table), row, strict=True)) for popsize, row in table.items()}


def reveal(table: Table, made: Made, runs: Sequence[tuple[int, int]]) -> None:
    for popsize, seed in runs:
        assert seed not in made.get(popsize, {})  # nothing is asked for twice
        made.setdefault(popsize, {})[seed] = table[popsize][seed - FIRST]


def finish(
    table: Table, made: Made, arrive: Callable[[list[tuple[int, int]]], list[tuple[int, int]]]
) -> set[tuple[int, int]]:
    """Make runs until no more are needed; `arrive` says which of those that are needed end next."""
    new: set[tuple[int, int]] = set()
    while needed := needed_runs(made, list(table), seeds_of(table)):
        ended = arrive(needed)
        reveal(table, made, ended)
        new |= set(ended)
        # What was needed stays so, whatever the others have brought: so it could be begun at the same time.
        assert set(needed) - set(ended) <= set(needed_runs(made, list(table), seeds_of(table)))
    return new


def one_by_one(table: Table) -> tuple[set[tuple[int, int]], dict[int, int | Unsettled]]:
    """The paper's procedure without anything at once, written out: the runs it makes, and its answers."""
    made: set[tuple[int, int]] = set()
    answers: dict[int, int | Unsettled] = {}
    for popsize, row in table.items():
        unanswered = [level for level in LEVELS if level not in answers]
        if not unanswered:
            break
        solved = failed = 0
        for seed, outcome in zip(seeds_of(table), row, strict=True):
            if 100 * (len(row) - failed) < min(unanswered) * len(row):
                break  # though all the rest were solved, it would be too few
            made.add((popsize, seed))
            solved += outcome is True
            failed += outcome is False
        answers |= {level: popsize for level in unanswered if 100 * solved >= level * len(row)}
    return made, {level: answers.get(level, Unsettled.NONE) for level in LEVELS}


def best_of_all(table: Table) -> dict[int, int | Unsettled]:
    """The answers from everything: the smallest size that solves as many."""
    answers: dict[int, int | Unsettled] = {}
    for level in LEVELS:
        good = [popsize for popsize, row in table.items() if 100 * row.count(True) >= level * len(row)]
        answers[level] = min(good) if good else Unsettled.NONE
    return answers


# Answers


@settings(deadline=None)
@given(tables())
def test_answers_are_the_smallest_sizes_that_solve_enough(table: Table) -> None:
    assert choices(everything(table), list(table), seeds_of(table)) == best_of_all(table)


@settings(deadline=None)
@given(tables(), randoms)
def test_an_answer_once_given_stays(table: Table, random: Random) -> None:
    runs = [(popsize, seed) for popsize in table for seed in seeds_of(table)]
    random.shuffle(runs)
    made: Made = {}
    told = dict.fromkeys(LEVELS, Unsettled.OPEN)
    for run in runs:
        reveal(table, made, [run])
        for level, choice in choices(made, list(table), seeds_of(table)).items():
            assert told[level] in (Unsettled.OPEN, choice)
            told[level] = choice
    assert told == best_of_all(table)


@settings(deadline=None)
@given(tables(), randoms)
def test_nothing_is_said_before_it_is_certain(table: Table, random: Random) -> None:
    """An answer is given as soon as, and not before, the best and the worst of what is missing agree on it."""
    known = {
        popsize: {seed: outcome for seed, outcome in row.items() if random.random() < 0.7}
        for popsize, row in everything(table).items()
    }
    seeds = seeds_of(table)
    found = choices(known, list(table), seeds)
    smallest, largest = (
        choices(
            {popsize: {seed: row.get(seed, rest) for seed in seeds} for popsize, row in known.items()},
            list(table),
            seeds,
        )
        for rest in (True, False)
    )
    for level in LEVELS:
        agreed = smallest[level] == largest[level]
        assert found[level] == (smallest[level] if agreed else Unsettled.OPEN)


def test_a_size_that_was_not_tried_is_open() -> None:
    assert choices({}, [50], range(20)) == {50: Unsettled.OPEN, 90: Unsettled.OPEN}
    assert choices({100: dict.fromkeys(range(20), True)}, [50, 100], range(20)) == dict.fromkeys(LEVELS, Unsettled.OPEN)


def test_seeds_and_sizes_of_other_studies_do_not_count() -> None:
    others = {50: dict.fromkeys(range(100, 140), True), 75: dict.fromkeys(range(20), True)}
    assert choices(others, [50, 100], range(20)) == dict.fromkeys(LEVELS, Unsettled.OPEN)
    own = {50: dict.fromkeys(range(20), False) | dict.fromkeys(range(100, 140), True)}
    assert choices(own, [50], range(20)) == dict.fromkeys(LEVELS, Unsettled.NONE)


def test_the_levels_are_the_papers() -> None:
    assert LEVELS == (50, 90)
    half = {50: {seed: seed < 10 for seed in range(20)}}
    assert choices(half, [50], range(20)) == {50: 50, 90: Unsettled.NONE}
    assert choices({50: half[50] | {9: False}}, [50], range(20)) == dict.fromkeys(LEVELS, Unsettled.NONE)
    assert choices({50: {seed: seed < 18 for seed in range(20)}}, [50], range(20)) == {50: 50, 90: 50}


# Runs


def test_once_three_of_twenty_have_failed_ninety_percent_is_out_of_reach() -> None:
    solved_half = {50: {seed: seed < 10 for seed in range(20)}}  # so 50 % is answered, and 90 % asked for
    at_first = needed_runs(solved_half, [50, 100, 250], range(20))
    assert at_first == [(100, 0), (100, 1), (100, 2)]  # each of them is run, be they all failures
    for third, goes_on in ((False, False), (True, True)):
        after = solved_half | {100: {0: False, 1: False, 2: third}}
        following = needed_runs(after, [50, 100, 250], range(20))
        assert following == ([(100, 3)] if goes_on else [(250, 0), (250, 1), (250, 2)])


def test_at_first_eleven_of_twenty_are_certain() -> None:
    assert needed_runs({}, [50, 100], range(20)) == [(50, seed) for seed in range(11)]
    eleven_failed = {50: dict.fromkeys(range(11), False)}
    assert needed_runs(eleven_failed, [50, 100], range(20)) == [(100, seed) for seed in range(11)]
    ten_failed = {50: dict.fromkeys(range(10), False)}
    assert needed_runs(ten_failed, [50, 100], range(20)) == [(50, 10)]


def test_a_failure_out_of_order_changes_nothing_for_those_before_it() -> None:
    # seeds 1 and 2 have ended, seed 0 is under way: it is still needed, and seed 3 is not certain
    half = {50: {seed: seed < 10 for seed in range(20)}}
    assert needed_runs(half | {100: {1: False, 2: False}}, [50, 100], range(20)) == [(100, 0)]
    assert needed_runs(half | {100: {1: True, 2: True}}, [50, 100], range(20)) == [(100, seed) for seed in (0, 3, 4)]


def test_no_larger_size_once_ninety_percent_are_solved() -> None:
    assert needed_runs({50: dict.fromkeys(range(20), True)}, [50, 100], range(20)) == []
    nearly = {50: {seed: seed >= 2 for seed in range(20)}}
    assert needed_runs(nearly, [50, 100], range(20)) == []


def test_where_nobody_knows_the_optimum_every_size_is_run_in_full() -> None:
    table: Table = {50: [None] * 20, 100: [None] * 20}
    made: Made = {}
    assert finish(table, made, lambda needed: needed) == {(popsize, seed) for popsize in table for seed in range(7, 27)}
    assert choices(made, [50, 100], seeds_of(table)) == dict.fromkeys(LEVELS, Unsettled.NONE)


@settings(max_examples=200, deadline=None)
@given(tables())
def test_one_worker_makes_the_runs_of_the_papers_procedure(table: Table) -> None:
    made: Made = {}
    expected, answers = one_by_one(table)
    assert finish(table, made, lambda needed: needed[:1]) == expected
    assert choices(made, list(table), seeds_of(table)) == answers == best_of_all(table)


@settings(max_examples=200, deadline=None)
@given(tables(), randoms)
def test_the_order_of_arrival_changes_neither_runs_nor_answers(table: Table, random: Random) -> None:
    made: Made = {}
    new = finish(table, made, lambda needed: random.sample(needed, random.randint(1, len(needed))))
    assert new == one_by_one(table)[0]
    assert choices(made, list(table), seeds_of(table)) == best_of_all(table)


@settings(max_examples=200, deadline=None)
@given(tables(), randoms, st.floats(0, 1))
def test_whatever_is_there_only_the_rest_is_run(table: Table, random: Random, share: float) -> None:
    """Runs of an interrupted study, of a full grid, or of another study: none is made again, none is missed."""
    made = {
        popsize: {seed: outcome for seed, outcome in row.items() if random.random() < share}
        for popsize, row in everything(table).items()
    }
    before = {(popsize, seed) for popsize, row in made.items() for seed in row}
    new = finish(table, made, lambda needed: random.sample(needed, random.randint(1, len(needed))))
    assert new == one_by_one(table)[0] - before
    assert choices(made, list(table), seeds_of(table)) == best_of_all(table)


@settings(max_examples=200, deadline=None)
@given(tables())
def test_the_sizes_that_are_the_answer_are_run_in_full(table: Table) -> None:
    made: Made = {}
    finish(table, made, lambda needed: needed)
    for choice in choices(made, list(table), seeds_of(table)).values():
        if isinstance(choice, int):
            assert list(made[choice]) == list(seeds_of(table))


@settings(deadline=None)
@given(tables(), st.integers(1, 20))
def test_more_runs_only_add_to_those_made(table: Table, more: int) -> None:
    """A study that is run again with more seeds makes those runs alone that the first did not."""
    made: Made = {}
    finish(table, made, lambda needed: needed)
    longer: Table = {popsize: row + row[:1] * more for popsize, row in table.items()}
    new = finish(longer, made, lambda needed: needed)
    assert new == one_by_one(longer)[0] - one_by_one(table)[0]
    assert choices(made, list(longer), seeds_of(longer)) == best_of_all(longer)


@settings(deadline=None)
@given(tables(), randoms)
def test_the_full_grid_is_everything_that_is_missing(table: Table, random: Random) -> None:
    made: Made = {}
    some = [(popsize, seed) for popsize in table for seed in seeds_of(table) if random.random() < 0.5]
    reveal(table, made, some)
    needed = needed_runs(made, list(table), seeds_of(table), full_grid=True)
    assert needed == sorted(set(needed))
    assert set(needed) | set(some) == {(popsize, seed) for popsize in table for seed in seeds_of(table)}
    assert not set(needed) & set(some)


@pytest.mark.parametrize("runs", [1, 2, 3, 10, 19])
def test_few_runs(runs: int) -> None:
    nothing_solved = {size: dict.fromkeys(range(runs), False) for size in (50, 100)}
    assert needed_runs(nothing_solved, [50, 100], range(runs)) == []
    first = needed_runs({}, [50, 100], range(runs))
    assert first == [(50, seed) for seed in range(runs // 2 + 1)]
