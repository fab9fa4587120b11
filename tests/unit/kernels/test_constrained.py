"""Annealing with constraints, beside a slow twin that computes every function anew."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from daedal import kernels
from daedal.kernels.constrained import COLDEST, LEARNED
from daedal.models.constrained import ConstrainedModel
from daedal.models.walsh_equations import Sets
from daedal.models.walsh_function import WalshFunction
from daedal.types import Bits

N = 9


def values_of(functions: list[WalshFunction], row: Bits) -> NDArray[np.float64]:
    return np.array([function.predict(row[None])[0] for function in functions])


def gain(before: NDArray[np.float64], after: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    beyond = [np.maximum(values[1:], 0) @ weights[1:] for values in (before, after)]
    return float(after[0] - before[0] - beyond[1] + beyond[0])


def twin(
    functions: list[WalshFunction], x: Bits, first: NDArray[np.float64], heat: float, steps: int, draws: Bits
) -> tuple[Bits, float]:
    row, weights, best, score = x.copy(), first.copy(), x.copy(), -math.inf
    values = values_of(functions, row)
    if (values[1:] <= 0).all():
        score = values[0]
    for step in range(steps):
        if step % N == 0:
            temperature = heat * COLDEST ** (step / steps)
            weights[1:] *= np.where(values[1:] > 0, LEARNED, 1 / LEARNED)
        i = kernels.draws.draw_below(draws, N)
        j = i
        if kernels.draws.draw_unit(draws) >= 0.5:
            for _ in range(8):
                j = kernels.draws.draw_below(draws, N)
                if row[j] != row[i]:
                    break
        threshold = temperature * math.log(kernels.draws.draw_unit(draws) + 1e-300)
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
    for seed in range(6):
        rng = np.random.default_rng(seed)
        functions = []
        for constant in (0.0, -0.5, 0.3):
            sets = Sets.of(np.array(list(itertools.combinations(range(N), order))))
            coefficients = rng.normal(size=len(sets))
            functions.append(
                WalshFunction(n=N, constant=constant, terms=sets, coefficients=coefficients, r2=1.0, price=0.0)
            )
        terms = ConstrainedModel(tuple(functions), np.zeros(3), 1.0)._terms
        x = rng.integers(0, 2, (1, N), dtype=np.uint8)
        first, best, scores = np.array([1.0, 0.7, 1.3]), np.empty_like(x), np.empty(1)
        expected = twin(functions, x[0], first, 1.5, 300, np.array([seed], dtype=np.uint64))
        kernels.constrained.anneal_constrained(
            x, *terms, first, np.zeros(3), np.array([1.5]), 300, np.array([seed], dtype=np.uint64), best, scores
        )
        assert best[0].tolist() == expected[0].tolist()
        assert scores[0] == pytest.approx(expected[1])
