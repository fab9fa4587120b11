"""Search for a feature subset with few evaluations: a short forward pass, then exchanges that a model proposes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from daedal.archive import to_candidates
from daedal.engine import Engine
from daedal.types import Bits, Fitness

BATCH = 8
"""Subsets that are evaluated together, whatever the number of workers, so that the result does not depend on it."""

_WIDTH = 12  # features tried in a step of the forward pass
_SINGLES = 1 / 3  # largest share of the budget that goes into single features
_TOPS = 3  # subsets whose neighbors are considered
_LEARNED = 400  # subsets that the model learns from: the best ones, because its time grows with their cube
_OLD = 1.3  # growth of the number of subsets after which the kernel is chosen again
_CANDIDATES = 20_000  # neighbors that are considered

Floats = NDArray[np.float64]


async def subsets(f: Engine, *, at_least: int = 1, at_most: int, relevance: Floats) -> None:
    """Search for a subset of at_least to at_most features, until every subset has been evaluated.

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
    near_of = partial(neighbors, at_least=at_least, at_most=at_most)
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


def _first(f: Engine, at_least: int, at_most: int, relevance: Floats) -> Bits:
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
    f: Engine, rows: Bits, scores: Fitness, gains: Fitness, at_most: int, relevance: Floats
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


def neighbors(row: Bits, *, at_least: int, at_most: int, features: NDArray[np.intp] | None = None) -> Bits:
    """Return the subsets with one feature more, one less, or one replaced, shape (rows, n).

    Parameters
    ----------
    row
        The subset, shape (n,).
    at_least, at_most
        Minimum and maximum number of features in a neighbor.
    features
        Features that may be added. Default: all.

    Examples
    --------
    >>> neighbors(np.array([1, 0, 0], np.uint8), at_least=1, at_most=1)
    array([[0, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    members = np.flatnonzero(row)
    others = np.flatnonzero(row == 0) if features is None else features[row[features] == 0]
    flips = []
    if len(members) < at_most:
        flips.append(np.stack([others, others], axis=1))
    if len(members) > at_least:
        flips.append(np.stack([members, members], axis=1))
    flips.append(np.stack(np.meshgrid(members, others, indexing="ij"), axis=-1).reshape(-1, 2))
    pairs = np.concatenate(flips)
    rows = np.repeat(row[None], len(pairs), axis=0)
    for column in pairs.T:
        rows[np.arange(len(pairs)), column] = 1 - row[column]
    return rows


@dataclass(frozen=True)
class Kernel:
    """Covariance of the scores of two subsets: features contribute alone, and similar subsets have similar scores.

    Attributes
    ----------
    additive
        Variance of the contributions of single features in a subset of `members`; the rest has variance 1.
    reach
        Number of differing features at which the covariance of the rest has fallen to 1/e.
    noise
        Variance of the noise.
    members
        The largest number of features.
    """

    additive: float
    reach: float
    noise: float
    members: int

    def __call__(self, left: Bits, right: Bits) -> Floats:
        """Return the covariances, without the noise, of subsets and others, shape (left, right)."""
        common = left.astype(np.float64) @ right.astype(np.float64).T
        differing = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - 2 * common
        covariances: Floats = self.additive / self.members * common + np.exp(-differing / self.reach)
        return covariances

    def variances(self, rows: Bits) -> Floats:
        """Return the variances, without the noise, shape (rows,)."""
        variances: Floats = self.additive / self.members * rows.sum(axis=1) + 1.0
        return variances


@dataclass(frozen=True)
class SubsetModel:
    """Gaussian process over subsets, fitted to scores."""

    kernel: Kernel
    rows: Bits
    factor: Floats  # lower triangle: the Cholesky factor of the covariances of the rows
    weights: Floats  # factor^-1 times the standardized scores
    mean: float
    deviation: float

    @classmethod
    def fitted(cls, rows: Bits, scores: Floats, kernel: Kernel) -> SubsetModel:
        """Return the model of scores, shape (rows,), of subsets, shape (rows, features)."""
        mean, deviation = float(scores.mean()), float(scores.std()) or 1.0
        covariances = kernel(rows, rows)
        covariances[np.diag_indices(len(rows))] += kernel.noise
        factor: Floats = np.linalg.cholesky(covariances).astype(np.float64, copy=False)
        weights = solve_triangular(factor, (scores - mean) / deviation, lower=True)
        return cls(kernel, rows, factor, weights, mean, deviation)

    @property
    def evidence(self) -> float:
        """Log-likelihood of the scores under the best scale, up to a constant."""
        count = len(self.rows)
        return float(-0.5 * count * math.log(self._scale) - np.log(np.diag(self.factor)).sum())

    @property
    def _scale(self) -> float:
        return float(self.weights @ self.weights) / len(self.rows) + 1e-12

    def improvements(self, rows: Bits, best: float) -> Floats:
        """Return the expected improvement of subsets over the best score, shape (rows,)."""
        solved = solve_triangular(self.factor, self.kernel(self.rows, rows), lower=True)
        means = self.mean + self.deviation * (solved.T @ self.weights)
        variances = np.maximum(self.kernel.variances(rows) - (solved * solved).sum(axis=0), 1e-12)
        deviations = self.deviation * np.sqrt(variances * self._scale)
        ratio = (means - best) / deviations
        density = np.exp(-0.5 * ratio * ratio) / math.sqrt(2 * math.pi)
        improvements: Floats = deviations * (ratio * ndtr(ratio) + density)
        return improvements


def best_kernel(rows: Bits, scores: Floats, members: int) -> Kernel:
    """Return the kernel under which the scores are most likely."""
    grid = product((0.3, 3.0), (4.0, 12.0, 36.0), (1e-3, 1e-2, 1e-1))
    kernels = [Kernel(additive, reach, noise, members) for additive, reach, noise in grid]
    return max(kernels, key=lambda kernel: SubsetModel.fitted(rows, scores, kernel).evidence)
