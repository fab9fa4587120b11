"""Simulated annealing on a sparse Walsh function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Bytes = NDArray[np.uint8]

COLDEST = 0.02
"""Last temperature as a share of the first."""

MOST_CLIMBS = 200
"""Sweeps that end a chain without a temperature, at most; they end where nothing changes."""


@njit(**OPTIONS)
def start_terms(
    x: _Bytes, sets: _Integers, orders: _Integers, coefficients: _Floats, terms: _Floats, gains: _Floats
) -> None:
    """Set the terms c chi_C(x), and the gains -2 (sum of the terms with i) of flipping each variable."""
    gains[:] = 0.0
    for c in range(orders.size):
        term = coefficients[c]
        for a in range(orders[c]):
            if x[sets[c, a]]:
                term = -term
        terms[c] = term
        for a in range(orders[c]):
            gains[sets[c, a]] -= 2.0 * term


@njit(**OPTIONS)
def flip_variable(
    i: int, x: _Bytes, sets: _Integers, orders: _Integers, starts: _Integers, members: _Integers, terms: _Floats,
    gains: _Floats,
) -> None:  # fmt: skip
    """Flip variable i: the terms of its sets, members[starts[i] : starts[i + 1]], change sign."""
    x[i] ^= 1
    for k in range(starts[i], starts[i + 1]):
        c = members[k]
        step = 4.0 * terms[c]
        terms[c] = -terms[c]
        for a in range(orders[c]):
            gains[sets[c, a]] += step


@njit(**OPTIONS)
def anneal(
    x: _Bytes, sets: _Integers, orders: _Integers, coefficients: _Floats, starts: _Integers, members: _Integers,
    temperatures: _Floats, sweeps: int, words: NDArray[np.uint16], logs: _Floats, values: _Floats,
) -> None:  # fmt: skip
    """Take each row of x, shape (chains, n), to a local maximum, and set its value without the constant.

    A sweep goes through all variables in order and flips one where its gain exceeds temperature * log(u), with u from
    one word for each (Metropolis): logs, shape (2^12,), has log(u) by the word's upper 12 bits. The temperature falls
    from that of the chain to COLDEST of it, geometrically. Last come sweeps that flip what gains, until nothing does.

    sets (count, most) have their variables, orders how many; members and starts say which sets a variable is in.
    """
    chains, n = x.shape
    terms, gains = np.empty(orders.size), np.empty(n)
    word = 0
    for chain in range(chains):
        row = x[chain]
        start_terms(row, sets, orders, coefficients, terms, gains)
        tiny = 1e-12 * temperatures[chain]
        for sweep in range(sweeps):
            temperature = temperatures[chain] * COLDEST ** (sweep / sweeps)
            for i in range(n):
                if gains[i] > temperature * logs[words[word] >> 4]:
                    flip_variable(i, row, sets, orders, starts, members, terms, gains)
                word += 1
        for _ in range(MOST_CLIMBS):
            moved = False
            for i in range(n):
                if gains[i] > tiny:
                    flip_variable(i, row, sets, orders, starts, members, terms, gains)
                    moved = True
            if not moved:
                break
        values[chain] = terms.sum()
