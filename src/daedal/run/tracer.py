"""What a result shows of its search: looks at the population now and then, and a summary of the archive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.archive import Archive, to_candidates, to_rows
from daedal.engine import Engine
from daedal.models.base import TrainingCurve
from daedal.result.trace import Curve, Trace
from daedal.searches.algorithm import MOST_LINKED, Insight, information
from daedal.types import LARGEST_COUNT, Bits, Fitness, is_feasible

MOST_LOOKS = 128
"""Looks that are kept. When there are more, every other one is dropped, and later ones are half as frequent."""

MOST_TOP = 100
"""Best candidates that are kept."""

MOST_SEEN = 8000
"""Evaluated candidates that are kept: enough for a model that finds interactions."""

_MOST_SEEN_BITS = 2**25  # in them
_PARTS = 8  # of these candidates: those that arrived one after the other are often changes of each other
_MOST_ROWS = 100  # of a look
_MOST_BITS = 2**18  # in them
_MOST_MEASUREMENTS = 200  # of a training
_MOST_CURVES = 8
_FULL = 255  # a share of one, as a byte
_LONGEST_SOURCE = 200  # letters


class Look(NamedTuple):
    """The population of one generation."""

    generation: int
    ones: NDArray[np.uint8]  # share of ones of each variable, of 255
    rows: NDArray[np.uint8]  # packed bits of some rows, best first
    fitness: Fitness  # of these
    curve: TrainingCurve | None


class Tracer:
    """Looks at the population of a search over n variables, and makes the trace of its result.

    What it keeps is bounded: the shares of ones and some rows for each look, and one matrix of pairs.

    Attributes
    ----------
    looks
        The looks so far, in the order of generations.
    linkage
        Sum of what the search said about pairs, shape (n, n); None if it said nothing.
    source
        What that was read from.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.stride = 1
        self.looks: list[Look] = []
        self.linkage: NDArray[np.float32] | None = None
        self.source = ""
        self._most = max(1, min(_MOST_ROWS, _MOST_BITS // n))

    def look(self, generation: int, engine: Engine) -> None:
        """Look at the search after a generation, if it is due."""
        if generation % self.stride or generation > LARGEST_COUNT:
            return
        insight = self._insight(engine)
        self.looks.append(self._taken(generation, insight))
        if insight.linkage is not None and insight.linkage.shape == (self.n, self.n):
            total = np.zeros((self.n, self.n), np.float32) if self.linkage is None else self.linkage
            self.linkage, self.source = total + insight.linkage.astype(np.float32), insight.source[:_LONGEST_SOURCE]
        if len(self.looks) > MOST_LOOKS:
            self.stride *= 2
            self.looks = [one for one in self.looks if one.generation % self.stride == 0]

    def finish(self, generation: int, engine: Engine) -> None:
        """Look once more, at the end of a run."""
        insight = self._insight(engine)
        if self.looks and self.looks[-1].generation < generation <= LARGEST_COUNT:
            self.looks.append(self._taken(generation, insight))
        if self.linkage is None and insight.source and len(insight.rows) > 2 and self.n <= MOST_LINKED:
            self.linkage, self.source = information(insight.rows).astype(np.float32), insight.source

    def trace(
        self, archive: Archive | None, *, best: Bits, value: float, order: NDArray[np.intp] | None = None, sign: int
    ) -> Trace:
        """Return the trace, in the objective's own order of variables and sign.

        Parameters
        ----------
        archive
            All evaluated candidates; None if the objective is noisy.
        best, value
            The best candidate, shape (n,), and its value, to be maximized, in the engine's order of variables.
        order
            Where each variable of the objective is in the engine's order, shape (n,). Default: at its own place.
        sign
            1 if larger values are better, -1 if smaller ones are.
        """
        n, looks = self.n, self.looks
        places = np.arange(n) if order is None else order
        rows = [np.unpackbits(look.rows, axis=1, count=n)[:, places] for look in looks]
        ones = [look.ones[places].astype(np.float32) / np.float32(_FULL) for look in looks]
        flips, others = np.full(n, np.nan), np.full(n, np.nan)
        top, top_values = best[None], np.array([value])
        seen, seen_values = np.empty((0, n), np.uint8), np.empty(0)
        if archive is not None and len(archive):
            values = np.fromiter(archive.values.values(), np.float64, len(archive))
            flips, others = _around(archive, values, best)
            top, top_values = _top(archive, values)
            seen, seen_values = _sample(archive, values, min(MOST_SEEN, max(1, _MOST_SEEN_BITS // n)))
        return Trace(
            generations=np.array([look.generation for look in looks], np.int64),
            ones=np.array(ones, np.float32).reshape(-1, n),
            rows=np.concatenate([np.empty((0, n), np.uint8), *rows]),
            fitness=sign * np.concatenate([np.empty(0), *(look.fitness for look in looks)]),
            look=np.repeat(np.arange(len(looks)), [len(part) for part in rows]),
            linkage=None if self.linkage is None else self.linkage[np.ix_(places, places)],
            source=self.source,
            curves=_curves(looks),
            top=top[:, places],
            top_fitness=sign * top_values,
            flips=sign * (flips - value)[places],
            others=sign * others[places],
            seen=seen[:, places],
            seen_fitness=sign * seen_values,
        )

    def _insight(self, engine: Engine) -> Insight:
        """Ask the search; of one that has no population, take the latest candidates."""
        shown = engine.insight()
        if shown is not None and len(shown.rows):
            return shown
        latest = engine.archive.order[-self._most :]
        values = np.array([engine.archive[c] for c in latest])
        return Insight(rows=to_rows(latest, self.n), fitness=values)

    def _taken(self, generation: int, insight: Insight) -> Look:
        best = (-insight.fitness).argsort(kind="stable")
        if len(best) > self._most:  # the best, the worst, and some evenly between them
            best = best[np.linspace(0, len(best) - 1, self._most).astype(np.intp)]
        share = insight.rows.mean(axis=0, dtype=np.float64) if len(insight.rows) else np.full(self.n, 0.5)
        curve = insight.curve
        if curve is not None and len(curve.epochs) > _MOST_MEASUREMENTS:
            chosen = np.linspace(0, len(curve.epochs) - 1, _MOST_MEASUREMENTS).astype(np.intp)
            curve = TrainingCurve(curve.epochs[chosen], curve.errors[chosen])
        ones, rows = np.rint(_FULL * share).astype(np.uint8), np.packbits(insight.rows[best], axis=1)
        return Look(generation, ones, rows, insight.fitness[best], curve)


def _around(archive: Archive, values: Fitness, x: Bits) -> tuple[Fitness, Fitness]:
    """Return what is known around a candidate, shape (n,): both are nan where nothing is known.

    The first are the values of the candidates that differ in one variable alone, shape (n,). The second are the best
    values of any candidates that differ in it.
    """
    n, (center,) = archive.n, to_candidates(x[None])
    flips = np.array([archive.values.get(center ^ (1 << i), np.nan) for i in range(n)])
    others, missing = np.full(n, np.nan), np.ones(n, np.bool_)
    ranked = np.argsort(-values, kind="stable")
    start, step = 0, 256
    while start < len(ranked) and missing.any():  # the best first: most variables are found soon
        piece = ranked[start : start + step]
        differs = archive.rows(piece) != x
        found = differs.any(axis=0) & missing
        others[found] = values[piece[np.argmax(differs[:, found], axis=0)]]
        missing &= ~found
        start, step = start + step, min(2 * step, 2**16)
    return np.where(is_feasible(flips), flips, np.nan), np.where(is_feasible(others), others, np.nan)


def _top(archive: Archive, values: Fitness) -> tuple[Bits, Fitness]:
    """Return the best candidates, the best first; equal ones in the order of arrival."""
    chosen = np.flatnonzero(is_feasible(values))
    if len(chosen) > MOST_TOP:
        least = np.partition(values[chosen], -MOST_TOP)[-MOST_TOP]
        chosen = chosen[values[chosen] >= least]
    chosen = chosen[np.argsort(-values[chosen], kind="stable")][:MOST_TOP]
    return archive.rows(chosen), values[chosen]


def _sample(archive: Archive, values: Fitness, most: int) -> tuple[Bits, Fitness]:
    """Return at most so many candidates: stretches that arrived one after the other, from all of the run."""
    count = len(values)
    places = np.arange(min(count, most))
    if count > most:
        length = max(1, most // _PARTS)
        starts = np.linspace(0, count - length, max(1, most // length)).astype(np.int64)
        places = np.unique((starts[:, None] + np.arange(length)).ravel())
    places = places[is_feasible(values[places])]
    return archive.rows(places), values[places]


def _curves(looks: list[Look]) -> tuple[Curve, ...]:
    """Return the training of some generations, spread evenly over the run, the first and the last included."""
    trained = [(look.generation, look.curve) for look in looks if look.curve is not None]
    if not trained:
        return ()
    chosen = np.unique(np.linspace(0, len(trained) - 1, min(_MOST_CURVES, len(trained))).astype(np.intp))
    return tuple(
        Curve(generation=generation, epochs=curve.epochs, errors=curve.errors)
        for generation, curve in (trained[i] for i in chosen)
    )
