"""The sparse Walsh model: exact recovery, noise, and its lasso against the conditions of an optimum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.surrogates import Walsh, WalshFunction
from daedal.surrogates.walsh import Active, Equations, grow, supersets
from daedal.surrogates.walsh_function import Sets

Function = dict[tuple[int, ...], float]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_function(n: int, counts: dict[int, int], seed: int, *, closed: bool) -> Function:
    """Random sets of each order, coefficients from 0.05 on; closed: their subsets have some too."""
    seeded = rng(seed)

    def coefficient() -> float:
        c = float(seeded.normal())
        return c + math.copysign(0.05, c)

    function: Function = {}
    for order, count in counts.items():
        for _ in range(count):
            members = tuple(sorted(seeded.choice(n, order, replace=False).tolist()))
            function[members] = coefficient()
            for size in range(1, order) if closed else ():
                for subset in itertools.combinations(members, size):
                    function.setdefault(subset, coefficient())
    return function


def evaluate(function: Function, x: np.ndarray) -> np.ndarray:
    signs = 1.0 - 2.0 * x
    return sum((c * signs[:, members].prod(axis=1) for members, c in function.items()), np.zeros(len(x)))


def sum_of_tables(scopes: list[list[int]], tables: list[np.ndarray]) -> Function:
    """The Walsh coefficients of tables of 2^k values, the first variable of a scope in the highest bit."""
    function: Function = {}
    for scope, table in zip(scopes, tables, strict=True):
        rows = (np.arange(len(table))[:, None] >> np.arange(len(scope))[::-1]) & 1
        coefficients = (-1.0) ** (rows @ rows.T) @ table / len(table)
        for bits, coefficient in zip(rows.tolist(), coefficients.tolist(), strict=True):
            members = tuple(sorted(v for v, bit in zip(scope, bits, strict=True) if bit))
            function[members] = function.get(members, 0.0) + coefficient
    return {members: c for members, c in function.items() if members and abs(c) > 1e-12}


def nk(n: int, k: int, seed: int) -> Function:
    seeded = rng(seed)
    scopes = [[i, *seeded.choice(np.delete(np.arange(n), i), k, replace=False).tolist()] for i in range(n)]
    return sum_of_tables(scopes, list(seeded.random((n, 2 ** (k + 1)))))


def traps(n: int, k: int) -> Function:
    ones = np.array([index.bit_count() for index in range(2**k)])
    table = np.where(ones == k, k, k - 1 - ones).astype(float)
    return sum_of_tables([list(range(first, first + k)) for first in range(0, n, k)], [table] * (n // k))


def equations(function: Function, n: int, count: int, seed: int, most: int = 2) -> tuple[np.ndarray, ...]:
    """Differences of random rows by random flips of up to `most` variables."""
    seeded = rng(seed)
    x = seeded.integers(0, 2, (count, n), dtype=np.uint8)
    d = np.zeros_like(x)
    for row in d:
        row[seeded.choice(n, seeded.integers(1, most + 1), replace=False)] = 1
    return x, d, evaluate(function, x ^ d) - evaluate(function, x)


def largest_error(found: WalshFunction, function: Function) -> float:
    learned = dict(zip(found.sets, found.coefficients, strict=True))
    return max(abs(learned.get(members, 0.0) - function.get(members, 0.0)) for members in {*learned, *function})


FUNCTIONS = {
    "linear": random_function(20, {1: 20}, 0, closed=False),
    "pairs": random_function(20, {1: 10, 2: 60}, 1, closed=False),
    "order 4, subsets too": random_function(20, {2: 8, 3: 5, 4: 4}, 2, closed=True),
    "order 4, any": random_function(20, {1: 5, 2: 8, 3: 5, 4: 4}, 3, closed=False),
    "order 4 alone": random_function(20, {4: 6}, 4, closed=False),
    "NK, k = 3": nk(20, 3, 5),
    "traps of 4": traps(20, 4),
    "traps of 5": traps(20, 5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("from_differences", [True, False], ids=["differences", "values"])
def test_functions_of_few_sets_are_found_exactly(name: str, from_differences: bool) -> None:
    function = FUNCTIONS[name]
    if from_differences:
        x, d, df = equations(function, 20, 4000, 6)
        found = Walsh().fit_differences(x, d, df, rng=rng())
        assert found.constant == 0
    else:
        x = rng(7).integers(0, 2, (4000, 20), dtype=np.uint8)
        found = Walsh().fit(x, evaluate(function, x) + 7.0, rng=rng())
        assert found.constant == pytest.approx(7.0, abs=1e-6)
        np.testing.assert_allclose(found.predict(x), evaluate(function, x) + 7.0, atol=1e-6)
    assert largest_error(found, function) < 1e-6
    assert found.r2 == pytest.approx(1.0, abs=1e-9)
    assert len(found.sets) == len(set(found.sets))


def test_few_equations_are_enough_for_a_sparse_function() -> None:
    # 60 variables have 1,830 singles and pairs; 700 equations find the 90 that count.
    function = random_function(60, {2: 90}, 8, closed=False)
    x, d, df = equations(function, 60, 700, 9)
    assert largest_error(Walsh(max_order=2).fit_differences(x, d, df, rng=rng()), function) < 1e-6


@pytest.mark.parametrize("name", ["pairs", "NK, k = 3"])
def test_a_previous_fit_does_not_change_an_exact_one(name: str) -> None:
    """Nor does one of another function."""
    x, d, df = equations(FUNCTIONS["pairs"], 20, 2000, 10)
    before = evaluate(FUNCTIONS[name], x ^ d) - evaluate(FUNCTIONS[name], x)
    previous = Walsh().fit_differences(x[:1000], d[:1000], before[:1000], rng=rng())
    for _ in range(2):
        previous = Walsh().fit_differences(x, d, df, rng=rng(), previous=previous)
        assert largest_error(previous, FUNCTIONS["pairs"]) < 1e-6
        assert previous.r2 == pytest.approx(1.0, abs=1e-9)


def test_noise_lowers_r2_and_coefficients_stay_near() -> None:
    function = random_function(30, {1: 10, 2: 20}, 11, closed=False)
    x, d, df = equations(function, 30, 3000, 12)
    noise = rng(13).normal(size=len(df)) * df.std()
    found = Walsh().fit_differences(x, d, df + noise, rng=rng())
    assert 0.35 < found.r2 < 0.6  # half of the variance is noise
    assert largest_error(found, function) < 0.5
    strongest = max((s for s in function if len(s) == 2), key=lambda s: abs(function[s]))
    assert found.interactions()[0].variables == strongest


def test_r2_is_the_share_of_variance_explained_of_fresh_values() -> None:
    function = random_function(30, {1: 10, 2: 20}, 11, closed=False)
    x, fresh = (rng(seed).integers(0, 2, (size, 30), dtype=np.uint8) for seed, size in ((14, 2000), (15, 20_000)))
    noise = evaluate(function, x).std()
    found = Walsh().fit(x, evaluate(function, x) + noise * rng(16).normal(size=2000), rng=rng())
    values = evaluate(function, fresh) + noise * rng(17).normal(size=20_000)
    explained = 1 - np.square(values - found.predict(fresh)).sum() / np.square(values - values.mean()).sum()
    assert found.r2 == pytest.approx(explained, abs=0.05)
    nothing = Walsh().fit(x, rng(18).normal(size=2000), rng=rng())
    assert nothing.r2 < 0.05


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_functions(n: int) -> None:
    x = rng(15).integers(0, 2, (40, n), dtype=np.uint8)
    found = Walsh().fit(x, 3.0 * x[:, -1] - 1.0, rng=rng())
    assert found.sets == [(n - 1,)]
    assert found.coefficients[0] == pytest.approx(-1.5)
    assert found.constant == pytest.approx(0.5)
    assert found.maxima(1, rng=rng())[0, -1] == 1


def test_nothing_is_learned_from_nothing() -> None:
    x = rng(16).integers(0, 2, (100, 8), dtype=np.uint8)
    one = np.eye(8, dtype=np.uint8)[rng(17).integers(0, 8, 100)]
    few = Walsh().fit_differences(x[:5], one[:5], np.arange(5.0), rng=rng())
    none = Walsh().fit_differences(x[:0], one[:0], np.zeros(0), rng=rng())
    unflipped = Walsh().fit_differences(x, np.zeros_like(x), rng().normal(size=100), rng=rng())
    flat = Walsh().fit_differences(x, one, np.zeros(100), rng=rng())
    constant = Walsh().fit(x, np.full(100, 0.1), rng=rng())
    infinite = Walsh().fit(x, np.full(100, -np.inf), rng=rng())
    for found in (few, none, unflipped, flat, constant, infinite):
        assert (found.sets, found.r2, found.n) == ([], 0.0, 8)
        assert found.interactions() == []
        assert found.maxima(3, rng=rng()).shape[1] == 8
    assert constant.predict(x[:2]) == pytest.approx([0.1, 0.1])


def test_infinite_values_are_left_out_and_repeated_rows_do_no_harm() -> None:
    function = random_function(12, {1: 4, 2: 6}, 19, closed=False)
    x, d, df = equations(function, 12, 300, 20)
    copied = rng(21).integers(0, 300, 3000)
    x, d, df = x[copied], d[copied], df[copied]
    df[::7], df[1::50] = -np.inf, np.nan
    assert largest_error(Walsh().fit_differences(x, d, df, rng=rng()), function) < 1e-6


@pytest.mark.parametrize("factor", [1e-9, 1e12])
def test_scale_does_not_matter(factor: float) -> None:
    x, d, df = equations(FUNCTIONS["traps of 4"], 20, 2000, 22)
    a, b = (Walsh().fit_differences(x, d, f, rng=rng()) for f in (df, df * factor))
    assert a.sets == b.sets
    np.testing.assert_allclose(b.coefficients, a.coefficients * factor, rtol=1e-6)


def test_the_same_seed_gives_the_same_fit() -> None:
    x, d, df = equations(FUNCTIONS["NK, k = 3"], 20, 500, 23)
    a, b = (Walsh(max_rows=400).fit_differences(x, d, df, rng=rng(5)) for _ in range(2))
    assert a.sets == b.sets
    assert (a.coefficients == b.coefficients).all()
    assert (a.maxima(5, rng=rng()) == b.maxima(5, rng=rng())).all()


def test_max_order_is_kept() -> None:
    x, d, df = equations(FUNCTIONS["traps of 5"], 20, 2000, 24)
    for order in range(1, 6):
        assert max(map(len, Walsh(max_order=order).fit_differences(x, d, df, rng=rng()).sets)) <= order


def test_among_very_many_variables_pairs_are_found() -> None:
    # Of 3,000 variables, 40 interact in 30 pairs, and all have an effect of their own.
    n, seeded = 3000, rng(25)
    actors = seeded.choice(n, 40, replace=False)
    function = {tuple(sorted(seeded.choice(actors, 2, replace=False).tolist())): 5.0 for _ in range(30)}
    x = seeded.integers(0, 2, (4000, n), dtype=np.uint8)
    d = np.zeros_like(x)
    d[np.arange(4000), np.where(np.arange(4000) % 2, actors[seeded.integers(0, 40, 4000)], np.arange(4000) % n)] = 1
    df = evaluate(function, x ^ d) - evaluate(function, x) + ((x ^ d).sum(axis=1, dtype=float) - x.sum(axis=1))
    found = Walsh(screened=0).fit_differences(x, d, df, rng=rng())
    learned = dict(zip(found.sets, found.coefficients, strict=True))
    assert all(learned[members] == pytest.approx(5.0, abs=0.1) for members in function)


@pytest.mark.parametrize(
    ("x", "values", "message"),
    [
        (np.zeros((3, 0), dtype=np.uint8), np.zeros(3), "rows of 0 and 1"),
        (np.full((3, 2), 2), np.zeros(3), "rows of 0 and 1"),
        (np.zeros((3, 2)), np.zeros(3), "rows of 0 and 1"),
        (np.zeros((3, 2), dtype=np.uint8), np.zeros(4), "3 rows need 3 values"),
        (np.zeros((3, 2), dtype=np.uint8), ["a", "b", "c"], "numbers as values"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x: np.ndarray, values: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Walsh().fit(x, values, rng=rng())


@pytest.mark.parametrize(
    "bad", [{"max_order": 0}, {"max_order": 6}, {"max_rows": 5}, {"candidates": -1}, {"screened": -1}]
)
def test_bad_settings_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Walsh(**bad)


# ---------------------------------------------------------------- equations, their columns, and the lasso on them


def column_by_definition(equations: Equations, members: tuple[int, ...]) -> np.ndarray:
    """The column of a set as a vector of -1, 0, 1."""
    flips = np.ones(len(equations.y)) if equations.d is None else equations.d[:, members].sum(axis=1)
    return (flips % 2) * (-1.0) ** equations.x[:, members].sum(axis=1)


def all_sets_of_six(seed: int) -> tuple[Active, np.ndarray]:
    """Six variables with all sets up to three, and their columns as a dense matrix."""
    seeded = rng(seed)
    x = seeded.integers(0, 2, (150, 6), dtype=np.uint8)
    d = np.eye(6, dtype=np.uint8)[seeded.integers(0, 6, 150)]
    e = Equations(x, d, seeded.normal(size=150), 120)
    sets = [s for size in (1, 2, 3) for s in itertools.combinations(range(6), size)]
    dense = np.column_stack([column_by_definition(e, s) for s in sets])[:120]
    return Active(e, Sets.from_tuples(sets), np.zeros(len(sets))), dense


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.floats(0.05, 3.0))
def test_the_lasso_meets_the_conditions_of_an_optimum(seed: int, penalty: float) -> None:
    active, dense = all_sets_of_six(seed)
    for _ in range(300):
        active.descend(penalty, passes=3, tolerance=1e-12)
    residual = active.equations.y[:120] - dense @ active.w
    np.testing.assert_allclose(active.residual, residual, atol=1e-9)
    limits = penalty * np.sqrt(np.square(dense).sum(axis=0))
    gradient, on = dense.T @ residual, active.w != 0
    np.testing.assert_allclose(gradient[on], (limits * np.sign(active.w))[on], atol=1e-6)
    assert (np.abs(gradient[~on]) <= limits[~on] + 1e-6).all()


# ---------------------------------------------------------------- larger sets


@st.composite
def families(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    n, order = draw(st.integers(4, 9)), draw(st.integers(2, 4))
    every = list(itertools.combinations(range(n), order))
    chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=40))
    return np.array(chosen, dtype=np.int64).reshape(-1, order), n


@settings(max_examples=100, deadline=None)
@given(families(), st.integers(0, 5000))
def test_sets_grow_if_all_subsets_but_one_are_given(family: tuple[np.ndarray, int], offset: int) -> None:
    members, n = family
    order, known = members.shape[1], set(map(tuple, members.tolist()))
    wanted = [
        large
        for large in itertools.combinations(range(n), order + 1)
        if sum(small in known for small in itertools.combinations(large, order)) >= order
    ]
    grown = grow(members + offset, np.ones(len(members)), 10**6) - offset
    assert list(map(tuple, grown.tolist())) == wanted


def test_if_too_many_sets_grow_only_the_stronger_half_counts() -> None:
    # A clique of 30 and, stronger, one of 5: 4,060 triples and 10.
    weak, strong = (list(itertools.combinations(range(a, b), 2)) for a, b in ((0, 30), (40, 45)))
    members = np.array(weak + strong)
    strengths = np.array([1.0] * len(weak) + [-2.0] * len(strong))
    assert len(grow(members, strengths, 5000)) == 4070
    few = grow(members, strengths, 200)
    assert 0 < len(few) <= 200
    assert set(map(tuple, few.tolist())) >= set(itertools.combinations(range(40, 45), 3))
    assert grow(members, strengths, 0).shape == (0, 3)


@settings(max_examples=60, deadline=None)
@given(families())
def test_supersets_are_all_sets_or_those_around_the_strongest(family: tuple[np.ndarray, int]) -> None:
    members, n = family
    order, strengths = members.shape[1] + 1, np.arange(len(members), dtype=float)
    every = list(itertools.combinations(range(n), order))
    assert list(map(tuple, supersets(members, strengths, n, len(every)).tolist())) == every
    most = max(len(every) - 1, 0)
    strongest = [set(m) for m in members[::-1][: most // n].tolist()]
    around = [s for s in every if any(m <= set(s) for m in strongest)]
    assert list(map(tuple, supersets(members, strengths, n, most).tolist())) == around
