"""Puts together what a result shows of its search: the looks at it, and what the archive says of the problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.archive import Archive, to_candidates, to_rows
from daedal.result.trace import Curve, Trace
from daedal.run.tracer import Look, Tracer, shares
from daedal.types import Bits, Fitness, is_feasible

MOST_TOP = 100
"""Best candidates that are kept."""

MOST_SEEN = 8000
"""Candidates that are kept of all that were evaluated: enough for a model that finds interactions."""

_MOST_SEEN_BITS = 2**25  # in them
_MOST_CURVES = 8
_PARTS = 8  # of a sample: candidates that came one after the other are often changes of each other


class Around(NamedTuple):
    """What is known around a candidate, both shape (n,), to be maximized, nan where nothing is."""

    flips: Fitness  # values of the candidates that differ in one variable alone
    others: Fitness  # the best value of any candidate that differs in it


def trace_of(
    tracer: Tracer, archive: Archive | None, *, best: Bits, value: float, order: NDArray[np.intp] | None, sign: int
) -> Trace:
    """Put a trace together.

    Parameters
    ----------
    tracer
        Has the looks at the search.
    archive
        All evaluated candidates; None if their values are noisy.
    best, value
        The best candidate, shape (n,), and its value, to be maximized, in the engine's order of variables.
    order
        Where each variable of the objective stands in the engine's, shape (n,); None: at its own place.
    sign
        1 if larger values are better, -1 if smaller ones are.
    """
    n, looks = len(best), tracer.looks
    places = np.arange(n) if order is None else order
    rows = [np.unpackbits(look.rows, axis=1, count=n)[:, places] for look in looks]
    counts = [len(part) for part in rows]
    flips, others = np.full(n, np.nan), np.full(n, np.nan)
    top, top_values = best[None], np.array([value])
    sample, sample_values = np.empty((0, n), np.uint8), np.empty(0)
    if archive is not None and len(archive):
        values = np.array([archive[c] for c in archive.order])
        flips, others = around(archive, values, best)
        top, top_values = _top(archive, values)
        sample, sample_values = _sample(archive, values, min(MOST_SEEN, max(1, _MOST_SEEN_BITS // n)))
    return Trace(
        generations=np.array([look.generation for look in looks], np.int64),
        ones=np.array([shares(look)[places] for look in looks], np.float32).reshape(-1, n),
        rows=np.concatenate([np.empty((0, n), np.uint8), *rows]),
        fitness=sign * np.concatenate([np.empty(0), *(look.fitness for look in looks)]),
        look=np.repeat(np.arange(len(looks)), counts),
        linkage=None if tracer.linkage is None else tracer.linkage[np.ix_(places, places)],
        source=tracer.source,
        curves=_curves(looks),
        top=top[:, places],
        top_fitness=sign * top_values,
        flips=sign * (flips - value)[places],
        others=sign * others[places],
        seen=sample[:, places],
        seen_fitness=sign * sample_values,
    )


def around(archive: Archive, values: Fitness, x: Bits) -> Around:
    """Return what is known around a candidate, shape (n,)."""
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
    return Around(np.where(is_feasible(flips), flips, np.nan), np.where(is_feasible(others), others, np.nan))


def _top(archive: Archive, values: Fitness) -> tuple[Bits, Fitness]:
    """Return the best candidates, the best first, of equal ones the first to arrive."""
    chosen = np.flatnonzero(is_feasible(values))
    if len(chosen) > MOST_TOP:
        least = np.partition(values[chosen], -MOST_TOP)[-MOST_TOP]
        chosen = chosen[values[chosen] >= least]
    chosen = chosen[np.argsort(-values[chosen], kind="stable")][:MOST_TOP]
    return archive.rows(chosen), values[chosen]


def _sample(archive: Archive, values: Fitness, most: int) -> tuple[Bits, Fitness]:
    """Return a limited number of candidates: stretches that came one after the other, from all of the run."""
    count = len(values)
    places = np.arange(min(count, most))
    if count > most:
        length = max(1, most // _PARTS)
        starts = np.linspace(0, count - length, max(1, most // length)).astype(np.int64)
        places = np.unique((starts[:, None] + np.arange(length)).ravel())
    places = places[is_feasible(values[places])]
    return to_rows([archive.order[at] for at in places], archive.n), values[places]


def _curves(looks: list[Look]) -> tuple[Curve, ...]:
    """Return the training of some generations, evenly spread over the run, the first and the last among them."""
    trained = [(look.generation, look.curve) for look in looks if look.curve is not None]
    if not trained:
        return ()
    chosen = np.unique(np.linspace(0, len(trained) - 1, min(_MOST_CURVES, len(trained))).astype(np.intp))
    return tuple(
        Curve(generation=generation, epochs=curve.epochs, errors=curve.errors)
        for generation, curve in (trained[i] for i in chosen)
    )
