"""Search for a subset with few evaluations: a short forward pass, then exchanges that a model proposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_candidates
from daedal.engine import Engine
from daedal.sklearn.neighbours import neighbours
from daedal.sklearn.subset_model import SubsetModel, best_kernel
from daedal.types import Bits, Fitness

BATCH = 8
"""Subsets that are evaluated together, whatever the number of workers, so that the result does not depend on it."""

_WIDTH = 12  # features tried in a step of the forward pass
_SINGLES = 1 / 3  # of the budget, at most, goes into single features
_TOPS = 3  # subsets whose neighbors are looked at
_LEARNED = 400  # subsets that the model learns from: the best ones, since its time grows with their cube
_OLD = 1.3  # how many times as many subsets there are before the kernel is chosen again
_CANDIDATES = 20_000  # neighbors that are looked at


async def subsets(f: Engine, *, at_least: int = 1, at_most: int, relevance: NDArray[np.float64]) -> None:
    """Look for a subset of at_least to at_most features, until every subset has been evaluated.

    The most relevant features come first, together, and every feature alone (as many as a third of the evaluations
    allows). In the forward pass that follows, each step tries the features that gained most when they were last tried.
    Then come neighbors of the best subsets so far, with one feature more, one less, or one replaced: those for which a
    Gaussian process over the scores expects the largest improvement.

    Parameters
    ----------
    f
        The engine.
    at_least, at_most
        Minimum and maximum number of features in a subset.
    relevance
        Estimated score of each feature before any was tried, shape (n,): more is better.

    Examples
    --------
    >>> engine = Engine(20)
    >>> task = engine.start(subsets(engine, at_most=3, relevance=np.zeros(20)))
    >>> while len(engine.archive) < 60:
    ...     asked = engine.ask()
    ...     engine.tell(asked, [float(sum(i for i in range(20) if c >> i & 1)) for c in asked])
    >>> engine.best == 1 << 17 | 1 << 18 | 1 << 19
    True
    """
    rows = _first(f, at_least, at_most, relevance)
    scores = await f(rows)
    gains = np.full(f.n, -np.inf)  # of features, when they were last tried
    if at_least == 1:
        is_single = rows.sum(axis=1) == 1
        await _forward_pass(f, rows[is_single], scores[is_single], gains, at_most, relevance)
    kernel, chosen_for = None, 0  # the number of subsets that the kernel was chosen for
    near_of = partial(neighbours, at_least=at_least, at_most=at_most)
    room = max(1, _CANDIDATES // (_TOPS * (at_most + 1)))
    promising = np.lexsort((-relevance, -gains))[:room]
    while True:
        values = np.array(list(f.archive.values.values()))
        ranked = np.argsort(-values, kind="stable")
        candidates = _unseen(f, ranked, promising, near_of)
        if not len(candidates):
            return
        learned = np.sort(ranked[:_LEARNED])
        rows, scores = f.archive.rows(learned), _finite(values[learned])
        if kernel is None or len(values) >= _OLD * chosen_for:
            kernel, chosen_for = best_kernel(rows, scores, at_most), len(values)
        improvements = SubsetModel.fitted(rows, scores, kernel).improvements(candidates, float(scores.max()))
        await f(candidates[np.argsort(-improvements, kind="stable")[:BATCH]])


def _first(f: Engine, at_least: int, at_most: int, relevance: NDArray[np.float64]) -> Bits:
    """Return the most relevant features, and single features if these are allowed."""
    ranked = np.argsort(-relevance, kind="stable")
    sizes = dict.fromkeys([at_most, max(at_least, at_most // 2)])
    groups = [ranked[:size] for size in sizes]
    if at_least == 1:
        count = f.n if f.left is None else min(f.n, max(1, int(_SINGLES * f.left)))
        groups += [ranked[at : at + 1] for at in range(count)]
    rows = np.zeros((len(groups), f.n), np.uint8)
    for row, group in zip(rows, groups, strict=True):
        row[group] = 1
    return rows


async def _forward_pass(
    f: Engine, rows: Bits, scores: Fitness, gains: Fitness, at_most: int, relevance: NDArray[np.float64]
) -> None:
    """Begin with the best of single features, shape (rows, n), and add one feature after the other; note the gains."""
    gains[np.argmax(rows, axis=1)] = scores
    for _ in range(1, at_most):
        path, score = rows[np.argmax(scores)], scores.max()
        others = np.flatnonzero(path == 0)
        tried = others[np.lexsort((-relevance[others], -gains[others]))][:_WIDTH]
        rows = np.repeat(path[None], len(tried), axis=0)
        rows[np.arange(len(tried)), tried] = 1
        scores = await f(rows)
        gains[tried] = scores - score if np.isfinite(score) else scores


def _unseen(f: Engine, ranked: NDArray[np.intp], promising: NDArray[np.intp], near_of: Callable[..., Bits]) -> Bits:
    """Return neighbors that are new: of the best subsets, or else of the first that has any."""
    tops = f.archive.rows(ranked[:_TOPS])
    near = _new(f, np.unique(np.concatenate([near_of(row, features=promising) for row in tops]), axis=0))
    for at in range(len(ranked)):
        if len(near):
            break
        near = _new(f, near_of(f.archive.rows(ranked[at : at + 1])[0]))
    return near


def _new(f: Engine, rows: Bits) -> Bits:
    return rows[[candidate not in f.archive for candidate in to_candidates(rows)]]


def _finite(values: Fitness) -> Fitness:
    """Replace infinite scores by the worst of the others."""
    known = np.isfinite(values)
    return np.where(known, values, values[known].min() if known.any() else 0.0)
