"""Search for a subset with few evaluations: a short forward pass, then exchanges that a model proposes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.records import Info
from daedal.sklearn.neighbours import neighbours
from daedal.sklearn.subset_model import Kernel, SubsetModel, best_kernel
from daedal.types import Bits, Fitness, State

BATCH = 8
"""Rows that are asked for at once, whatever the number of workers: so the result does not depend on it."""

_WIDTH = 12  # features tried in a step of the forward pass
_SINGLES = 1 / 3  # of the budget, at most, goes into features by themselves
_TOPS = 3  # subsets whose neighbours are looked at
_LEARNED = 400  # subsets that the model learns from: the best ones, since its time grows with their cube
_OLD = 1.3  # how many times as many subsets there are before the kernel is chosen again
_CANDIDATES = 20_000  # neighbours that are looked at


class SubsetSearch(BaseOptimizer):
    """Looks for a subset of at_least to at_most features.

    First come the features that are most relevant, together, and every feature by itself (as many as a third of the
    evaluations allows); then a forward pass in which each step tries the features that gained most when they were
    last tried; then neighbours of the best subsets so far, by one feature more, less, or another: those that a Gaussian
    process over the scores expects to improve most. Only a step of the forward pass may ask for a subset again, which
    is free in a run. A generation is n subsets.

    Parameters
    ----------
    n, seed, limits, initial
        As for every optimizer.
    at_least, at_most
        How many features a subset has.
    relevance
        What each feature is thought to be worth before any was tried, shape (n,): more is better.

    Attributes
    ----------
    rows, values
        Every subset so far, once, shape (subsets, n), and its score.

    Examples
    --------
    >>> search = SubsetSearch(n=20, at_most=3, relevance=np.zeros(20), limits=Limits(max_evaluations=60))
    >>> while search.stop is None:
    ...     record = search.tell(search.ask() @ np.arange(20.0))
    >>> np.flatnonzero(search.best.x)
    array([17, 18, 19])
    """

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        at_least: int = 1,
        at_most: int,
        relevance: NDArray[np.float64],
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.at_least, self.at_most = at_least, at_most
        self.relevance = relevance
        self.rows = np.empty((0, self.n), np.uint8)
        self.values = np.empty(0)
        self._seen: set[bytes] = set()
        self._gains = np.full(self.n, -np.inf)  # of features, when they were last tried
        self._path: Bits | None = None  # the subset that the forward pass has come to, shape (n,)
        self._kernel: Kernel | None = None
        self._chosen_for = 0  # subsets that the kernel was chosen for

    def propose(self) -> Bits:
        """Give the first rows, a step of the forward pass, or promising neighbours."""
        if not len(self.rows):
            return self._first()
        if self._path is not None and self._path.sum() < self.at_most:
            return self._step(self._path)
        return self._neighbours()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Take scores; -inf is that of a subset for which no model can be fitted."""
        before = len(self.rows) // self.n
        is_first = not len(self.rows)
        for row, value in zip(rows, fitness, strict=True):
            if row.tobytes() not in self._seen:  # a step of the forward pass may lead to what was among the first
                self._seen.add(row.tobytes())
                self.rows, self.values = np.concatenate([self.rows, row[None]]), np.append(self.values, value)
        if is_first and self.at_least == 1:
            self._begin_path(rows, fitness)
        elif self._path is not None and self._path.sum() < self.at_most:
            self._extend_path(self._path, rows, fitness)
        if len(self.rows) >= self._size:
            self.stop = StopReason.EXHAUSTED
        return {} if len(self.rows) // self.n > before else None

    @property
    def _size(self) -> int:
        """How many subsets there are."""
        return sum(math.comb(self.n, members) for members in range(self.at_least, self.at_most + 1))

    def _first(self) -> Bits:
        """Give the initial rows, the most relevant features, and single features where these are allowed."""
        ranked = np.argsort(-self.relevance, kind="stable")
        sizes = dict.fromkeys([self.at_most, max(self.at_least, self.at_most // 2)])
        groups = [ranked[:size] for size in sizes]
        if self.at_least == 1:
            most = self.limits.max_evaluations
            count = self.n if most is None else min(self.n, max(1, int(_SINGLES * most)))
            groups += [ranked[at : at + 1] for at in range(count)]
        rows = np.zeros((len(groups), self.n), np.uint8)
        for row, group in zip(rows, groups, strict=True):
            row[group] = 1
        return rows if self.initial is None else np.concatenate([self.initial, rows])

    def _begin_path(self, rows: Bits, fitness: Fitness) -> None:
        """Begin the forward pass at the best feature."""
        singles = np.flatnonzero(rows.sum(axis=1) == 1)
        if len(singles):
            self._gains[np.argmax(rows[singles], axis=1)] = fitness[singles]
            self._path = rows[singles[np.argmax(fitness[singles])]]

    def _step(self, path: Bits) -> Bits:
        """Give the path with one more feature: those that gained most when they were last tried."""
        others = np.flatnonzero(path == 0)
        ranked = others[np.lexsort((-self.relevance[others], -self._gains[others]))]
        rows = np.repeat(path[None], min(_WIDTH, len(others)), axis=0)
        rows[np.arange(len(rows)), ranked[: len(rows)]] = 1
        return rows

    def _extend_path(self, path: Bits, rows: Bits, fitness: Fitness) -> None:
        """Take the step that is best, and what each has gained."""
        worth = self.values[np.flatnonzero((self.rows == path).all(axis=1))[0]]
        features = np.argmax(rows & ~path & 1, axis=1)
        self._gains[features] = fitness - worth if np.isfinite(worth) else fitness
        self._path = rows[np.argmax(fitness)]

    def _neighbours(self) -> Bits:
        """Give the neighbours of the best subsets that are expected to improve most."""
        ranked = np.argsort(-self.values, kind="stable")
        candidates = self._unseen(ranked)
        learned = np.sort(ranked[:_LEARNED])
        scores = _finite(self.values[learned])
        model = SubsetModel.fitted(self.rows[learned], scores, self._current_kernel())
        worth = model.improvements(candidates, float(scores.max()))
        return candidates[np.argsort(-worth, kind="stable")[:BATCH]]

    def _unseen(self, ranked: NDArray[np.intp]) -> Bits:
        """Give neighbours that are new: of the best subsets, or else of the first that has any."""
        near_of = partial(neighbours, at_least=self.at_least, at_most=self.at_most)
        room = max(1, _CANDIDATES // (_TOPS * (self.at_most + 1)))
        promising = np.lexsort((-self.relevance, -self._gains))[:room]
        near = [near_of(self.rows[at], features=promising) for at in ranked[:_TOPS]]
        found = self._new(np.unique(np.concatenate(near), axis=0))
        for at in ranked:
            if len(found):
                break
            found = self._new(near_of(self.rows[at]))
        return found

    def _new(self, rows: Bits) -> Bits:
        return rows[[row.tobytes() not in self._seen for row in rows]]

    def _current_kernel(self) -> Kernel:
        """Give the kernel, chosen again now and then; which one depends on the subsets up to then alone."""
        if self._kernel is None or len(self.rows) >= _OLD * self._chosen_for:
            self._chosen_for, self._kernel = len(self.rows), None
        if self._kernel is None:
            values = self.values[: self._chosen_for]
            learned = np.sort(np.argsort(-values, kind="stable")[:_LEARNED])
            self._kernel = best_kernel(self.rows[learned], _finite(values[learned]), self.at_most)
        return self._kernel

    def state(self) -> State:
        """Give what is needed to go on from here."""
        arrays: dict[str, NDArray[Any]] = {"seen": self.rows, "seen_values": self.values, "gains": self._gains}
        if self._path is not None:
            arrays["path"] = self._path
        return super().state().extend(arrays=arrays, fields={"chosen_for": self._chosen_for})

    def restore(self, state: State) -> None:
        """Go on where another one stood."""
        super().restore(state)
        self.rows, self.values = state.bits("seen", self.n), state.numbers("seen_values", like="seen")
        self._seen = {row.tobytes() for row in self.rows}
        self._gains = state.floats("gains")
        self._path = state.row("path", self.n) if "path" in state.arrays else None
        self._chosen_for, self._kernel = state.whole("chosen_for"), None


def _finite(values: Fitness) -> Fitness:
    """Put the worst of the scores in place of those that there are none of."""
    known = np.isfinite(values)
    return np.where(known, values, values[known].min() if known.any() else 0.0)
