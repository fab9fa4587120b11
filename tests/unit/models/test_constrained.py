"""Models of objective and constraints: what is learned exactly, and that the maxima are those of brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from daedal.models.constrained import fit_constrained
from daedal.types import Bits

N = 12
EVERY: Bits = np.array(list(itertools.product([0, 1], repeat=N)), dtype=np.uint8)
RNG = np.random.default_rng(0)
WORTH, WEIGHTS = RNG.normal(5, 3, N), RNG.integers(1, 30, (2, N))


def amounts(x: Bits, kind: str) -> np.ndarray:
    load = x @ WEIGHTS.T - np.array([60.0, 75.0])
    if kind == "cut":
        load = np.maximum(load, 0)
    if kind == "equation":
        load = np.abs(x.sum(axis=1, keepdims=True) - 5.0)
    return np.column_stack([x @ WORTH, load])


@pytest.mark.parametrize("kind", ["signed", "cut", "equation"])
def test_linear_problems_are_known_exactly_and_solved(kind: str) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 2, (800, N), dtype=np.uint8)
        model = fit_constrained(x, amounts(x, kind))
        assert model is not None
        assert model.r2 == 1.0
        found = model.maxima(3, moves=20_000, rng=rng, start=x[:1])
        everything = amounts(EVERY, kind)
        feasible = (everything[:, 1:] <= 0).all(axis=1)
        best = EVERY[feasible][np.argmax(everything[feasible, 0])]
        assert found[0].tolist() == best.tolist()
        assert len(np.unique(found, axis=0)) == len(found)


def test_rows_that_do_not_tell_give_no_model() -> None:
    x = np.random.default_rng(1).integers(0, 2, (60, N), dtype=np.uint8)
    x[:, 3] = 1
    assert fit_constrained(x, amounts(x, "signed")) is None
    assert fit_constrained(x[:10], amounts(x[:10], "signed")) is None


def test_what_is_not_linear_is_not_called_exact() -> None:
    x = np.random.default_rng(2).integers(0, 2, (200, N), dtype=np.uint8)
    table = amounts(x, "signed")
    table[:, 1] = 10 * (x[:, 0] ^ x[:, 1] ^ x[:, 2]) - 5.0
    model = fit_constrained(x, table)
    assert model is not None
    assert model.r2 < 0.5
