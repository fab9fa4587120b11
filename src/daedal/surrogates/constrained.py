"""A model of a problem with constraints: a function to maximize, and others that must not be above 0.

Its maxima are found by simulated annealing, in which the weights of violations are learned on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.rng import Words, draw_below, draw_unit
from daedal.surrogates.linear import fit_absolute, fit_cut, fit_linear, is_exact
from daedal.surrogates.walsh_function import Sets, WalshFunction
from daedal.threads import one_blas_thread
from daedal.types import Bits, Fitness, Outputs

LEAST_CHAINS, LONGEST = 8, 10_000
"""Least number of chains, and moves of a chain per variable, at most. More moves make more chains."""

COLDEST = 0.05
"""Last temperature as a share of the first."""

LEARNED = 1.01
"""Factor by which the weight of a function grows in a sweep that ends with it above its slack, or shrinks otherwise."""

_FARTHEST = 1e4  # factor by which a weight may differ from its first value
_TRIES = 8  # draws of a variable with the other value, in an exchange

_HOT, _WARM = 0.17, 0.07  # first temperatures, in root mean square gains of the function that is maximized


_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Bytes = NDArray[np.uint8]


class _Terms(NamedTuple):
    """The arguments of `anneal_constrained` that describe the functions."""

    sets: NDArray[np.int64]
    orders: NDArray[np.int64]
    owners: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    constants: NDArray[np.float64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]


@dataclass(frozen=True)
class ConstrainedModel:
    """Functions of the same bits: the first is maximized, and no other may be above its slack.

    Attributes
    ----------
    functions
        All of them. One whose absolute value must be 0 is here twice, with both signs.
    slack
        Largest allowed value of each, shape (functions,): above 0 for rounding, below 0 if it is not known exactly.
    r2
        Share of the variance of the function that is known least well that is explained.
    """

    functions: tuple[WalshFunction, ...]
    slack: NDArray[np.float64]
    r2: float

    def maxima(self, rows: int, *, moves: int, rng: np.random.Generator, start: Bits) -> Bits:
        """Return up to `rows` different candidates, best first: feasible ones, then the ends of chains.

        Parameters
        ----------
        rows
            Maximum number of candidates.
        moves
            Number of moves of all chains together.
        rng
            Draws the starts and the moves.
        start
            Candidates, shape (any, n), from which a quarter of the chains start. The others start at random.
        """
        n = start.shape[1]
        chains = max(LEAST_CHAINS, moves // (LONGEST * n))
        x = rng.integers(0, 2, (chains, n), dtype=np.uint8)
        if len(start):
            x[::4] = start[np.arange(len(x[::4])) % len(start)]
        best, scores = np.empty_like(x), np.empty(chains)
        temperatures = self._scales[0] * np.where(np.arange(chains) % 2 == 0, _WARM, _HOT)
        weights = 0.5 * self._scales[0] / self._scales
        word = np.array([rng.bit_generator.random_raw()], dtype=np.uint64)
        anneal_constrained(
            x, *self._terms, weights, self.slack, temperatures, max(1, moves // chains), word, best, scores
        )  # fmt: skip
        order = np.argsort(-scores, kind="stable")
        _, first = np.unique(best[order], axis=0, return_index=True)
        return best[order[np.sort(first)[:rows]]]

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """The root mean square gain of flipping a variable that matters, for each function."""
        scales = []
        for function in self.functions:
            gains = 4 * np.square(function.coefficients) * function.terms.orders
            scales.append(np.sqrt(gains.sum() / max(1, len(np.unique(function.terms.members)) - 1)))
        return np.maximum(scales, 1e-300)

    @cached_property
    def _terms(self) -> _Terms:
        """All terms of all functions, and the terms of each variable."""
        terms = Sets(np.empty((0, self.functions[0].terms.members.shape[1]), np.int64), np.empty(0, np.int64))
        for function in self.functions:
            terms = terms + function.terms
        together = WalshFunction(
            n=self.functions[0].n,
            constant=0.0,
            terms=terms,
            coefficients=np.concatenate([function.coefficients for function in self.functions]),
            r2=0.0,
        )
        starts, members = together.variable_sets
        owners = np.repeat(np.arange(len(self.functions)), [len(function.terms) for function in self.functions])
        constants = np.array([function.constant for function in self.functions])
        return _Terms(terms.members, terms.orders, owners, together.coefficients, constants, starts, members)


def fit_constrained(
    x: Bits, outputs: Outputs, others: Sequence[WalshFunction | None] | None = None
) -> ConstrainedModel | None:
    """Fit a model to rows, shape (rows, n), and their values and outputs, shape (rows, 1 + constraints).

    Parameters
    ----------
    x, outputs
        Candidates, and their objective values and constraint values.
    others
        Functions that may predict better if no linear one is exact, one per column.

    Returns
    -------
    ConstrainedModel or None
        None if a column cannot be predicted by any function.
    """
    functions: list[WalshFunction] = []
    slack: list[float] = []
    r2 = 1.0
    with one_blas_thread():
        all_found = _all_fitted(x, outputs)
    for k, found in enumerate(all_found):
        y = outputs[:, k]
        other = None if others is None else others[k]
        if other is not None and (not found or other.r2 > found[0].r2):
            found = [other]
        if not found:
            return None
        functions += found
        slack += [_slack(found[0], x, y, absolute=len(found) == 2)] * len(found)
        r2 = min(r2, found[0].r2)
    return ConstrainedModel(tuple(functions), np.array(slack), r2)


def _all_fitted(x: Bits, outputs: Outputs) -> list[list[WalshFunction]]:
    """Return linear functions for each column: one, or two if the column is an absolute value, or none."""
    linear = fit_linear(x, outputs)
    plain = [linear[k] if linear else None for k in range(outputs.shape[1])]
    return [_fitted(x, outputs[:, k], found, cut=k > 0) for k, found in enumerate(plain)]


def _fitted(x: Bits, y: Fitness, found: WalshFunction | None, *, cut: bool) -> list[WalshFunction]:
    if found is not None and (found.r2 == 1.0 or not cut or y.min() < 0):
        return [found]
    if (y == 0).any() and (one := fit_cut(x, y)) is not None:
        return [one]
    if (one := fit_absolute(x, y)) is not None:
        return [one, _negative(one)]
    return [] if found is None else [found]


def _negative(function: WalshFunction) -> WalshFunction:
    return WalshFunction(
        n=function.n,
        constant=-function.constant,
        terms=function.terms,
        coefficients=-function.coefficients,
        r2=function.r2,
    )


def _slack(function: WalshFunction, x: Bits, y: Fitness, *, absolute: bool) -> float:
    """Return the largest value of a function at a feasible candidate: rounding, or less if it is not exact."""
    predicted, scale = function.predict(x), float(np.abs(y).max())
    if absolute or function.r2 == 1.0 or is_exact(predicted, y):
        return 1e-7 * scale
    return -0.5 * float(np.sqrt(np.square(predicted - y).mean()))


# ---------------------------------------------------------------- kernels


@njit(**OPTIONS)
def _start(
    x: _Bytes, sets: _Integers, orders: _Integers, owners: _Integers, coefficients: _Floats, constants: _Floats,
    terms: _Floats, gains: _Floats, values: _Floats,
) -> None:  # fmt: skip
    """Set the terms c chi_C(x), the gains of flipping each variable in each function, and the functions' values."""
    for i in range(gains.shape[0]):
        for k in range(values.size):
            gains[i, k] = 0.0
    for k in range(values.size):
        values[k] = constants[k]
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
    """Return the gain of a change of all functions: in the first one, less the new violations of the others."""
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
    feasible = True
    for k in range(1, values.size):
        feasible = feasible and values[k] <= slack[k]
    return feasible


@njit(**OPTIONS)
def _partner(x: _Bytes, i: int, draws: Words) -> int:
    """Return a random variable whose value is not that of i, or any if none is found."""
    j = i
    for _ in range(_TRIES):
        j = draw_below(draws, x.size)
        if x[j] != x[i]:
            break
    return j


@njit(**OPTIONS)
def _copy(row: _Bytes, out: _Bytes) -> None:
    for i in range(row.size):
        out[i] = row[i]


@njit(**OPTIONS)
def anneal_constrained(
    x: _Bytes, sets: _Integers, orders: _Integers, owners: _Integers, coefficients: _Floats, constants: _Floats,
    starts: _Integers, members: _Integers, first: _Floats, slack: _Floats, temperatures: _Floats, steps: int,
    draws: Words, best: _Bytes, scores: _Floats,
) -> None:  # fmt: skip
    """Move each row of x, shape (chains, n), `steps` times, and keep the best feasible row of each chain in `best`.

    A move flips a variable, or exchanges two of different values. It is made if its gain exceeds temperature * log(u)
    (Metropolis): the gain in function 0, less the violations of the others, times weights. The weights are `first` at
    the beginning, shape (functions,), and learned on the way, so that chains follow the edge of the feasible region.
    The temperature falls geometrically to COLDEST of its first value. scores, shape (chains,), are the values of
    function 0 at the best rows. If no row was feasible, the score is -inf, and the best row is the last one.

    sets (count, most) hold the variables of each term, orders their number, and owners the functions they belong to.
    constants, shape (functions,), are the constants of the functions. The terms of variable i are members[starts[i] :
    starts[i + 1]]. draws (1,) is the state of a random generator.
    """
    chains, n = x.shape
    terms, gains, values = np.empty(orders.size), np.empty((n, constants.size)), np.empty(constants.size)
    linear = True  # then two flips gain the sum of the gains of each
    for c in range(orders.size):
        linear = linear and orders[c] <= 1
    before, change, weights = np.empty(constants.size), np.empty(constants.size), np.empty(constants.size)
    for chain in range(chains):
        row, temperature = x[chain], temperatures[chain]
        for k in range(first.size):
            weights[k] = first[k]
        _start(row, sets, orders, owners, coefficients, constants, terms, gains, values)
        scores[chain] = -np.inf
        if _is_feasible(values, slack):
            scores[chain] = values[0]
            _copy(row, best[chain])
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
                for k in range(values.size):
                    before[k] = values[k]
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
                _copy(row, best[chain])
        if scores[chain] == -np.inf:
            _copy(row, best[chain])
