"""Puts together what a run shows of itself: its looks, and what its memory says, in the objective's order and sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.seen_rows import SeenRows
from daedal.result.trace import Curve, Trace
from daedal.run.tracer import Look, shares
from daedal.types import Bits, Fitness

MOST_TOP = 100
"""Best rows that are kept."""

MOST_SEEN = 8000
"""Rows that are kept of all that were evaluated: from so many a model finds what acts together."""

_MOST_SEEN_BITS = 2**25  # in them
_MOST_CURVES = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The best solution as the optimizer has it: x, shape (n,), and its fitness, to be maximised."""

    x: Bits
    fitness: float


def trace_of(
    looks: list[Look],
    *,
    linkage: NDArray[np.float32] | None,
    source: str,
    seen: SeenRows | None,
    found: Found,
    order: NDArray[np.intp] | None,
    sign: int,
) -> Trace:
    """Put a trace together; `order`, shape (n,), says where each variable of the objective stands in the optimizer."""
    n = len(found.x)
    places = np.arange(n) if order is None else order
    rows = [np.unpackbits(look.rows, axis=1, count=n)[:, places] for look in looks]
    counts = [len(part) for part in rows]
    flips, others = (np.full(n, np.nan),) * 2 if seen is None else seen.around(found.x)
    top, top_fitness = found.x[None], np.array([found.fitness])
    sample, sample_fitness = np.empty((0, n), np.uint8), np.empty(0)
    if seen is not None:
        top, top_fitness = seen.best(MOST_TOP)
        sample, sample_fitness = seen.sample(min(MOST_SEEN, max(1, _MOST_SEEN_BITS // n)))
    return Trace(
        generations=np.array([look.generation for look in looks], np.int64),
        ones=np.array([shares(look)[places] for look in looks], np.float32).reshape(-1, n),
        rows=np.concatenate([np.empty((0, n), np.uint8), *rows]),
        fitness=_signed([np.empty(0), *(look.fitness for look in looks)], sign),
        look=np.repeat(np.arange(len(looks)), counts),
        linkage=None if linkage is None else linkage[np.ix_(places, places)],
        source=source,
        curves=_curves(looks),
        top=top[:, places],
        top_fitness=_signed([top_fitness], sign),
        flips=sign * (flips - found.fitness)[places],
        others=sign * others[places],
        seen=sample[:, places],
        seen_fitness=_signed([sample_fitness], sign),
    )


def _signed(parts: list[Fitness], sign: int) -> Fitness:
    return sign * np.concatenate(parts)


def _curves(looks: list[Look]) -> tuple[Curve, ...]:
    """Give the training of some generations, evenly spread over the run, the first and the last among them."""
    trained = [(look.generation, look.curve) for look in looks if look.curve is not None]
    if not trained:
        return ()
    chosen = np.unique(np.linspace(0, len(trained) - 1, min(_MOST_CURVES, len(trained))).astype(np.intp))
    return tuple(
        Curve(generation=generation, epochs=curve.epochs, errors=curve.errors)
        for generation, curve in (trained[i] for i in chosen)
    )
