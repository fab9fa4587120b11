"""The sparse Walsh model: exact recovery, what it makes of noise and of nothing, and that the same gives the same."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from daedal.models import Walsh, WalshFunction

Function = dict[tuple[int, ...], float]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_function(n: int, counts: dict[int, int], seed: int, *, closed: bool) -> Function:
    """Random sets of each order with Gaussian coefficients; closed: their subsets have some too."""
    seeded = rng(seed)
    function: Function = {}
    for order, count in counts.items():
        for _ in range(count):
            members = tuple(sorted(seeded.choice(n, order, replace=False).tolist()))
            function[members] = seeded.normal()
            for size in range(1, order) if closed else ():
                for subset in itertools.combinations(members, size):
                    function.setdefault(subset, seeded.normal())
    return function


def evaluate(function: Function, x: np.ndarray) -> np.ndarray:
    signs = 1.0 - 2.0 * x
    return sum((c * signs[:, members].prod(axis=1) for members, c in function.items()), np.zeros(len(x)))


def transform(values: np.ndarray) -> np.ndarray:
    """Walsh coefficients of a table of 2^k values, the first variable in the highest bit, from their definition."""
    k = len(values).bit_length() - 1
    rows = (np.arange(len(values))[:, None] >> np.arange(k)[::-1]) & 1
    return (-1.0) ** (rows @ rows.T) @ values / len(values)


def sum_of_tables(scopes: list[list[int]], tables: list[np.ndarray]) -> Function:
    function: Function = {}
    for scope, table in zip(scopes, tables, strict=True):
        for index, coefficient in enumerate(transform(table)):
            bits = [index >> place & 1 for place in range(len(scope) - 1, -1, -1)]
            members = tuple(sorted(v for v, bit in zip(scope, bits, strict=True) if bit))
            function[members] = function.get(members, 0.0) + coefficient
    return {members: c for members, c in function.items() if members and abs(c) > 1e-12}


def neighbourhoods(n: int, k: int, seed: int) -> Function:
    """NK: each variable with k random others, uniform tables."""
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
    "NK, k = 3": neighbourhoods(20, 3, 5),
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


def test_a_previous_fit_changes_nothing_that_is_exact() -> None:
    function = FUNCTIONS["pairs"]
    x, d, df = equations(function, 20, 2000, 10)
    previous = Walsh().fit_differences(x[:150], d[:150], df[:150], rng=rng())
    for _ in range(2):
        previous = Walsh().fit_differences(x, d, df, rng=rng(), previous=previous)
        assert largest_error(previous, function) < 1e-6
        assert previous.r2 == pytest.approx(1.0, abs=1e-9)


def test_a_previous_fit_of_another_function_does_not_stay() -> None:
    x, d, df = equations(FUNCTIONS["NK, k = 3"], 20, 4000, 10)
    previous = Walsh().fit_differences(x, d, df, rng=rng())
    df = evaluate(FUNCTIONS["pairs"], x ^ d) - evaluate(FUNCTIONS["pairs"], x)
    found = Walsh().fit_differences(x, d, df, rng=rng(), previous=previous)
    assert largest_error(found, FUNCTIONS["pairs"]) < 1e-6


def test_noise_lowers_r2_and_coefficients_stay_near() -> None:
    function = random_function(30, {1: 10, 2: 20}, 11, closed=False)
    x, d, df = equations(function, 30, 3000, 12)
    noise = rng(13).normal(size=len(df)) * df.std()
    found = Walsh().fit_differences(x, d, df + noise, rng=rng())
    assert 0.35 < found.r2 < 0.6  # half of the variance is noise
    assert largest_error(found, function) < 0.5
    assert found.interactions()[0].variables == max(
        (s for s in function if len(s) == 2), key=lambda s: abs(function[s])
    )


def test_pure_noise_is_not_explained() -> None:
    seeded = rng(14)
    x = seeded.integers(0, 2, (1000, 30), dtype=np.uint8)
    assert Walsh().fit(x, seeded.normal(size=1000), rng=seeded).r2 < 0.05


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


def test_rows_of_infinite_value_are_left_out() -> None:
    function = FUNCTIONS["pairs"]
    x, d, df = equations(function, 20, 2000, 18)
    df[::7], df[1::50] = -np.inf, np.nan
    assert largest_error(Walsh().fit_differences(x, d, df, rng=rng()), function) < 1e-6


def test_duplicates_do_no_harm() -> None:
    function = random_function(12, {1: 4, 2: 6}, 19, closed=False)
    x, d, df = equations(function, 12, 300, 20)
    copied = rng(21).integers(0, 300, 3000)
    assert largest_error(Walsh().fit_differences(x[copied], d[copied], df[copied], rng=rng()), function) < 1e-6


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


def test_everything_is_compiled_before_the_clock_runs() -> None:
    ask = (
        "from daedal import kernels; from daedal.models import Walsh; Walsh().prepare(); "
        "print([name for module in (kernels.walsh, kernels.lasso, kernels.annealing) for name, kernel in "
        "vars(module).items() if hasattr(kernel, 'signatures') and name[0] != '_' and not kernel.signatures])"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=300)
    assert (
        done.stdout.strip() == "['column_total', 'column_total', 'start_terms', 'flip_variable']"
    )  # called by kernels


def test_max_order_is_kept() -> None:
    x, d, df = equations(FUNCTIONS["traps of 5"], 20, 2000, 24)
    for order in range(1, 6):
        assert max(map(len, Walsh(max_order=order).fit_differences(x, d, df, rng=rng()).sets)) <= order


def test_many_variables() -> None:
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
        (np.zeros((3, 2), dtype=np.uint8), np.zeros(4), "one value for each of 3 rows"),
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
    with pytest.raises(ValueError, match=f"expected {next(iter(bad))} .*got"):
        Walsh(**bad)
