"""The score of a subset of features: that of a model that is cross-validated on them alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv, cross_val_score

FEATURES = "features"
"""The one variable of the space that is searched."""

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows to fit and the rows to score."""


@dataclass(frozen=True)
class SubsetScore:
    """Gives the mean score over folds that are the same for every subset, so that a subset has one value.

    Where a fit fails, the score of its fold is `error_score`; a mean that is nan counts as failed. Warnings that fits
    failed are left out, because the selector gives one for all of them.
    """

    estimator: Any
    data: Any  # shape (samples, features), an array or a sparse matrix
    target: Any
    folds: Sequence[Fold]
    scoring: str | Callable[..., float] | None
    error_score: float | str

    def __call__(self, value: dict[str, list[int]]) -> float:
        """Give the score of one subset, as the space has it: the numbers of its features."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitFailedWarning)
            scores = cross_val_score(
                clone(self.estimator),
                self.data[:, value[FEATURES]],
                self.target,
                scoring=self.scoring,
                cv=self.folds,
                error_score=self.error_score,
            )
        return float(np.mean(scores))


def fixed_folds(cv: Any, data: Any, target: Any, *, classes: bool, seed: int) -> list[Fold]:
    """Draw the folds, once: a number of folds is shuffled, anything else is taken as it is."""
    splitter = check_cv(cv, target, classifier=classes)
    if cv is None or isinstance(cv, Integral):
        splitter = type(splitter)(splitter.n_splits, shuffle=True, random_state=seed)
    folds: list[Fold] = list(splitter.split(data, target))
    if not folds:
        raise ValueError(f"expected some folds to score subsets with, got none from cv={cv!r}")
    return folds
