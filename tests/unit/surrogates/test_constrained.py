"""Linear functions and models with constraints: exact fits, and maxima against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from all_rows import all_rows
from numpy.typing import NDArray

from daedal.rng import draw_below, draw_unit
from daedal.surrogates import WalshFunction
from daedal.surrogates.constrained import COLDEST, LEARNED, ConstrainedModel, anneal_constrained, fit_constrained
from daedal.surrogates.ridge import ridge
from daedal.surrogates.walsh_function import Sets
from daedal.types import Bits

N = 12
EVERY = all_rows(N)
RNG = np.random.default_rng(0)
WORTH, WEIGHTS = RNG.normal(5, 3, N), RNG.integers(1, 30, (2, N))


def outputs(x: Bits, kind: str) -> np.ndarray:
    load = x @ WEIGHTS.T - np.array([60.0, 75.0])
    if kind == "cut":
        load = np.maximum(load, 0)
    if kind == "equation":
        load = np.abs(x.sum(axis=1, keepdims=True) - 5.0)
    return np.column_stack([x @ WORTH, load])


@pytest.mark.parametrize("kind", ["signed", "cut", "equation"])
def test_linear_problems_are_known_exactly_and_solved(kind: str) -> None:
    everything = outputs(EVERY, kind)
    feasible = (everything[:, 1:] <= 0).all(axis=1)
    best = EVERY[feasible][np.argmax(everything[feasible, 0])]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 2, (800, N), dtype=np.uint8)
        model = fit_constrained(x, outputs(x, kind))
        assert model is not None
        assert model.r2 == 1.0
        found = model.maxima(3, moves=20_000, rng=rng, start=x[:1])
        assert found[0].tolist() == best.tolist()
        assert len(np.unique(found, axis=0)) == len(found)


def test_rows_that_do_not_determine_a_function_give_no_model() -> None:
    x = np.random.default_rng(1).integers(0, 2, (60, N), dtype=np.uint8)
    x[:, 3] = 1
    assert fit_constrained(x, outputs(x, "signed")) is None
    assert fit_constrained(x[:10], outputs(x[:10], "signed")) is None


def test_a_function_that_is_not_linear_is_not_called_exact() -> None:
    x = np.random.default_rng(2).integers(0, 2, (200, N), dtype=np.uint8)
    table = outputs(x, "signed")
    table[:, 1] = 10 * (x[:, 0] ^ x[:, 1] ^ x[:, 2]) - 5.0
    model = fit_constrained(x, table)
    assert model is not None
    assert model.r2 < 0.5


def test_ridge_predicts_rows_left_out() -> None:
    """Its weights are those of the normal equations at one of its penalties, and r2 holds on fresh rows."""
    rng = np.random.default_rng(3)
    x, fresh, weights = *(rng.integers(0, 2, (size, 20), dtype=np.uint8) for size in (60, 20_000)), rng.normal(size=20)
    values, true = x @ weights + rng.normal(size=60), fresh @ weights + rng.normal(size=20_000)
    found, r2 = ridge(x, values)
    centered = x - x.mean(axis=0)
    solutions = [
        np.linalg.solve(centered.T @ centered + p * np.eye(20), centered.T @ (values - values.mean()))
        for p in 10.0 ** np.arange(-1, 4, 0.5)
    ]
    assert any(np.allclose(found, solution, atol=1e-9) for solution in solutions)
    assert 1 - (true - fresh @ found).var() / true.var() == pytest.approx(r2, abs=0.15)
    assert ridge(x, np.ones(60)) == (pytest.approx(np.zeros(20)), 0.0)


def values_of(functions: list[WalshFunction], row: Bits) -> NDArray[np.float64]:
    return np.array([function.predict(row[None])[0] for function in functions])


def gain(before: NDArray[np.float64], after: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    beyond = [np.maximum(values[1:], 0) @ weights[1:] for values in (before, after)]
    return float(after[0] - before[0] - beyond[1] + beyond[0])


def slow_chain(
    functions: list[WalshFunction], x: Bits, first: NDArray[np.float64], heat: float, steps: int, draws: Bits
) -> tuple[Bits, float]:
    """One chain that computes every function again at each step."""
    row, weights, best, score, n = x.copy(), first.copy(), x.copy(), -math.inf, len(x)
    values = values_of(functions, row)
    if (values[1:] <= 0).all():
        score = values[0]
    for step in range(steps):
        if step % n == 0:
            temperature = heat * COLDEST ** (step / steps)
            weights[1:] *= np.where(values[1:] > 0, LEARNED, 1 / LEARNED)
        i = draw_below(draws, n)
        j = i
        if draw_unit(draws) >= 0.5:
            for _ in range(8):
                j = draw_below(draws, n)
                if row[j] != row[i]:
                    break
        threshold = temperature * math.log(draw_unit(draws) + 1e-300)
        moved = row.copy()
        moved[list({i, j})] ^= 1
        after = values_of(functions, moved)
        if gain(values, after, weights) < threshold:
            continue
        row, values = moved, after
        if values[0] > score + 1e-9 and (values[1:] <= 0).all():
            best, score = row.copy(), values[0]
    return (row if score == -math.inf else best), score


@pytest.mark.parametrize("order", [1, 2])
def test_a_chain_ends_where_its_slow_twin_does(order: int) -> None:
    n = 9
    for seed in range(6):
        rng = np.random.default_rng(seed)
        functions = []
        for constant in (0.0, -0.5, 0.3):
            sets = Sets.of(np.array(list(itertools.combinations(range(n), order))))
            coefficients = rng.normal(size=len(sets))
            functions.append(WalshFunction(n=n, constant=constant, terms=sets, coefficients=coefficients, r2=1.0))
        terms = ConstrainedModel(tuple(functions), np.zeros(3), 1.0)._terms
        x = rng.integers(0, 2, (1, n), dtype=np.uint8)
        first, best, scores = np.array([1.0, 0.7, 1.3]), np.empty_like(x), np.empty(1)
        expected = slow_chain(functions, x[0], first, 1.5, 300, np.array([seed], dtype=np.uint64))
        anneal_constrained(
            x, *terms, first, np.zeros(3), np.array([1.5]), 300, np.array([seed], dtype=np.uint64), best, scores
        )
        assert best[0].tolist() == expected[0].tolist()
        assert scores[0] == pytest.approx(expected[1])
