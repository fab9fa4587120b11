"""Rank tests against SciPy and against enumeration, Holm's correction by hand, and who gets a star."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.study.statistics import LEVEL, Test, holm, mean_sd, p_value, pairwise, required, verdicts

Values = dict[int, float]

TESTS: tuple[Test, ...] = get_args(Test)


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

cells = st.dictionaries(st.sampled_from(["dae", "rbm", "boa", "dae-gpu"]), few_values, max_size=4)
p_values = st.lists(st.floats(0, 1), max_size=12)


# Signed ranks


def by_scipy(a: Values, b: Values) -> float:
    both = sorted(a.keys() & b.keys())
    return float(scipy.stats.wilcoxon([a[seed] for seed in both], [b[seed] for seed in both]).pvalue)


@pytest.mark.parametrize("size", [1, 2, 5, 13, 14, 20, 37, 50, 51, 80])
def test_signed_rank_is_scipys(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        a, b = sample(rng, size, kinds=None), sample(rng, size, kinds=None)
        assert p_value(a, shifted(b, -0.1), test="signed-rank") == pytest.approx(
            by_scipy(a, shifted(b, -0.1)), rel=1e-12
        )
        assert p_value(a, b, test="signed-rank") == pytest.approx(by_scipy(a, b), rel=1e-12)


@pytest.mark.parametrize("size", [14, 20, 37, 50, 51, 80])
@pytest.mark.parametrize("kinds", [4, 10, 500])
def test_signed_rank_is_scipys_with_ties_and_equal_pairs(size: int, kinds: int) -> None:
    rng = np.random.default_rng([size, kinds])
    for _ in range(20):
        a, b = sample(rng, size, kinds=kinds), sample(rng, size, kinds=kinds)
        assert p_value(a, b, test="signed-rank") == pytest.approx(by_scipy(a, b), rel=1e-12)


def by_signs(a: Values, b: Values) -> float:
    """Every way to set the signs of the differences, as SciPy does it for up to 13 pairs with ties, in seconds each."""
    differences = np.array([a[seed] - b[seed] for seed in a.keys() & b.keys() if a[seed] != b[seed]])
    if not len(differences):
        return 1.0
    ranks = scipy.stats.rankdata(np.abs(differences))
    seen = ranks[differences > 0].sum()
    sums = np.array(list(itertools.product([0, 1], repeat=len(ranks)))) @ ranks
    return min(1.0, 2 * float(min(np.mean(sums <= seen), np.mean(sums >= seen))))  # halves: no rounding


@settings(deadline=None)
@given(few_values, few_values)
def test_signed_rank_of_few_pairs_is_an_enumeration(a: Values, b: Values) -> None:
    assert p_value(a, b, test="signed-rank") == pytest.approx(by_signs(a, b), rel=1e-12)


def test_signed_rank_of_few_pairs_with_ties_is_scipys() -> None:
    # differences -1, -1, -2, 3, and a pair that is equal
    a, b = by_seed([1, 2, 3, 9, 5]), by_seed([2, 3, 5, 6, 5])
    assert p_value(a, b, test="signed-rank") == by_signs(a, b) == pytest.approx(by_scipy(a, b))


def test_thirteen_pairs_are_the_most_with_ties_that_are_enumerated() -> None:
    a, b = by_seed([1, 1, 2, 3, 4, 0, 5, 6, 7, 8, 0, 9, 9]), by_seed([0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 9, 0, 0])
    assert p_value(a, b, test="signed-rank") == by_signs(a, b)


@pytest.mark.parametrize("size", [14, 20, 50])
def test_signed_rank_is_scipys_with_one_equal_pair_and_no_ties(size: int) -> None:
    rng = np.random.default_rng(size)
    a, b = sample(rng, size, kinds=None), sample(rng, size, kinds=None)
    b[3] = a[3]
    assert p_value(a, b, test="signed-rank") == pytest.approx(by_scipy(a, b), rel=1e-12)


def test_signed_rank_pairs_the_common_seeds_whatever_their_order() -> None:
    rng = np.random.default_rng(1)
    a, b = by_seed(rng.random(30)), by_seed(rng.random(30), start=8)
    expected = scipy.stats.wilcoxon([a[seed] - b[seed] for seed in range(8, 30)]).pvalue
    assert p_value(a, b, test="signed-rank") == pytest.approx(expected, rel=1e-12)
    assert p_value(dict(reversed(a.items())), b, test="signed-rank") == p_value(a, b, test="signed-rank")


def test_nothing_to_pair_is_no_difference() -> None:
    a = by_seed(range(20))
    for b in ({}, by_seed(range(20), start=20), a):
        assert p_value(a, b, test="signed-rank") == p_value(b, a, test="signed-rank") == 1.0


# Mann and Whitney's test


@pytest.mark.parametrize("kinds", [None, 2, 10, 500])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (3, 4), (8, 8), (8, 20), (5, 60), (9, 9), (20, 20), (20, 13)])
def test_mann_whitney_is_scipys(sizes: tuple[int, int], kinds: int | None) -> None:
    rng = np.random.default_rng([*sizes, kinds or 0])
    for repetition in range(20):
        a, b = (sample(rng, size, kinds=kinds) for size in sizes)
        b = {seed + 5: value + repetition % 3 * 0.2 for seed, value in b.items()}  # the seeds play no part
        different = len({*a.values(), *b.values()}) > 1
        expected = scipy.stats.mannwhitneyu(list(a.values()), list(b.values())).pvalue if different else 1.0
        assert p_value(a, b, test="mann-whitney") == pytest.approx(expected, rel=1e-11)


def test_mann_whitney_by_hand() -> None:
    # 3 of 7 places can be chosen in 35 ways; the lowest three, or the highest three, are 2 of them.
    assert p_value(by_seed([1, 2, 3]), by_seed([4, 5, 6, 7]), test="mann-whitney") == pytest.approx(2 / 35)


def test_mann_whitney_without_values_or_with_equal_ones() -> None:
    for a, b in (({}, {}), ({}, by_seed([1, 2])), (by_seed([3, 3]), by_seed([3, 3, 3])), ({1: 2.0}, {2: 2.0})):
        assert p_value(a, b, test="mann-whitney") == p_value(b, a, test="mann-whitney") == 1.0


# Both


@pytest.mark.parametrize("test", TESTS)
@given(a=few_values, b=few_values)
def test_p_is_a_probability_and_has_no_sides(test: Test, a: Values, b: Values) -> None:
    p = p_value(a, b, test=test)
    assert isinstance(p, float)
    assert 0 < p <= 1
    assert p == p_value(b, a, test=test)
    negated = [{seed: -value for seed, value in values.items()} for values in (a, b)]
    assert p == p_value(*negated, test=test)


def test_an_unknown_test_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown test 'signed-ranks', did you mean 'signed-rank'\? Known: mann-wh"):
        p_value({1: 1.0}, {1: 2.0}, test="signed-ranks")  # type: ignore[arg-type]


def test_scipys_tests_are_not_loaded() -> None:
    code = "import sys, daedal.study.statistics; sys.exit('scipy.stats' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Holm


def test_holm_by_hand() -> None:
    # In order 0.01, 0.02, 0.03, 0.04, of four:
    #   0.01 * 4 = 0.04
    #   0.02 * 3 = 0.06
    #   0.03 * 2 = 0.06   as large as the one before
    #   0.04 * 1 = 0.04   below the one before, so it is raised to 0.06
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    # In order 0.001, 0.4, 0.9:
    #   0.001 * 3 = 0.003
    #   0.4   * 2 = 0.8
    #   0.9   * 1 = 0.9
    assert holm([0.9, 0.4, 0.001]) == pytest.approx([0.9, 0.8, 0.003])
    # 0.6 * 2 = 1.2, cut to 1; the other cannot be below it.
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(p_values)
def test_holm_is_between_the_raw_value_and_bonferronis(p: list[float]) -> None:
    adjusted = holm(p)
    assert len(adjusted) == len(p)
    for raw, value in zip(p, adjusted, strict=True):
        assert raw <= value <= min(1.0, len(p) * raw)


@given(p_values)
def test_holm_keeps_the_order_of_size(p: list[float]) -> None:
    both = sorted(zip(p, holm(p), strict=True))
    assert [value for _, value in both] == sorted(value for _, value in both)
    assert len(set(both)) == len(set(p))  # equal ones stay equal


@given(p_values, st.randoms(use_true_random=False))
def test_holm_does_not_depend_on_the_order_given(p: list[float], random: object) -> None:
    order = list(range(len(p)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert holm([p[index] for index in order]) == [holm(p)[index] for index in order]


# Pairs


def test_pairs_come_once_and_in_the_order_of_the_names() -> None:
    base = by_seed(range(6))
    cell = {"rbm": base, "dae": shifted(base, 10), "boa": shifted(base, 10, seeds=range(3))}
    found = pairwise(cell, test="signed-rank", correct=False)
    assert list(found) == [("rbm", "dae"), ("rbm", "boa"), ("dae", "boa")]
    assert found == {(a, b): p_value(cell[a], cell[b], test="signed-rank") for a, b in found}
    corrected = pairwise(cell, test="signed-rank", correct=True)
    assert list(corrected) == list(found)
    assert list(corrected.values()) == holm(list(found.values()))
    assert pairwise({"dae": base}, test="signed-rank", correct=True) == {}


# Stars

BASE = by_seed(100 + seed % 7 for seed in range(20))


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize("test", TESTS)
def test_a_clear_winner_gets_the_star_wherever_it_stands(test: Test, correct: bool) -> None:
    cell = {"dae": BASE, "rbm": shifted(BASE, 30), "boa": shifted(BASE, 50), "pbil": shifted(BASE, 70)}
    for names in itertools.permutations(cell):
        assert stars({name: cell[name] for name in names}, test=test, correct=correct) == {"dae"}


@pytest.mark.parametrize("test", TESTS)
def test_a_significantly_larger_one_never_gets_it(test: Test) -> None:
    cell = {"large": shifted(BASE, 90), "small": BASE}
    assert p_value(cell["large"], cell["small"], test=test) < LEVEL
    assert stars(cell, test=test) == {"small"}
    # of three, where the two smaller ones are alike, the largest is significant against all others
    assert stars(cell | {"small too": dict(BASE)}, test=test) == set()


@pytest.mark.parametrize("test", TESTS)
def test_two_equal_winners_share_nothing(test: Test) -> None:
    cell = {"dae": BASE, "dae-gpu": dict(BASE), "rbm": shifted(BASE, 60)}
    assert stars(cell, test=test) == set()


def test_one_rival_that_is_not_significant_keeps_the_star_away() -> None:
    # 7 pairs differ, all in the same direction, 13 are equal: not enough for p < 0.01
    near = shifted(BASE, 30, seeds=range(7))
    cell = {"dae": BASE, "rbm": shifted(BASE, 60), "boa": near}
    assert LEVEL < p_value(BASE, near, test="signed-rank") < 0.05
    assert stars({name: cell[name] for name in ("dae", "rbm")}) == {"dae"}
    assert stars(cell) == set()
    assert stars(cell, level=0.05) == {"dae"}


def test_few_common_seeds_cannot_be_significant() -> None:
    # n pairs in one direction have p = 2 / 2**n: 0.0156 for 7, 0.0078 for 8
    far = shifted(BASE, 1000)
    assert stars({"dae": by_seed(range(7)), "rbm": far}) == set()
    assert stars({"dae": by_seed(range(8)), "rbm": far}) == {"dae"}
    moved = {seed + 13: value for seed, value in BASE.items()}  # 7 seeds in common
    assert stars({"dae": moved, "rbm": far}) == set()
    assert stars({"dae": moved, "rbm": far}, test="mann-whitney") == {"dae"}


def test_the_mean_of_all_values_must_agree_with_the_ranks() -> None:
    # smaller at each of the 20 common seeds, but for the seeds that only one has its values are huge
    huge = by_seed([1e6] * 3, start=20)
    rival = shifted(BASE, 10)
    assert stars({"dae": BASE, "rbm": rival}) == {"dae"}
    assert p_value(BASE | huge, rival, test="signed-rank") == p_value(BASE, rival, test="signed-rank") < LEVEL
    assert stars({"dae": BASE | huge, "rbm": rival}) == set()


@pytest.mark.parametrize("test", TESTS)
def test_nothing_compared_is_no_star(test: Test) -> None:
    assert stars({}, test=test) == set()
    assert stars({"dae": BASE}, test=test) == set()
    assert stars({"dae": BASE, "rbm": {}}, test=test) == set()
    assert stars({"dae": {}, "rbm": {}}, test=test, level=2.0) == set()


def test_holm_turns_a_star_off() -> None:
    # 8 pairs in one direction: p = 2 / 2**8 = 0.0078 for both rivals of dae. The rivals differ from each other at one
    # seed only, p = 1, so in the order of size the three are 0.0078 * 3 = 0.023, 0.023 and 1.
    base = by_seed(range(8))
    rbm = shifted(base, 30)
    cell = {"dae": base, "rbm": rbm, "boa": rbm | {0: rbm[0] + 1}}
    assert list(pairwise(cell).values()) == [1 / 128, 1 / 128, 1.0]
    assert stars(cell) == {"dae"}
    assert stars(cell, level=1 / 128) == set()  # it has to be below
    assert list(pairwise(cell, correct=True).values()) == [3 / 128, 3 / 128, 1.0]
    assert stars(cell, correct=True) == set()


@pytest.mark.parametrize("test", TESTS)
@settings(deadline=None)
@given(cell=cells, correct=st.booleans(), level=st.sampled_from([0.01, 0.2, 0.7, 1.1]))
def test_there_is_at_most_one_star_and_it_has_the_smallest_mean(
    test: Test, cell: dict[str, Values], correct: bool, level: float
) -> None:
    found = stars(cell, test=test, correct=correct, level=level)
    assert len(found) <= 1
    for name in found:
        assert mean_sd(cell[name].values())[0] < min(
            mean_sd(cell[other].values())[0] for other in cell if other != name
        )
    if correct:
        assert found <= stars(cell, test=test, level=level)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("correct", [False, True])
def test_the_p_value_of_a_verdict_is_that_against_the_closest_rival(test: Test, correct: bool) -> None:
    cell = {"dae": BASE, "rbm": shifted(BASE, 0.5), "boa": shifted(BASE, 30.0)}
    p = pairwise(cell, test=test, correct=correct)
    found = verdicts(cell, test=test, correct=correct)
    assert found["dae"].p == max(p["dae", "rbm"], p["dae", "boa"])
    assert found["rbm"].p == max(p["dae", "rbm"], p["rbm", "boa"])
    assert found["boa"].p == max(p["dae", "boa"], p["rbm", "boa"])
    assert verdicts({"dae": BASE}, test=test)["dae"].p is None


# Figures


def test_mean_and_deviation() -> None:
    # squares of the distances from 5: 9, 1, 1, 1, 0, 0, 4, 16, in all 32, and n - 1 = 7
    mean, sd = mean_sd(value for value in (2, 4, 4, 4, 5, 5, 7, 9))
    assert mean == 5.0
    assert sd == pytest.approx(math.sqrt(32 / 7))
    assert mean_sd([3]) == (3.0, 0.0)
    assert mean_sd([1e9 + 0.1] * 4) == (1e9 + 0.1, 0.0)
    with pytest.raises(ValueError, match="expected at least one value, got none"):
        mean_sd([])


@pytest.mark.parametrize("runs", [20, 10, 7, 1])
@pytest.mark.parametrize("percent", [0, 1, 50, 90, 100])
def test_required_successes_are_the_fewest_that_reach_the_level(percent: int, runs: int) -> None:
    level = Fraction(percent, 100)
    assert required(percent, runs) == next(k for k in range(runs + 1) if Fraction(k, runs) >= level)


def test_required_successes_in_figures() -> None:
    assert [required(50, runs) for runs in (20, 10, 7, 1)] == [10, 5, 4, 1]
    assert [required(90, runs) for runs in (20, 10, 7, 1)] == [18, 9, 7, 1]


@pytest.mark.parametrize(
    ("percent", "runs", "message"),
    [
        (101, 20, "from 0 to 100, got level_percent=101"),
        (-1, 20, "percent=-1"),
        (50, 0, "at least one run, got runs=0"),
    ],
)
def test_levels_and_runs_that_make_no_sense(percent: int, runs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        required(percent, runs)
