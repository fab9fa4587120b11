"""A sparse Walsh function: what it says about variables, its values, its maxima."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import Sets
from daedal.rng import words16
from daedal.types import Bits, Fitness

CHAINS = 32
SWEEPS = 100
MOST_WORDS = 2**22
"""Random words that are drawn at a time."""

MOST_PRODUCTS = 2**20
"""Numbers that `predict` has in memory at a time."""

ENUMERATED = 16
"""Variables up to which all rows are looked at."""

NEARBY = 0.3
"""Temperature of chains that start at a given row, as a share of that of the others."""


class Interaction(NamedTuple):
    """Variables that act together, and how much."""

    variables: tuple[int, ...]
    coefficient: float
    share: float  # of the function's variance over all rows


@dataclass(frozen=True, kw_only=True)
class WalshFunction:
    """f(x) = constant + sum of c_C chi_C(x) over some sets C of variables, chi_C(x) = (-1)^(ones of x in C).

    Attributes
    ----------
    n
        Number of variables.
    constant
        Mean of f over all rows; 0 where the fit saw differences only.
    terms
        The sets C.
    coefficients
        Their c_C, shape (sets,).
    r2
        Share of the variance that it explained of the equations, or values, held out of the fit: 1 for an exact
        fit, 0 where nothing was found.
    price
        What a coefficient cost in the fit; the next one begins there.
    """

    n: int
    constant: float
    terms: Sets
    coefficients: NDArray[np.float64]
    r2: float
    price: float

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """The sets C as tuples."""
        return self.terms.tuples()

    def predict(self, x: Bits) -> Fitness:
        """Give f of each row of x, shape (rows, n)."""
        out = np.full(len(x), self.constant)
        block = max(1, MOST_PRODUCTS // max(1, len(self.terms)))
        for order in np.unique(self.terms.orders):
            chosen = self.terms.orders == order
            members, coefficients = self.terms.members[chosen, :order], self.coefficients[chosen]
            for first in range(0, len(x), block):
                signs = 1.0 - 2.0 * x[first : first + block]
                products = signs[:, members[:, 0]]
                for place in range(1, order):
                    products *= signs[:, members[:, place]]
                out[first : first + block] += products @ coefficients
        return out

    def interactions(self, order: int | None = None) -> list[Interaction]:
        """List which variables interact, strongest first: sets of one order, or of all orders from 2 on."""
        wanted = self.terms.orders >= 2 if order is None else self.terms.orders == order
        chosen = np.flatnonzero(wanted)
        chosen = chosen[np.argsort(-np.abs(self.coefficients[chosen]), kind="stable")]
        total = float(np.square(self.coefficients).sum())
        return [
            Interaction(members, float(c), float(c) ** 2 / total)
            for members, c in zip(self.terms[chosen].tuples(), self.coefficients[chosen], strict=True)
        ]

    def pair_strengths(self) -> NDArray[np.float64]:
        """Give how much each pair acts together, shape (n, n): the root of the sum of c_C^2 over all C with both."""
        out = np.zeros((self.n, self.n))
        for members, c in zip(self.sets, self.coefficients.tolist(), strict=True):
            out[np.ix_(members, members)] += c * c
        np.fill_diagonal(out, 0.0)
        return np.sqrt(out)

    @cached_property
    def variable_sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the sets of each variable start, shape (n + 1,), and the sets, one variable after the other."""
        owners, places = np.nonzero(self.terms.members >= 0)
        variables = self.terms.members[owners, places]
        return np.searchsorted(np.sort(variables), np.arange(self.n + 1)), owners[np.argsort(variables, kind="stable")]

    @cached_property
    def _temperature(self) -> float:
        """The mean gain, in absolute value, of flipping a variable of a random row, as if gains were Gaussian."""
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
        """Find up to `rows` different rows of high values, best first.

        Up to n = 16 they are the best of all rows. Beyond, they are where chains of simulated annealing end, each a
        local maximum.

        Parameters
        ----------
        rows
            How many rows at most; chains may meet and leave fewer.
        rng
            Draws the starts and the moves.
        start
            Rows, shape (any, n), from which half of the chains start, at a lower temperature; the others start
            anywhere.
        chains, sweeps
            How many chains, and how often each goes through all variables.
        """
        if self.n <= ENUMERATED:
            return self._best_of_all(rows)
        x = rng.integers(0, 2, (chains, self.n), dtype=np.uint8)
        temperatures = np.full(chains, self._temperature)
        if start is not None and len(start):
            x[chains // 2 :] = start[np.arange(chains - chains // 2) % len(start)]
            temperatures[chains // 2 :] *= NEARBY
        values, step = np.empty(chains), max(1, MOST_WORDS // (sweeps * self.n))
        logs = np.log((np.arange(4096) + 0.5) / 4096)
        starts, owners = self.variable_sets
        for first in range(0, chains, step):
            part = slice(first, min(first + step, chains))
            words = words16(rng, (part.stop - first) * sweeps * self.n)
            kernels.annealing.anneal(
                x[part], self.terms.members, self.terms.orders, self.coefficients, starts, owners,
                temperatures[part], sweeps, words, logs, values[part],
            )  # fmt: skip
        ranked = x[np.argsort(-values, kind="stable")]
        _, found = np.unique(ranked, axis=0, return_index=True)
        return ranked[np.sort(found)[:rows]]

    def _best_of_all(self, rows: int) -> Bits:
        """Give the best of all 2^n rows, by the fast Walsh-Hadamard transform."""
        values = np.zeros(2**self.n)
        np.add.at(
            values,
            (np.where(self.terms.members >= 0, 1 << np.maximum(self.terms.members, 0), 0)).sum(axis=1),
            self.coefficients,
        )
        for i in range(self.n):
            pairs = values.reshape(-1, 2, 1 << i)
            values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        best = np.argsort(-values.ravel(), kind="stable")[:rows]
        return ((best[:, None] >> np.arange(self.n)) & 1).astype(np.uint8)
