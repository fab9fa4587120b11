"""A sparse Walsh function: its values, its interactions and its maxima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.rng import Words, draw_below, words16
from daedal.types import Bits, Fitness

MAX_ORDER = 5
"""Maximum number of variables in a set."""

CHAINS, SWEEPS = 32, 100
"""Chains of simulated annealing, and how often each goes through all variables."""

COLDEST, NEARBY = 0.02, 0.3
"""Last temperature as a share of the first, and temperature of chains that start at a given candidate, as a share."""

ENUMERATED = 16
"""Variables up to which the values of all candidates are computed."""

_MOST_WORDS = 2**22  # random words drawn at a time
_MOST_PRODUCTS = 2**20  # numbers that `predict` holds at a time
_MOST_CLIMBS = 200  # sweeps that end a chain without a temperature

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sets:
    """Sets of variables, each in ascending order.

    Attributes
    ----------
    members
        Variables, shape (sets, MAX_ORDER), filled up with -1.
    orders
        Number of variables in each set, shape (sets,).
    """

    members: _Integers
    orders: _Integers

    def __len__(self) -> int:
        return len(self.orders)

    def __getitem__(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Sets:
        return Sets(self.members[which], self.orders[which])

    def __add__(self, other: Sets) -> Sets:
        return Sets(np.concatenate([self.members, other.members]), np.concatenate([self.orders, other.orders]))

    def tuples(self) -> list[tuple[int, ...]]:
        """Return each set as a tuple."""
        return [tuple(row[:k]) for row, k in zip(self.members.tolist(), self.orders.tolist(), strict=True)]

    def of_order(self, order: int) -> _Integers:
        """Return the sets of one order, shape (found, order)."""
        return self.members[self.orders == order, :order]

    @staticmethod
    def of(members: _Integers) -> Sets:
        """Return sets of one order from an array of shape (sets, order)."""
        count, order = members.shape
        filled = np.full((count, MAX_ORDER), -1, dtype=np.int64)
        filled[:, :order] = members
        return Sets(filled, np.full(count, order, dtype=np.int64))

    @staticmethod
    def from_tuples(sets: Sequence[Sequence[int]]) -> Sets:
        """Return sets of any orders."""
        filled = np.full((len(sets), MAX_ORDER), -1, dtype=np.int64)
        for row, members in zip(filled, sets, strict=True):
            row[: len(members)] = sorted(members)
        return Sets(filled, np.array([len(members) for members in sets], dtype=np.int64))


class Interaction(NamedTuple):
    """Variables that interact, and how strongly."""

    variables: tuple[int, ...]
    coefficient: float
    share: float  # of the function's variance over all candidates


@dataclass(frozen=True, kw_only=True)
class WalshFunction:
    """f(x) = constant + sum of c_C chi_C(x) over some sets C of variables, chi_C(x) = (-1)^(ones of x in C).

    Attributes
    ----------
    n
        Number of variables.
    constant
        Mean of f over all candidates; 0 if the fit saw differences only.
    terms
        The sets C.
    coefficients
        Their c_C, shape (sets,).
    r2
        Share of the variance of held-out values, or differences, that the function explains: 1 for an exact fit, 0 if
        nothing was found.
    penalty
        Penalty of the lasso with which the sets were chosen; the next fit starts near it.
    """

    n: int
    constant: float
    terms: Sets
    coefficients: _Floats
    r2: float
    penalty: float = 0.0

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """The sets C as tuples."""
        return self.terms.tuples()

    def predict(self, x: Bits) -> Fitness:
        """Return f of each row of x, shape (rows, n)."""
        out = np.full(len(x), self.constant)
        block = max(1, _MOST_PRODUCTS // max(1, len(self.terms)))
        for order in np.unique(self.terms.orders).tolist():
            members, coefficients = self.terms.of_order(order), self.coefficients[self.terms.orders == order]
            for first in range(0, len(x), block):
                signs = 1.0 - 2.0 * x[first : first + block]
                products = signs[:, members[:, 0]]
                for place in range(1, order):
                    products *= signs[:, members[:, place]]
                out[first : first + block] += products @ coefficients
        return out

    def interactions(self, order: int | None = None) -> list[Interaction]:
        """Return the sets of interacting variables, strongest first: those of one order, or of all orders from 2 on."""
        wanted = self.terms.orders >= 2 if order is None else self.terms.orders == order
        chosen = np.flatnonzero(wanted)
        chosen = chosen[np.argsort(-np.abs(self.coefficients[chosen]), kind="stable")]
        total = float(np.square(self.coefficients).sum())
        return [
            Interaction(members, float(c), float(c) ** 2 / total)
            for members, c in zip(self.terms[chosen].tuples(), self.coefficients[chosen], strict=True)
        ]

    def pair_strengths(self) -> _Floats:
        """Return how strongly each pair interacts, shape (n, n): the root of the sum of c_C^2 over all C with both."""
        out = np.zeros((self.n, self.n))
        for members, c in zip(self.sets, self.coefficients.tolist(), strict=True):
            out[np.ix_(members, members)] += c * c
        np.fill_diagonal(out, 0.0)
        return np.sqrt(out)

    @cached_property
    def variable_sets(self) -> tuple[_Integers, _Integers]:
        """Where the sets of each variable start, shape (n + 1,), and the sets, variable by variable."""
        owners, places = np.nonzero(self.terms.members >= 0)
        variables = self.terms.members[owners, places]
        return np.searchsorted(np.sort(variables), np.arange(self.n + 1)), owners[np.argsort(variables, kind="stable")]

    @cached_property
    def _arrays(self) -> tuple[_Integers, _Integers, _Floats, _Integers, _Integers]:
        return self.terms.members, self.terms.orders, self.coefficients, *self.variable_sets

    @cached_property
    def _temperature(self) -> float:
        """The mean absolute gain of flipping a variable of a random candidate, as if gains were Gaussian."""
        starts, owners = self.variable_sets
        squares = np.add.reduceat(np.append(np.square(self.coefficients)[owners], 0.0), starts[:-1])
        squares[starts[:-1] == starts[1:]] = 0.0
        return float(2 * np.sqrt(2 / np.pi) * np.sqrt(squares).mean())

    def maxima(
        self,
        rows: int,
        *,
        rng: np.random.Generator,
        start: Bits | None = None,
        chains: int = CHAINS,
        sweeps: int = SWEEPS,
    ) -> Bits:
        """Return up to `rows` different candidates of high values, best first, shape (found, n).

        Up to n = 16 they are the best of all candidates. For larger n, they are the ends of chains of simulated
        annealing, each a local maximum.

        Parameters
        ----------
        rows
            Maximum number of candidates; chains may end at the same one and leave fewer.
        rng
            Draws the starts and the moves.
        start
            Candidates, shape (any, n), from which half of the chains start, at a lower temperature. The others start at
            random candidates.
        chains, sweeps
            Number of chains, and how often each goes through all variables.
        """
        if self.n <= ENUMERATED:
            return self._best_of_all(rows)
        x = rng.integers(0, 2, (chains, self.n), dtype=np.uint8)
        temperatures = np.full(chains, self._temperature)
        if start is not None and len(start):
            x[chains // 2 :] = start[np.arange(chains - chains // 2) % len(start)]
            temperatures[chains // 2 :] *= NEARBY
        values, step = np.empty(chains), max(1, _MOST_WORDS // (sweeps * self.n))
        logs = np.log((np.arange(4096) + 0.5) / 4096)
        for first in range(0, chains, step):
            part = slice(first, min(first + step, chains))
            words = words16(rng, (part.stop - first) * sweeps * self.n)
            anneal(x[part], *self._arrays, temperatures[part], sweeps, words, logs, values[part])
        ranked = x[np.argsort(-values, kind="stable")]
        _, found = np.unique(ranked, axis=0, return_index=True)
        return ranked[np.sort(found)[:rows]]

    def climb_within(self, x: Bits, inside: NDArray[np.intp], draws: NDArray[np.uint64]) -> None:
        """Move one row x, shape (n,), to a local maximum within variables `inside`, from random values of these.

        draws, shape (1,), is the state of a random generator.
        """
        climb_within(x, inside, draws, self._least, *self._arrays)

    @cached_property
    def _least(self) -> float:
        """The least gain that is not rounding."""
        return 1e-12 * float(np.abs(self.coefficients).max(initial=0.0))

    def _best_of_all(self, rows: int) -> Bits:
        """Return the best of all 2^n candidates, by the fast Walsh-Hadamard transform."""
        values = np.zeros(2**self.n)
        members = self.terms.members
        np.add.at(values, np.where(members >= 0, 1 << np.maximum(members, 0), 0).sum(axis=1), self.coefficients)
        for i in range(self.n):
            pairs = values.reshape(-1, 2, 1 << i)
            values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        best = np.argsort(-values.ravel(), kind="stable")[:rows]
        return ((best[:, None] >> np.arange(self.n)) & 1).astype(np.uint8)


# ---------------------------------------------------------------- kernels


@njit(**OPTIONS)
def _start(x: Bits, sets: _Integers, orders: _Integers, coefficients: _Floats, terms: _Floats, gains: _Floats) -> None:
    """Set the terms c chi_C(x), and the gains -2 (sum of the terms with i) of flipping each variable i."""
    for i in range(gains.size):
        gains[i] = 0.0
    for c in range(orders.size):
        term = coefficients[c]
        for a in range(orders[c]):
            if x[sets[c, a]]:
                term = -term
        terms[c] = term
        for a in range(orders[c]):
            gains[sets[c, a]] -= 2.0 * term


@njit(**OPTIONS)
def _flip(
    i: int, x: Bits, sets: _Integers, orders: _Integers, starts: _Integers, owners: _Integers, terms: _Floats,
    gains: _Floats,
) -> None:  # fmt: skip
    """Flip variable i: the terms of its sets, owners[starts[i] : starts[i + 1]], change sign."""
    x[i] ^= 1
    for k in range(starts[i], starts[i + 1]):
        c = owners[k]
        step = 4.0 * terms[c]
        terms[c] = -terms[c]
        for a in range(orders[c]):
            gains[sets[c, a]] += step


@njit(**OPTIONS)
def anneal(
    x: Bits, sets: _Integers, orders: _Integers, coefficients: _Floats, starts: _Integers, owners: _Integers,
    temperatures: _Floats, sweeps: int, words: NDArray[np.uint16], logs: _Floats, values: _Floats,
) -> None:  # fmt: skip
    """Move each row of x, shape (chains, n), to a local maximum, and set its value without the constant.

    A sweep goes through all variables in order and flips one if its gain exceeds temperature * log(u) (Metropolis). u
    comes from one random word each: logs, shape (2^12,), holds log(u) by the word's upper 12 bits. The temperature
    falls geometrically. The last sweeps flip each variable that gains, until none does.
    """
    chains, n = x.shape
    terms, gains = np.empty(orders.size), np.empty(n)
    word = 0
    for chain in range(chains):
        row = x[chain]
        _start(row, sets, orders, coefficients, terms, gains)
        temperature, factor = temperatures[chain], COLDEST ** (1.0 / sweeps)
        for _ in range(sweeps):
            for i in range(n):
                if gains[i] > temperature * logs[words[word] >> 4]:
                    _flip(i, row, sets, orders, starts, owners, terms, gains)
                word += 1
            temperature *= factor
        moved, left = True, _MOST_CLIMBS
        while moved and left > 0:
            moved, left = False, left - 1
            for i in range(n):
                if gains[i] > 1e-12 * temperatures[chain]:
                    _flip(i, row, sets, orders, starts, owners, terms, gains)
                    moved = True
        total = 0.0
        for c in range(orders.size):
            total += terms[c]
        values[chain] = total


@njit(**OPTIONS)
def climb_within(
    x: Bits, inside: NDArray[np.intp], draws: Words, least: float, sets: _Integers, orders: _Integers,
    coefficients: _Floats, starts: _Integers, owners: _Integers,
) -> None:  # fmt: skip
    """Set the variables `inside` of a row, shape (n,), at random, and flip those that gain, until none does."""
    for k in range(inside.size):
        x[inside[k]] = draw_below(draws, 2)
    moved, left = True, _MOST_CLIMBS
    while moved and left > 0:
        moved, left = False, left - 1
        for k in range(inside.size):
            i, total = inside[k], 0.0
            for s in range(starts[i], starts[i + 1]):
                ones = 0
                for a in range(orders[owners[s]]):
                    ones += x[sets[owners[s], a]]
                total += -coefficients[owners[s]] if ones % 2 else coefficients[owners[s]]
            if total < -least:
                x[i] ^= 1
                moved = True
