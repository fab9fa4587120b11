"""A Gaussian process over subsets: what subsets that were not tried are expected to score, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from daedal.types import Bits

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """How alike the scores of two subsets are: features count by themselves, and near subsets score alike.

    Attributes
    ----------
    additive
        Variance of what the features are worth by themselves, where `members` of them are chosen; the rest has 1.
    reach
        By how many features subsets differ that are alike in the rest, to a share of 1/e.
    noise
        Variance of what goes with nothing.
    members
        The largest number of features.
    """

    additive: float
    reach: float
    noise: float
    members: int

    def __call__(self, left: Bits, right: Bits) -> Floats:
        """Give the covariances, without the noise, of some subsets and others, shape (left, right)."""
        common = left.astype(np.float64) @ right.astype(np.float64).T
        differing = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :] - 2 * common
        covariances: Floats = self.additive / self.members * common + np.exp(-differing / self.reach)
        return covariances

    def variances(self, rows: Bits) -> Floats:
        """Give the variances, without the noise, shape (rows,)."""
        variances: Floats = self.additive / self.members * rows.sum(axis=1) + 1.0
        return variances


def candidates(members: int) -> list[Kernel]:
    """Give the kernels that `fitted` chooses from."""
    grid = product((0.3, 3.0), (4.0, 12.0, 36.0), (1e-3, 1e-2, 1e-1))
    return [Kernel(additive, reach, noise, members) for additive, reach, noise in grid]


@dataclass(frozen=True)
class SubsetModel:
    """A Gaussian process that was given scores, as `fitted` makes it."""

    kernel: Kernel
    rows: Bits
    factor: Floats  # lower triangle: the Cholesky factor of the covariances of the rows
    weights: Floats  # factor^-1 times the standardised scores
    mean: float
    deviation: float

    @classmethod
    def fitted(cls, rows: Bits, scores: Floats, kernel: Kernel) -> SubsetModel:
        """Take the scores, shape (rows,), of subsets, shape (rows, features)."""
        mean, deviation = float(scores.mean()), float(scores.std()) or 1.0
        covariances = kernel(rows, rows)
        covariances[np.diag_indices(len(rows))] += kernel.noise
        factor: Floats = np.linalg.cholesky(covariances).astype(np.float64, copy=False)
        weights = solve_triangular(factor, (scores - mean) / deviation, lower=True)
        return cls(kernel, rows, factor, weights, mean, deviation)

    @property
    def evidence(self) -> float:
        """The logarithm of the likelihood of the scores, with the best scale, up to a constant."""
        count = len(self.rows)
        return float(-0.5 * count * math.log(self._scale) - np.log(np.diag(self.factor)).sum())

    @property
    def _scale(self) -> float:
        return float(self.weights @ self.weights) / len(self.rows) + 1e-12

    def improvements(self, rows: Bits, best: float) -> Floats:
        """Give by how much each of some subsets is expected to be better than the best, losses not counted."""
        solved = solve_triangular(self.factor, self.kernel(self.rows, rows), lower=True)
        means = self.mean + self.deviation * (solved.T @ self.weights)
        variances = np.maximum(self.kernel.variances(rows) - (solved * solved).sum(axis=0), 1e-12)
        deviations = self.deviation * np.sqrt(variances * self._scale)
        ratio = (means - best) / deviations
        density = np.exp(-0.5 * ratio * ratio) / math.sqrt(2 * math.pi)
        improvements: Floats = deviations * (ratio * ndtr(ratio) + density)
        return improvements


def best_kernel(rows: Bits, scores: Floats, members: int) -> Kernel:
    """Give the kernel under which the scores are most likely."""
    return max(candidates(members), key=lambda kernel: SubsetModel.fitted(rows, scores, kernel).evidence)
