"""Rank tests against SciPy and against enumeration, Holm's correction by hand, and which algorithm gets a star."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.studies.analysis import SIGNIFICANT, Test, can_be_significant, compare, holm, verdicts
from daedal.studies.plan import required

Values = dict[int, float]
TESTS: tuple[Test, ...] = get_args(Test)


def p_value(a: Values, b: Values, test: Test = "signed-rank") -> float:
    return compare(a, b, test=test).p


def stars(values: Mapping[str, Values], **how: Any) -> set[str]:
    return {name for name, verdict in verdicts(values, **how).items() if verdict.star}


def by_seed(values: Iterable[float], start: int = 0) -> Values:
    return {seed: float(value) for seed, value in enumerate(values, start)}


def shifted(values: Values, by: float, seeds: Iterable[int] | None = None) -> Values:
    """Add as much to the values, or to those of some seeds; a little more for each, so that no differences tie."""
    chosen = set(values if seeds is None else seeds)
    return {seed: value + (by + 0.25 * seed if seed in chosen else 0.0) for seed, value in values.items()}


def sample(rng: np.random.Generator, size: int, *, kinds: int | None) -> Values:
    """Draw values for seeds 0, 1, ...: all different, or of a few kinds only."""
    return by_seed(rng.random(size) if kinds is None else rng.integers(0, kinds, size))


few_values = st.dictionaries(st.integers(0, 12), st.integers(0, 9).map(float), max_size=12)
"""Of few kinds and seeds, so that ties, equal pairs, and missing seeds all come up."""

rivals = st.dictionaries(st.sampled_from(["dae", "rbm", "boa", "dae-gpu"]), few_values, max_size=4)
p_values = st.lists(st.floats(0, 1), max_size=12)


def by_scipy(a: Values, b: Values) -> float:
    both = sorted(a.keys() & b.keys())
    return float(scipy.stats.wilcoxon([a[seed] for seed in both], [b[seed] for seed in both]).pvalue)


def by_signs(a: Values, b: Values) -> float:
    """Every way to set the signs of the differences, as SciPy does it for up to 13 pairs with ties, in seconds each."""
    differences = np.array([a[seed] - b[seed] for seed in a.keys() & b.keys() if a[seed] != b[seed]])
    if not len(differences):
        return 1.0
    ranks = scipy.stats.rankdata(np.abs(differences))
    seen = ranks[differences > 0].sum()
    sums = np.array(list(itertools.product([0, 1], repeat=len(ranks)))) @ ranks
    return min(1.0, 2 * float(min(np.mean(sums <= seen), np.mean(sums >= seen))))  # halves: no rounding


@pytest.mark.parametrize(
    ("size", "kinds"),
    [(size, None) for size in (1, 2, 5, 13, 14, 20, 37, 50, 51, 80)]
    + [(size, kinds) for size in (14, 20, 37, 50, 51, 80) for kinds in (4, 10, 500)],  # with ties and equal pairs
)
def test_signed_rank_is_scipys(size: int, kinds: int | None) -> None:
    rng = np.random.default_rng([size, kinds or 0])
    for _ in range(20):
        a, b = sample(rng, size, kinds=kinds), sample(rng, size, kinds=kinds)
        assert p_value(a, b) == pytest.approx(by_scipy(a, b), rel=1e-12)
        if kinds is None:
            moved, one_equal = shifted(b, -0.1), b | ({3: a[3]} if size > 13 else {})
            assert p_value(a, moved) == pytest.approx(by_scipy(a, moved), rel=1e-12)
            assert p_value(a, one_equal) == pytest.approx(by_scipy(a, one_equal), rel=1e-12)


@settings(deadline=None)
@given(few_values, few_values)
def test_signed_rank_of_few_pairs_is_an_enumeration(a: Values, b: Values) -> None:
    assert p_value(a, b) == pytest.approx(by_signs(a, b), rel=1e-12)


@pytest.mark.parametrize("kinds", [None, 2, 10, 500])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (3, 4), (8, 8), (8, 20), (5, 60), (9, 9), (20, 20), (20, 13)])
def test_mann_whitney_is_scipys(sizes: tuple[int, int], kinds: int | None) -> None:
    rng = np.random.default_rng([*sizes, kinds or 0])
    for repetition in range(20):
        a, b = (sample(rng, size, kinds=kinds) for size in sizes)
        b = {seed + 5: value + repetition % 3 * 0.2 for seed, value in b.items()}  # the seeds play no part
        different = len({*a.values(), *b.values()}) > 1
        expected = scipy.stats.mannwhitneyu(list(a.values()), list(b.values())).pvalue if different else 1.0
        assert p_value(a, b, "mann-whitney") == pytest.approx(expected, rel=1e-11)
    # By hand: 3 of 7 places can be chosen in 35 ways; the lowest three, or the highest three, are 2 of them.
    assert p_value(by_seed([1, 2, 3]), by_seed([4, 5, 6, 7]), "mann-whitney") == pytest.approx(2 / 35)


@pytest.mark.parametrize("test", TESTS)
@given(a=few_values, b=few_values)
def test_p_is_a_probability_and_has_no_sides(test: Test, a: Values, b: Values) -> None:
    p, lean = compare(a, b, test=test)
    assert isinstance(p, float)
    assert 0 < p <= 1
    assert (p, -lean) == compare(b, a, test=test)
    negated = [{seed: -value for seed, value in values.items()} for values in (a, b)]
    assert (p, -lean) == compare(*negated, test=test)


def test_unknown_tests_are_named() -> None:
    with pytest.raises(ValueError, match=r"'signed-ranks'.*'signed-rank'.*mann-whitney"):
        compare({1: 1.0}, {1: 2.0}, test="signed-ranks")  # type: ignore[arg-type]


def test_holm_by_hand() -> None:
    # In order 0.01, 0.02, 0.03, 0.04, of four:
    #   0.01 * 4 = 0.04
    #   0.02 * 3 = 0.06
    #   0.03 * 2 = 0.06   as large as the one before
    #   0.04 * 1 = 0.04   below the one before, so it is raised to 0.06
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.4, 0.001]) == pytest.approx([0.9, 0.8, 0.003])
    assert holm([0.6, 0.7]) == [1.0, 1.0]  # 0.6 * 2 = 1.2, cut to 1; the other cannot be below it
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


BASE = by_seed(100 + seed % 7 for seed in range(20))


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize("test", TESTS)
def test_a_clear_winner_gets_the_star_wherever_it_stands(test: Test, correct: bool) -> None:
    values = {"dae": BASE, "rbm": shifted(BASE, 30), "boa": shifted(BASE, 50), "pbil": shifted(BASE, 70)}
    for names in itertools.permutations(values):
        assert stars({name: values[name] for name in names}, test=test, correct=correct) == {"dae"}


def test_few_common_seeds_cannot_be_significant() -> None:
    # n pairs in one direction have p = 2 / 2**n: 0.0156 for 7, 0.0078 for 8
    far = shifted(BASE, 1000)
    assert stars({"dae": by_seed(range(7)), "rbm": far}) == set()
    assert stars({"dae": by_seed(range(8)), "rbm": far}) == {"dae"}
    assert [can_be_significant(runs, test="signed-rank") for runs in (7, 8)] == [False, True]
    assert [can_be_significant(runs, test="signed-rank", pairs=3) for runs in (9, 10)] == [False, True]
    moved = {seed + 13: value for seed, value in BASE.items()}  # 7 seeds in common
    assert stars({"dae": moved, "rbm": far}) == set()
    assert stars({"dae": moved, "rbm": far}, test="mann-whitney") == {"dae"}


def test_the_mean_of_all_values_must_agree_with_the_ranks() -> None:
    # smaller at each of the 20 common seeds, but for the seeds that only one has its values are huge
    huge, rival = by_seed([1e6] * 3, start=20), shifted(BASE, 10)
    assert stars({"dae": BASE, "rbm": rival}) == {"dae"}
    assert p_value(BASE | huge, rival) == p_value(BASE, rival) < SIGNIFICANT
    assert stars({"dae": BASE | huge, "rbm": rival}) == set()


@pytest.mark.parametrize("test", TESTS)
def test_nothing_compared_is_no_star(test: Test) -> None:
    for values in ({}, {"dae": BASE}, {"dae": BASE, "rbm": {}}):
        assert stars(values, test=test) == set()
    assert stars({"dae": {}, "rbm": {}}, test=test) == set()
    assert verdicts({"dae": BASE}, test=test)["dae"].p is None


@pytest.mark.parametrize("test", TESTS)
@settings(deadline=None)
@given(values=rivals, correct=st.booleans())
def test_there_is_at_most_one_star_and_it_has_the_smallest_mean(
    test: Test, values: dict[str, Values], correct: bool
) -> None:
    found = stars(values, test=test, correct=correct)
    means = {name: statistics.fmean(of_name.values()) for name, of_name in values.items() if of_name}
    assert len(found) <= 1
    for name in found:
        assert means.pop(name) < min(means.values())
    if correct:
        assert found <= stars(values, test=test)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("correct", [False, True])
def test_the_p_value_of_a_verdict_is_that_against_the_closest_rival(test: Test, correct: bool) -> None:
    values = {"dae": BASE, "rbm": shifted(BASE, 0.5), "boa": shifted(BASE, 30.0)}
    pairs = list(itertools.combinations(values, 2))
    raw = [p_value(values[a], values[b], test) for a, b in pairs]
    p = dict(zip(pairs, holm(raw) if correct else raw, strict=True))
    for name, verdict in verdicts(values, test=test, correct=correct).items():
        assert verdict.p == max(value for pair, value in p.items() if name in pair)


def test_required_successes_are_the_fewest_that_reach_the_level() -> None:
    assert [required(50, runs) for runs in (20, 10, 7, 1)] == [10, 5, 4, 1]
    assert [required(90, runs) for runs in (20, 10, 7, 1)] == [18, 9, 7, 1]
    for percent, runs in itertools.product([0, 1, 50, 90, 100], [20, 10, 7, 1]):
        fewest = next(k for k in range(runs + 1) if Fraction(k, runs) >= Fraction(percent, 100))
        assert required(percent, runs) == fewest
