"""A model of a problem with constraints: a function to maximise, and others that are not to be above 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.linear import fit_absolute, fit_cut, fit_linear, is_exact
from daedal.models.walsh_equations import Sets
from daedal.models.walsh_function import WalshFunction
from daedal.threads import one_blas_thread
from daedal.types import Amounts, Bits, Fitness

LEAST_CHAINS = 8
LONGEST = 10_000
"""Moves of a chain for each variable, at most; where there are more, there are more chains."""

_HOT, _WARM = 0.17, 0.07  # first temperatures, in root mean square gains of the function that is maximised


class _Terms(NamedTuple):
    """What the kernel takes: see `daedal.kernels.constrained.anneal_constrained`."""

    sets: NDArray[np.int64]
    orders: NDArray[np.int64]
    owners: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    constants: NDArray[np.float64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]


@dataclass(frozen=True)
class ConstrainedModel:
    """Functions of the same rows: the first is maximised, and no other is to be above its slack.

    Attributes
    ----------
    functions
        All of them; one whose absolute value is to be 0 stands here twice, with both signs.
    slack
        What each may be, shape (functions,): above 0 for rounding, below where a function is not known exactly.
    r2
        Share of the variance that is explained of the one that is known least.
    """

    functions: tuple[WalshFunction, ...]
    slack: NDArray[np.float64]
    r2: float

    def maxima(self, rows: int, *, moves: int, rng: np.random.Generator, start: Bits) -> Bits:
        """Find up to so many different rows, best first: feasible ones, then where chains have ended.

        Parameters
        ----------
        rows
            How many at most.
        moves
            Moves of all chains of simulated annealing together.
        rng
            Draws starts and moves.
        start
            Rows, shape (any, n), from which a quarter of the chains start; the others start anywhere.
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
        kernels.constrained.anneal_constrained(
            x, *self._terms, weights, self.slack, temperatures, max(1, moves // chains), word, best, scores
        )  # fmt: skip
        order = np.argsort(-scores, kind="stable")
        _, first = np.unique(best[order], axis=0, return_index=True)
        return best[order[np.sort(first)[:rows]]]

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """The root mean square gain of flipping a variable that counts, for each function."""
        scales = []
        for function in self.functions:
            gains = 4 * np.square(function.coefficients) * function.terms.orders
            scales.append(np.sqrt(gains.sum() / max(1, len(np.unique(function.terms.members)) - 1)))
        return np.maximum(scales, 1e-300)

    @cached_property
    def _terms(self) -> _Terms:
        """All terms of all functions, and which of them a variable is in."""
        terms = Sets(np.empty((0, self.functions[0].terms.members.shape[1]), np.int64), np.empty(0, np.int64))
        for function in self.functions:
            terms = terms + function.terms
        together = WalshFunction(
            n=self.functions[0].n,
            constant=0.0,
            terms=terms,
            coefficients=np.concatenate([function.coefficients for function in self.functions]),
            r2=0.0,
            price=0.0,
        )
        starts, members = together.variable_sets
        owners = np.repeat(np.arange(len(self.functions)), [len(function.terms) for function in self.functions])
        constants = np.array([function.constant for function in self.functions])
        return _Terms(terms.members, terms.orders, owners, together.coefficients, constants, starts, members)


def fit_constrained(
    x: Bits, amounts: Amounts, others: Sequence[WalshFunction | None] | None = None
) -> ConstrainedModel | None:
    """Fit a model to rows, shape (rows, n), their values and amounts, shape (rows, 1 + constraints).

    Parameters
    ----------
    x, amounts
        What was evaluated.
    others
        Functions that may predict better, one for each column, where no linear one is exact.

    Returns
    -------
    ConstrainedModel or None
        None where a column cannot be told by any function.
    """
    functions: list[WalshFunction] = []
    slack: list[float] = []
    r2 = 1.0
    with one_blas_thread():
        all_found = _all_fitted(x, amounts)
    for k, found in enumerate(all_found):
        y = amounts[:, k]
        other = None if others is None else others[k]
        if other is not None and (not found or other.r2 > found[0].r2):
            found = [other]
        if not found:
            return None
        functions += found
        slack += [_slack(found[0], x, y, absolute=len(found) == 2)] * len(found)
        r2 = min(r2, found[0].r2)
    return ConstrainedModel(tuple(functions), np.array(slack), r2)


def _all_fitted(x: Bits, amounts: Amounts) -> list[list[WalshFunction]]:
    """Give linear functions for each column: one, or two where the column is its absolute value; maybe none."""
    linear = fit_linear(x, amounts)
    plain = [linear[k] if linear else None for k in range(amounts.shape[1])]
    return [_fitted(x, amounts[:, k], found, cut=k > 0) for k, found in enumerate(plain)]


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
        price=function.price,
    )


def _slack(function: WalshFunction, x: Bits, y: Fitness, *, absolute: bool) -> float:
    """Give what a function may be for a row to count as feasible: rounding, or less where it is not exact."""
    predicted, scale = function.predict(x), float(np.abs(y).max())
    if absolute or function.r2 == 1.0 or is_exact(predicted, y):
        return 1e-7 * scale
    return -0.5 * float(np.sqrt(np.square(predicted - y).mean()))
