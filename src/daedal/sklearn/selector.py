"""A scikit-learn selector: the subset of features with the best cross-validated score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

try:
    import sklearn  # noqa: F401  the first of many imports, and the one that says what to do
except ImportError as error:
    raise ImportError('SubsetSelector needs scikit-learn: pip install "daedal[sklearn]"') from error
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from daedal.archive import Archive
from daedal.engine import Engine
from daedal.evaluation.caller import Objective
from daedal.optimize import maximize
from daedal.sklearn.limits import default_evaluations, feature_limits
from daedal.sklearn.relevance import relevance
from daedal.sklearn.scores import FEATURES, SubsetScore, fixed_folds
from daedal.sklearn.search import subsets
from daedal.spaces.items import Subset
from daedal.spaces.space import Space

_BEST = 10  # one in so many subsets counts as one of the best, and so many do at least


class SubsetSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose the features on which a model has the best cross-validated score, at most so many of them.

    Parameters
    ----------
    estimator
        The model; it is cloned, never fitted itself.
    max_features, min_features
        How many features are chosen, at most and at least: a number, or a share of them as a float. None: all, at most.
        No other subset is ever evaluated.
    scoring
        As for `cross_val_score`: a name, a function of (estimator, X, y), or None for the model's own score.
    cv
        A number of folds, which are shuffled (and stratified for a classifier), a splitter, or pairs of rows to fit and
        rows to score. They are drawn once, so that a subset has one score.
    max_evaluations
        How many subsets may be evaluated, each of which takes one fit a fold. None: as many as forward selection needs
        for max_features, k n - k (k - 1) / 2 for k of n features, and at least 100.
    random_state
        For the folds and the search: same number, same result, for any n_jobs.
    n_jobs
        Processes that evaluate subsets side by side; -1 for all processors. None: no other process.
    error_score
        The score of a fold where fitting or scoring fails; with nan, the subset is out, and a `FitFailedWarning` says
        how many are. "raise": an error ends the search.

    Attributes
    ----------
    support_
        Whether each feature is chosen, shape (n_features_in_,).
    n_features_
        How many are.
    score_
        The mean score of the chosen features over the folds. The best of many scores is too good to be true: see
        docs/features.md.
    estimator_
        The model, fitted with the chosen features on all rows.
    n_evaluations_
        Subsets evaluated.
    frequencies_
        Share of the best subsets that have each feature, shape (n_features_in_,): of the best tenth, at least ten.
    ranking_
        1 for the chosen features; the others from 2 on, by their frequency.
    result_
        The run: see `daedal.Result`.
    n_features_in_, feature_names_in_
        As for every scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector(GaussianNB(), max_features=2, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out()
    array(['petal width (cm)'], dtype=object)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_features: int | float | None = 10,
        min_features: int | float = 1,
        scoring: str | Callable[..., float] | None = None,
        cv: int | Iterable[Any] | Any = 5,
        max_evaluations: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        error_score: float | str = np.nan,
    ) -> None:
        self.estimator = estimator
        self.max_features = max_features
        self.min_features = min_features
        self.scoring = scoring
        self.cv = cv
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.error_score = error_score

    def fit(self, X: Any, y: Any = None) -> SubsetSelector:  # noqa: N803  the names that scikit-learn calls it with
        """Choose features.

        Parameters
        ----------
        X
            Shape (samples, features), an array, a data frame or a sparse matrix.
        y
            Targets, shape (samples,), or (samples, targets) where the model takes several; None where it takes none.
        """
        data, target = self._validated(X, y)
        least, most = feature_limits(self.min_features, self.max_features, data.shape[1])
        random = check_random_state(self.random_state)
        fold_seed, seed = (int(number) for number in random.randint(np.iinfo(np.int32).max, size=2))
        folds = fixed_folds(self.cv, data, target, classes=is_classifier(self.estimator), seed=fold_seed)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        score = SubsetScore(clone(self.estimator), data, target, folds, scorer, self.error_score)
        self._search(score, Subset(data.shape[1], at_least=least, at_most=most), seed)
        self.estimator_ = clone(self.estimator).fit(data[:, np.flatnonzero(self.support_)], target)
        return self

    def _again(self) -> str:
        """Write the line that makes the run again; nothing where it would be another run, or is too long to write."""
        line = " ".join(f"{self!r}.fit(X, y)".split())
        return line if isinstance(self.random_state, Integral) and "..." not in line else ""

    def _validated(self, data: Any, target: Any) -> tuple[Any, Any]:
        """Give arrays that scikit-learn has checked, as far as the model wants them so."""
        finite = not get_tags(self).input_tags.allow_nan
        checks = {"accept_sparse": "csc", "ensure_all_finite": finite}
        if target is None and not get_tags(self).target_tags.required:
            return validate_data(self, data, **checks), None
        data, target = validate_data(self, data, target, multi_output=True, **checks)
        if is_classifier(self.estimator):
            check_classification_targets(target)
        return data, target

    def _search(self, score: SubsetScore, subset: Subset, seed: int) -> None:
        """Look for the best subset, and keep what was found."""
        worth = relevance(score.data, score.target, classes=is_classifier(self.estimator))
        archives: list[Archive] = []

        async def subset_search(f: Engine) -> None:
            archives.append(f.archive)
            await subsets(f, at_least=subset.at_least, at_most=subset.at_most, relevance=worth)

        wanted = self.max_evaluations
        found = maximize(
            cast("Objective", score),  # a function of values by name
            Space({FEATURES: subset}),
            vectorized=False,
            algorithm=subset_search,
            max_evaluations=default_evaluations(subset.count, subset.at_most) if wanted is None else wanted,
            seed=seed,
            workers=effective_n_jobs(self.n_jobs),
            on_error="raise" if self.error_score == "raise" else "worst",
        )
        names = getattr(self, "feature_names_in_", None)
        self.result_ = replace(found, again=self._again(), names=None if names is None else tuple(map(str, names)))
        self._warn_of_failures()
        self.support_ = self.result_.mask
        self.n_features_ = int(self.support_.sum())
        self.score_ = self.result_.fitness
        self.n_evaluations_ = self.result_.evaluated + self.result_.failed
        self.frequencies_, self.ranking_ = standing(archives[0], self.support_)

    def _warn_of_failures(self) -> None:
        failed = self.result_.failed
        if failed:
            first = self.result_.failures[0]
            warnings.warn(
                f"{failed} of {self.result_.evaluated + failed} subsets have no score, because a fit failed; the "
                f"first: {first.error}",
                FitFailedWarning,
                stacklevel=4,
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask: NDArray[np.bool_] = self.support_
        return mask

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        tags.input_tags.sparse = own.input_tags.sparse
        tags.target_tags.required = own.target_tags.required
        return tags


def standing(archive: Archive, support: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share of the best subsets that have each feature, shape (features,), and the rank of each feature."""
    scores = np.array(list(archive.values.values()))
    best = np.argsort(-scores, kind="stable")[: max(_BEST, len(scores) // _BEST)]
    frequencies = archive.rows(best).mean(axis=0)
    levels = np.unique(-frequencies[~support], return_inverse=True)[1]
    ranking = np.ones(len(support), np.int64)
    ranking[~support] = 2 + levels
    return frequencies, ranking
