"""Looks at a search now and then, so that its result can show how it went: see `Trace`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.models.base import TrainingCurve
from daedal.searches.algorithm import MOST_LINKED, Insight, information
from daedal.types import LARGEST_COUNT, Fitness

MOST_LOOKS = 128
"""Looks that are kept; then every other one goes, and those to come are half as frequent."""

_MOST_ROWS = 100  # of a look
_MOST_BITS = 2**18  # in them
_MOST_MEASUREMENTS = 200  # of a training
_FULL = 255  # a share of one, as a byte
_LONGEST_SOURCE = 200  # letters


class Look(NamedTuple):
    """What was seen in one generation."""

    generation: int
    ones: NDArray[np.uint8]  # share of ones of each variable, of 255
    rows: NDArray[np.uint8]  # packed bits of some rows, best first
    fitness: Fitness  # theirs
    curve: TrainingCurve | None


class Tracer:
    """Looks at the population of a search over n variables.

    What it keeps depends on the rows told alone, and is bounded: the shares of ones and some rows for each look, and
    one matrix of pairs.

    Attributes
    ----------
    active
        Whether it looks at all.
    looks
        The looks so far, the first generation first.
    linkage
        Sum of what the search said of pairs, shape (n, n); None where it said nothing.
    source
        Where that was read off.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.active = True
        self.stride = 1
        self.looks: list[Look] = []
        self.linkage: NDArray[np.float32] | None = None
        self.source = ""
        self._most = max(1, min(_MOST_ROWS, _MOST_BITS // n))

    def look(self, generation: int, engine: Engine) -> None:
        """Look at the search after a generation, if it is due."""
        if generation % self.stride or generation > LARGEST_COUNT or not self.active:
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
        if not self.active:
            return
        insight = self._insight(engine)
        if self.looks and self.looks[-1].generation < generation <= LARGEST_COUNT:
            self.looks.append(self._taken(generation, insight))
        if self.linkage is None and insight.source and len(insight.rows) > 2 and self.n <= MOST_LINKED:
            self.linkage, self.source = information(insight.rows).astype(np.float32), insight.source

    def _insight(self, engine: Engine) -> Insight:
        """Ask the search; show the latest candidates of one that has no population."""
        shown = engine.insight()
        if shown is not None and len(shown.rows):
            return shown
        latest = engine.archive.order[-self._most :]
        values = np.array([engine.archive[c] for c in latest])
        return Insight(rows=to_rows(latest, self.n), fitness=values)

    def _taken(self, generation: int, insight: Insight) -> Look:
        best = np.argsort(-insight.fitness, kind="stable")
        if len(best) > self._most:  # best, worst, and what is evenly between them
            best = best[np.linspace(0, len(best) - 1, self._most).astype(np.intp)]
        share = insight.rows.mean(axis=0, dtype=np.float64) if len(insight.rows) else np.full(self.n, 0.5)
        return Look(
            generation,
            np.rint(_FULL * share).astype(np.uint8),
            np.packbits(insight.rows[best], axis=1),
            insight.fitness[best],
            _thinned(insight.curve),
        )


def shares(look: Look) -> NDArray[np.float32]:
    """Return the share of ones of each variable, shape (n,)."""
    return look.ones.astype(np.float32) / np.float32(_FULL)


def _thinned(curve: TrainingCurve | None) -> TrainingCurve | None:
    """Return a curve with no more points than one can see."""
    if curve is None or len(curve.epochs) <= _MOST_MEASUREMENTS:
        return curve
    chosen = np.linspace(0, len(curve.epochs) - 1, _MOST_MEASUREMENTS).astype(np.intp)
    return TrainingCurve(curve.epochs[chosen], curve.errors[chosen])
