"""The score of a subset of features: that of a model that is cross-validated on them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

FEATURES = "features"
"""The one variable of the space that is searched."""

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows to fit and the rows to score."""


@dataclass(frozen=True)
class SubsetScore:
    """Gives the mean score over folds that are the same for every subset, so that a subset has one value.

    Where a fit or its score fails, the score of the fold is `error_score` if that is a number; otherwise the error goes
    on to the run, which knows what to do with it.
    """

    estimator: Any
    data: Any  # shape (samples, features), an array or a sparse matrix
    target: Any  # shape (samples,) or (samples, targets), or None
    folds: Sequence[Fold]
    scorer: Callable[..., float]
    error_score: float | str

    def __call__(self, value: dict[str, list[int]]) -> float:
        """Give the score of one subset, as the space has it: the numbers of its features."""
        chosen = self.data[:, value[FEATURES]]
        return float(np.mean([self._score(chosen, *fold) for fold in self.folds]))

    def _score(self, chosen: Any, fitted: NDArray[np.intp], scored: NDArray[np.intp]) -> float:
        try:
            model = clone(self.estimator).fit(chosen[fitted], *self._targets(fitted))
            return self.scorer(model, chosen[scored], *self._targets(scored))
        except Exception:
            if isinstance(self.error_score, str) or np.isnan(self.error_score):
                raise
            return float(self.error_score)

    def _targets(self, samples: NDArray[np.intp]) -> list[Any]:
        return [] if self.target is None else [self.target[samples]]


def fixed_folds(cv: Any, data: Any, target: Any, *, classes: bool, seed: int) -> list[Fold]:
    """Draw the folds, once: a number of folds is shuffled, anything else is taken as it is."""
    splitter = check_cv(cv, target, classifier=classes)
    if cv is None or isinstance(cv, Integral):
        splitter = type(splitter)(splitter.n_splits, shuffle=True, random_state=seed)
    folds: list[Fold] = list(splitter.split(data, target))
    if not folds:
        raise ValueError(f"expected some folds to score subsets with, got none from cv={cv!r}")
    return folds
