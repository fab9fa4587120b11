"""Simulated annealing on sparse Walsh functions: the first is maximised, and none of the others is to be above 0."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.rng import Words, draw_below, draw_unit

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Bytes = NDArray[np.uint8]

COLDEST = 0.05
"""Last temperature as a share of the first."""

LEARNED = 1.01
"""By how much the weight of a function grows in a sweep that ends with it above its slack, or shrinks otherwise."""

_FARTHEST = 1e4  # by how much a weight may differ from what it was at first
_TRIES = 8  # draws for a variable of the other value, in an exchange


@njit(**OPTIONS)
def _start(
    x: _Bytes, sets: _Integers, orders: _Integers, owners: _Integers, coefficients: _Floats, constants: _Floats,
    terms: _Floats, gains: _Floats, values: _Floats,
) -> None:  # fmt: skip
    """Set the terms c chi_C(x), what flipping each variable gains in each function, and the values of all functions."""
    gains[:] = 0.0
    values[:] = constants
    for c in range(orders.size):
        term = coefficients[c]
        for a in range(orders[c]):
            if x[sets[c, a]]:
                term = -term
        terms[c] = term
        values[owners[c]] += term
        for a in range(orders[c]):
            gains[sets[c, a], owners[c]] -= 2.0 * term


@njit(**OPTIONS)
def _flip(
    i: int, x: _Bytes, sets: _Integers, orders: _Integers, owners: _Integers, starts: _Integers, members: _Integers,
    terms: _Floats, gains: _Floats, values: _Floats,
) -> None:  # fmt: skip
    """Flip variable i: the terms of its sets, members[starts[i] : starts[i + 1]], change sign."""
    x[i] ^= 1
    for k in range(values.size):
        values[k] += gains[i, k]
    for k in range(starts[i], starts[i + 1]):
        c = members[k]
        step = 4.0 * terms[c]
        terms[c] = -terms[c]
        for a in range(orders[c]):
            gains[sets[c, a], owners[c]] += step


@njit(**OPTIONS)
def _gain(values: _Floats, change: _Floats, weights: _Floats, slack: _Floats) -> float:
    """Give what a change of all functions gains: in the first one, less what the others get above their slack."""
    gain = change[0]
    for k in range(1, values.size):
        before = values[k] - slack[k]
        after = before + change[k]
        if after > 0.0:
            gain -= weights[k] * after
        if before > 0.0:
            gain += weights[k] * before
    return float(gain)


@njit(**OPTIONS)
def _learn_weights(values: _Floats, slack: _Floats, first: _Floats, weights: _Floats) -> None:
    """Raise the weights of functions that are above their slack, and lower those of the others."""
    for k in range(1, values.size):
        grown = weights[k] * (LEARNED if values[k] > slack[k] else 1.0 / LEARNED)
        weights[k] = min(max(grown, first[k] / _FARTHEST), first[k] * _FARTHEST)


@njit(**OPTIONS)
def _is_feasible(values: _Floats, slack: _Floats) -> bool:
    for k in range(1, values.size):
        if values[k] > slack[k]:
            return False
    return True


@njit(**OPTIONS)
def _partner(x: _Bytes, i: int, draws: Words) -> int:
    """Give a random variable whose value is not that of i, or any where there seems to be none."""
    j = i
    for _ in range(_TRIES):
        j = draw_below(draws, x.size)
        if x[j] != x[i]:
            break
    return j


@njit(**OPTIONS)
def anneal_constrained(
    x: _Bytes, sets: _Integers, orders: _Integers, owners: _Integers, coefficients: _Floats, constants: _Floats,
    starts: _Integers, members: _Integers, first: _Floats, slack: _Floats, temperatures: _Floats, steps: int,
    draws: Words, best: _Bytes, scores: _Floats,
) -> None:  # fmt: skip
    """Take each row of x, shape (chains, n), through so many moves; keep the best row that is feasible, shape as x.

    A move flips a variable, or exchanges two of different values. It is made where what it gains exceeds temperature *
    log(u) (Metropolis): the gain in function 0, less what the others come to be above their slack, times weights.
    These are `first` at the beginning, shape (functions,), and learned on the way, so that chains go along the edge of
    what is feasible. The temperature falls from that of the chain to COLDEST of it, geometrically. scores, shape
    (chains,), are values of function 0 at the best rows, -inf where no row was feasible; then it is the last one.

    sets (count, most) have their variables, orders how many, owners the functions they belong to; constants, shape
    (functions,), are their constants; members and starts say which sets a variable is in. draws (1,) is a state for
    random numbers.
    """
    chains, n = x.shape
    terms, gains, values = np.empty(orders.size), np.empty((n, constants.size)), np.empty(constants.size)
    linear = orders.size == 0 or orders.max() <= 1  # then two flips gain the sum of what each gains
    before, change, weights = np.empty(constants.size), np.empty(constants.size), np.empty(constants.size)
    for chain in range(chains):
        row, temperature = x[chain], temperatures[chain]
        weights[:] = first
        _start(row, sets, orders, owners, coefficients, constants, terms, gains, values)
        scores[chain] = -np.inf
        if _is_feasible(values, slack):
            scores[chain] = values[0]
            best[chain] = row
        for step in range(steps):
            if step % n == 0:
                temperature = temperatures[chain] * COLDEST ** (step / steps)
                _learn_weights(values, slack, first, weights)
            i = draw_below(draws, n)
            j = i if draw_unit(draws) < 0.5 else _partner(row, i, draws)
            threshold = temperature * math.log(draw_unit(draws) + 1e-300)
            if j == i:
                if _gain(values, gains[i], weights, slack) < threshold:
                    continue
                _flip(i, row, sets, orders, owners, starts, members, terms, gains, values)
            else:
                before[:] = values
                if not linear:
                    _flip(i, row, sets, orders, owners, starts, members, terms, gains, values)
                for k in range(values.size):
                    change[k] = values[k] + gains[j, k] - before[k] + (gains[i, k] if linear else 0.0)
                if _gain(before, change, weights, slack) < threshold:
                    if not linear:
                        _flip(i, row, sets, orders, owners, starts, members, terms, gains, values)
                    continue
                if linear:
                    _flip(i, row, sets, orders, owners, starts, members, terms, gains, values)
                _flip(j, row, sets, orders, owners, starts, members, terms, gains, values)
            if values[0] > scores[chain] and _is_feasible(values, slack):
                scores[chain] = values[0]
                best[chain] = row
        if scores[chain] == -np.inf:
            best[chain] = row
