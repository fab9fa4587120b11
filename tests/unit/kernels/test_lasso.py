"""The lasso and least squares on sparse columns, against the conditions of an optimum and NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.models.walsh_equations import Sets, arrange
from daedal.models.walsh_lasso import ActiveSet


def make(seed: int, held_out: int) -> tuple[ActiveSet, np.ndarray]:
    """Six variables with all sets up to three, and their columns as a dense matrix."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (150, 6), dtype=np.uint8)
    d = np.eye(6, dtype=np.uint8)[rng.integers(0, 6, 150)]
    active = ActiveSet(arrange(x, d, rng.normal(size=150), held_out, np.arange(6)))
    sets = [s for size in (1, 2, 3) for s in itertools.combinations(range(6), size)]
    active.add(active.equations.columns(Sets.from_tuples(sets)))
    dense = np.zeros((len(active.equations.y), len(sets)))
    for c, bounds in enumerate(active.columns.bounds):
        for part, sign in enumerate((1, -1, 1, -1)):
            dense[active.columns.entries[bounds[part] : bounds[part + 1]], c] = sign
    return active, dense


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 999), st.floats(0.05, 3.0), st.booleans())
def test_the_lasso_meets_the_conditions_of_an_optimum(seed: int, price: float, everything: bool) -> None:
    active, dense = make(seed, 30)
    rows = slice(None) if everything else slice(active.equations.train)
    active.descend(price, np.arange(len(active)), passes=0, tolerance=0.0, everything=everything)
    for _ in range(300):
        active.descend(price, np.arange(len(active)), passes=3, tolerance=1e-12, everything=everything)
    residual = active.equations.y - dense @ active.w
    np.testing.assert_allclose(active.residual[rows], residual[rows], atol=1e-9)
    limits = price * np.sqrt(np.square(dense[rows]).sum(axis=0))
    gradient = dense[rows].T @ residual[rows]
    on = active.w != 0
    np.testing.assert_allclose(gradient[on], (limits * np.sign(active.w))[on], atol=1e-6)
    assert (np.abs(gradient[~on]) <= limits[~on] + 1e-6).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 999), st.booleans())
def test_least_squares_are_those_of_numpy(seed: int, everything: bool) -> None:
    active, dense = make(seed, 30)
    rows = slice(None) if everything else slice(active.equations.train)
    chosen = np.random.default_rng(seed).permutation(len(active))[:20]
    active.least_squares(chosen, iterations=200, everything=everything)
    wanted = np.linalg.lstsq(dense[rows][:, chosen], active.equations.y[rows], rcond=None)[0]
    np.testing.assert_allclose(active.w[chosen], wanted, atol=1e-8)
    assert np.count_nonzero(active.w) == 20
    np.testing.assert_allclose(active.residual[rows], (active.equations.y - dense @ active.w)[rows], atol=1e-8)


@pytest.mark.parametrize("held_out", [0, 40])
def test_coefficients_put_in_give_residual_and_error(held_out: int) -> None:
    active, dense = make(1, held_out)
    w = np.random.default_rng(2).normal(size=10)
    active.put(w)
    residual = active.equations.y - dense[:, :10] @ w
    np.testing.assert_allclose(active.residual, residual, atol=1e-12)
    assert active.error() == pytest.approx(np.square(residual[active.equations.train :]).sum())
    np.testing.assert_allclose(active.residual, residual, atol=1e-12)
