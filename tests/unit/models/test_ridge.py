"""Ridge regression: against the normal equations, and leaving rows out one by one."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.models import ridge as module
from daedal.models.ridge import PRICES, ridge


def drawn(rows: int, n: int, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([rows, n])
    x, weights = rng.integers(0, 2, (rows, n), dtype=np.uint8), rng.normal(size=n)
    return x, x @ weights + 3.0 + sd * rng.normal(size=rows), weights


@pytest.mark.parametrize(("rows", "n"), [(12, 4), (30, 5), (6, 9)])
def test_it_is_the_best_of_all_prices_by_rows_left_out(rows: int, n: int) -> None:
    x, y, _ = drawn(rows, n, 0.5)

    def fitted(price: float, kept: np.ndarray) -> tuple[np.ndarray, float]:
        """Minimise squares, the constant free, by the normal equations."""
        centre, mean = x[kept].mean(axis=0), y[kept].mean()
        z = x[kept] - centre
        weights = np.linalg.solve(z.T @ z + price * np.eye(n), z.T @ (y[kept] - mean))
        return weights, float(mean - centre @ weights)

    errors = []
    for price in PRICES:
        squares = []
        for left in range(rows):
            weights, constant = fitted(price, np.arange(rows) != left)
            squares.append((y[left] - constant - x[left] @ weights) ** 2)
        errors.append(np.mean(squares))
    best = int(np.argmin(errors))
    weights, r2 = ridge(x, y)
    assert weights == pytest.approx(fitted(PRICES[best], np.ones(rows, bool))[0])
    assert r2 == pytest.approx(max(0.0, 1 - errors[best] / y.var()))


def test_signs_are_right_where_the_noise_is_larger_than_every_weight() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (2000, 20), dtype=np.uint8)
    signs = np.where(np.arange(20) % 3, 1.0, -1.0)
    weights, r2 = ridge(x, x @ signs + 4 * rng.normal(size=2000))
    assert np.array_equal(np.sign(weights), signs)
    assert 0.1 < r2 < 0.4


def test_values_that_are_all_alike_say_nothing() -> None:
    weights, r2 = ridge(np.eye(4, dtype=np.uint8), np.full(4, 7.0))
    assert (weights.tolist(), r2) == ([0.0] * 4, 0.0)


def test_of_too_many_rows_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, weights = drawn(500, 5, 0.0)
    monkeypatch.setattr(module, "MOST_NUMBERS", 200)
    assert ridge(x, y)[0] == pytest.approx(ridge(x[::13], y[::13])[0])
    assert ridge(x, y)[0] == pytest.approx(weights, abs=0.1)
