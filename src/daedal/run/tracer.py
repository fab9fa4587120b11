"""Looks at a search now and then, so that its result can show how it went: see `Trace`."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import TrainingCurve
from daedal.optimizers.base import BaseOptimizer, Optimizer
from daedal.optimizers.insight import MOST_LINKED, Insight
from daedal.types import LARGEST_COUNT, Bits, Fitness, Json, State, StateError

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
    """Looks at the population of an optimizer of n variables.

    What it keeps depends on the rows told alone, and is bounded: the shares of ones and some rows for each look, and
    one matrix of pairs.

    Attributes
    ----------
    active
        Whether it looks at all.
    looks
        The looks so far, the first generation first.
    linkage
        Sum of what the optimizer said of pairs, shape (n, n); None where it said nothing.
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
        self._tried = deque[tuple[Bits, Fitness]](maxlen=self._most)  # batches: the last rows of all are looked at

    def hear(self, rows: Bits, fitness: Fitness) -> None:
        """Take notice of the rows of a batch: who has no population is known by what it tries."""
        if self.active:
            self._tried.append((rows[-self._most :].copy(), fitness[-self._most :].copy()))

    def look(self, generation: int, optimizer: Optimizer) -> None:
        """Look at the optimizer after a generation, if it is time."""
        if generation % self.stride or generation > LARGEST_COUNT or not self.active:
            return
        insight = self._insight(optimizer)
        self.looks.append(self._taken(generation, insight))
        if insight.linkage is not None and insight.linkage.shape == (self.n, self.n):
            total = np.zeros((self.n, self.n), np.float32) if self.linkage is None else self.linkage
            self.linkage, self.source = total + insight.linkage.astype(np.float32), insight.source[:_LONGEST_SOURCE]
        if len(self.looks) > MOST_LOOKS:
            self.stride *= 2
            self.looks = [one for one in self.looks if one.generation % self.stride == 0]

    def last(self, generation: int, optimizer: Optimizer) -> list[Look]:
        """Give the looks, and one at how things stand now, where there is none of this generation."""
        if not self.looks or not self.looks[-1].generation < generation <= LARGEST_COUNT:
            return self.looks
        return [*self.looks, self._taken(generation, self._insight(optimizer))]

    def _insight(self, optimizer: Optimizer) -> Insight:
        """Ask the optimizer; show what it tried where it has nothing to show."""
        shown = optimizer.insight() if isinstance(optimizer, BaseOptimizer) else None
        if shown is None or not len(shown.rows):
            return self._last_tried()
        return shown

    def _last_tried(self) -> Insight:
        rows = np.concatenate([np.empty((0, self.n), np.uint8), *(rows for rows, _ in self._tried)])
        fitness = np.concatenate([np.empty(0), *(fitness for _, fitness in self._tried)])
        return Insight(rows=rows[-self._most :], fitness=fitness[-self._most :])

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

    def state(self, generation: int, optimizer: Optimizer) -> State:
        """Give the looks, the last of them of how things stand now, and where it stands itself."""
        looks = self.last(generation, optimizer)
        arrays = looks_to_arrays(looks, self.n)
        tried = self._last_tried()
        arrays |= {"tried": np.packbits(tried.rows, axis=1), "tried_fitness": tried.fitness}
        if self.linkage is not None:
            arrays["linkage"] = self.linkage
        fields: dict[str, Json] = {"stride": self.stride, "source": self.source, "kept": len(self.looks)}
        return State(arrays=arrays, fields=fields)

    def restore(self, state: State) -> None:
        """Go on where another one stood."""
        self.stride, self.source = max(1, state.whole("stride")), state.text("source")[:_LONGEST_SOURCE]
        self.looks = looks_from_state(state, self.n)[: state.whole("kept")]
        self.linkage = linkage_from_state(state, self.n)
        self._tried.clear()
        self._tried.append((_rows(state, "tried", self.n), state.numbers("tried_fitness", like="tried")))


def shares(look: Look) -> NDArray[np.float32]:
    """Give the share of ones of each variable, shape (n,)."""
    return look.ones.astype(np.float32) / np.float32(_FULL)


def looks_to_arrays(looks: list[Look], n: int) -> dict[str, NDArray[Any]]:
    """Give looks as plain arrays."""
    width = -(-n // 8)
    curves = [look.curve or TrainingCurve(np.empty(0, np.int64), np.empty(0)) for look in looks]
    return {
        "generations": np.array([look.generation for look in looks], np.int64),
        "ones": np.array([look.ones for look in looks], np.uint8).reshape(-1, n),
        "rows": np.concatenate([np.empty((0, width), np.uint8), *(look.rows for look in looks)]),
        "fitness": np.concatenate([np.empty(0), *(look.fitness for look in looks)]),
        "counts": np.array([[len(look.rows), len(c.epochs)] for look, c in zip(looks, curves, strict=True)], np.int64)
        .reshape(-1, 2),
        "epochs": np.concatenate([np.empty(0, np.int64), *(curve.epochs for curve in curves)]),
        "errors": np.concatenate([np.empty(0), *(curve.errors for curve in curves)]),
    }  # fmt: skip


def looks_from_state(state: State, n: int) -> list[Look]:
    """Make looks again; the arrays come from a file, and are checked."""
    generations = state.wholes("generations", shape=(-1,), least=0, most=LARGEST_COUNT)
    counts = state.wholes("counts", shape=(len(generations), 2), least=0, most=2**31)
    ones, rows, errors = state.array("ones"), state.array("rows"), state.array("errors")
    fitness = state.numbers("fitness", like="rows")
    epochs = state.wholes("epochs", shape=(len(errors),), least=0, most=LARGEST_COUNT)
    fits = (
        ones.shape == (len(generations), n)
        and rows.shape == (counts[:, 0].sum(), -(-n // 8))
        and errors.shape == (counts[:, 1].sum(),)
        and ones.dtype == rows.dtype == np.uint8
        and errors.dtype == np.float64
        and bool((np.diff(generations) > 0).all())
        and len(generations) <= MOST_LOOKS + 1
    )
    if not fits:
        raise StateError("expected looks at a population that fit together, got some that no run has taken")
    at = np.concatenate([[[0, 0]], np.cumsum(counts, axis=0)])
    return [
        Look(
            int(generation),
            ones[i],
            rows[at[i, 0] : at[i + 1, 0]],
            fitness[at[i, 0] : at[i + 1, 0]],
            TrainingCurve(epochs[part], errors[part]) if counts[i, 1] else None,
        )
        for i, generation in enumerate(generations)
        for part in [slice(at[i, 1], at[i + 1, 1])]
    ]


def linkage_from_state(state: State, n: int) -> NDArray[np.float32] | None:
    """Give the matrix of pairs, checked, or None where there is none."""
    if "linkage" not in state.arrays:
        return None
    linkage = state.array("linkage")
    if linkage.shape != (n, n) or linkage.dtype != np.float32 or n > MOST_LINKED or not np.isfinite(linkage).all():
        raise StateError(f"expected numbers for all pairs of {n} variables, got shape={linkage.shape}")
    return linkage


def _rows(state: State, name: str, n: int) -> Bits:
    packed = state.array(name)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n // 8):
        raise StateError(f"expected packed rows of {n} bits as {name}, got shape={packed.shape}")
    return np.unpackbits(packed, axis=1, count=n)


def _thinned(curve: TrainingCurve | None) -> TrainingCurve | None:
    """Give a curve with no more points than anybody can see."""
    if curve is None or len(curve.epochs) <= _MOST_MEASUREMENTS:
        return curve
    chosen = np.linspace(0, len(curve.epochs) - 1, _MOST_MEASUREMENTS).astype(np.intp)
    return TrainingCurve(curve.epochs[chosen], curve.errors[chosen])
