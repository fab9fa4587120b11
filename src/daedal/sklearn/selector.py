"""Feature selection for scikit-learn: the subset of features with the best cross-validated score."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

try:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
except ImportError as error:
    raise ImportError('SubsetSelector needs scikit-learn: pip install "daedal[sklearn]"') from error
from joblib import Parallel, delayed
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from daedal.archive import Archive
from daedal.engine import Engine
from daedal.evaluation.caller import Objective
from daedal.optimize import maximize
from daedal.sklearn.search import subsets
from daedal.spaces.space import Space
from daedal.spaces.variables import Subset

_FEATURES = "features"  # the one variable of the space that is searched
_FEWEST = 100  # default evaluations if forward selection needs fewer
_BEST = 10  # the best tenth of the subsets, but at least ten, count for the frequencies

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]  # samples to fit, samples to score


class SubsetSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Feature selection by the cross-validated score of a model.

    Parameters
    ----------
    estimator
        The model. It is cloned and never fitted itself.
    max_features, min_features
        Maximum and minimum number of features: a whole number, or a share of all features as a float. If max_features
        is None, there is no maximum. No other subset is ever evaluated.
    scoring
        As for `cross_val_score`: a name, a function of (estimator, X, y), or None for the model's own score.
    cv
        Number of folds (shuffled, and stratified for a classifier), a splitter, or pairs of training and test samples.
        The folds are drawn once, so that each subset has one score.
    max_evaluations
        Maximum number of subsets to evaluate; each takes one fit per fold. Default: as many as forward selection needs
        for k = max_features of n features, k n - k (k - 1) / 2, and at least 100.
    random_state
        Seed of the folds and of the search. The same number gives the same result for any n_jobs.
    n_jobs
        Number of processes that evaluate subsets side by side, see `joblib.Parallel`; -1 uses all processors. Default:
        no other process.
    error_score
        Score of a fold in which fitting or scoring fails. If nan, the subset is discarded, and a `FitFailedWarning`
        reports the number of discarded subsets. If "raise", an error ends the search.

    Attributes
    ----------
    support_
        Mask of the selected features, shape (n_features_in_,).
    n_features_
        Number of selected features.
    score_
        Mean score of the selected features over the folds. It is optimistic, because it is the best of many scores: see
        docs/features.md.
    estimator_
        The model, fitted with the selected features on all samples.
    n_evaluations_
        Number of evaluated subsets.
    frequencies_
        Share of the best subsets that contain each feature, shape (n_features_in_,): the best tenth, at least ten.
    ranking_
        1 for the selected features, 2 and more for the others, by frequency.
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
        """Select features.

        Parameters
        ----------
        X
            Array, data frame or sparse matrix, shape (samples, features).
        y
            Targets, shape (samples,), or (samples, targets) if the model takes several; None if it takes none.
        """
        data, target = self._validated(X, y)
        least, most = feature_limits(self.min_features, self.max_features, data.shape[1])
        random = check_random_state(self.random_state)
        fold_seed, seed = (int(number) for number in random.randint(np.iinfo(np.int32).max, size=2))
        classes = is_classifier(self.estimator)
        folds = _fixed_folds(self.cv, data, target, classes=classes, seed=fold_seed)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        scores = _Scores(clone(self.estimator), data, target, folds, scorer, self.error_score, self.n_jobs)
        self._search(scores, least, most, relevance(data, target, classes=classes), seed)
        self.estimator_ = clone(self.estimator).fit(data[:, np.flatnonzero(self.support_)], target)
        return self

    def _validated(self, data: Any, target: Any) -> tuple[Any, Any]:
        """Return arrays that scikit-learn has checked, as far as the model requires it."""
        finite = not get_tags(self).input_tags.allow_nan
        checks = {"accept_sparse": "csc", "ensure_all_finite": finite}
        if target is None and not get_tags(self).target_tags.required:
            return validate_data(self, data, **checks), None
        data, target = validate_data(self, data, target, multi_output=True, **checks)
        if is_classifier(self.estimator):
            check_classification_targets(target)
        return data, target

    def _search(self, scores: _Scores, least: int, most: int, relevant: Floats, seed: int) -> None:
        """Search for the best subset, and store what was found."""
        features = scores.data.shape[1]
        given = self.max_evaluations
        archives: list[Archive] = []

        async def subset_search(f: Engine) -> None:
            archives.append(f.archive)
            await subsets(f, at_least=least, at_most=most, relevance=relevant)

        found = maximize(
            cast("Objective", scores),  # a function of values by name
            Space({_FEATURES: Subset(features, at_least=least, at_most=most)}),
            algorithm=subset_search,
            max_evaluations=default_evaluations(features, most) if given is None else given,
            seed=seed,
            on_error="raise" if isinstance(self.error_score, str) else "worst",
        )
        names = getattr(self, "feature_names_in_", None)
        self.result_ = replace(found, again=self._again(), names=None if names is None else tuple(map(str, names)))
        self.support_ = self.result_.mask
        self.n_features_ = int(self.support_.sum())
        self.score_ = self.result_.fitness
        self.n_evaluations_ = self.result_.evaluations
        self.frequencies_, self.ranking_ = _frequencies(archives[0], self.support_)
        if scores.errors:
            warnings.warn(
                f"{self.result_.failed} of {self.n_evaluations_} subsets have no score because a fit failed; the first "
                f"error: {scores.errors[0]}",
                FitFailedWarning,
                stacklevel=3,
            )

    def _again(self) -> str:
        """Return the line that repeats the run, or nothing if no line would, or if it is too long to write."""
        line = " ".join(f"{self!r}.fit(X, y)".split())
        return line if isinstance(self.random_state, Integral) and "..." not in line else ""

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


def _frequencies(archive: Archive, support: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the share of the best subsets that have each feature, shape (features,), and the rank of each feature."""
    scores = np.array(list(archive.values.values()))
    best = np.argsort(-scores, kind="stable")[: max(_BEST, len(scores) // _BEST)]
    frequencies = archive.rows(best).mean(axis=0)
    ranking = np.ones(len(support), np.int64)
    ranking[~support] = 2 + np.unique(-frequencies[~support], return_inverse=True)[1]
    return frequencies, ranking


def feature_limits(least: object, most: object, features: int) -> tuple[int, int]:
    """Return the minimum and maximum number of features; ValueError if they make no sense.

    Examples
    --------
    >>> feature_limits(1, 0.25, 64)
    (1, 16)
    """
    low = _number("min_features", least, features)
    high = features if most is None else min(features, _number("max_features", most, features))
    if low > features:
        raise ValueError(f"min_features={least!r} is more than the number of features, {features}")
    if low > high:
        raise ValueError(f"min_features={least!r} is more than max_features={most!r} of {features} features")
    return low, high


def _number(name: str, given: object, features: int) -> int:
    """Return a number of features, at least one, given as a number or as a share."""
    if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= 1:
        return int(given)
    if isinstance(given, Real) and not isinstance(given, bool | Integral) and 0 < float(given) <= 1:
        return max(1, math.floor(float(given) * features + 1e-9))  # 0.29 * 100 is below 29
    raise ValueError(f"{name}={given!r} is neither a whole number of at least 1 nor a share of at most 1.0")


def default_evaluations(features: int, most: int) -> int:
    """Return the number of subsets that forward selection evaluates, at least 100.

    Examples
    --------
    >>> default_evaluations(30, 10)
    255
    """
    return max(_FEWEST, most * features - most * (most - 1) // 2)


@dataclass
class _Scores:
    """The objective: mean score of each subset over folds, which are the same for all subsets."""

    estimator: Any
    data: Any  # shape (samples, features), an array or a sparse matrix
    target: Any  # shape (samples,) or (samples, targets), or None
    folds: Sequence[Fold]
    scorer: Callable[..., float]
    error_score: Any
    n_jobs: int | None
    errors: list[str] = field(default_factory=list)

    def __call__(self, values: dict[str, NDArray[np.bool_]]) -> Floats:
        """Return the scores of subsets, shape (subsets,); nan if a fit failed."""
        chosen = [np.flatnonzero(row) for row in values[_FEATURES]]
        # A joblib process does not run the user's script again, unlike one that multiprocessing spawns.
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_score)(self.estimator, self.data[:, one], self.target, self.folds, self.scorer, self.error_score)
            for one in chosen
        )
        self.errors += [error for _, error in found if error]
        return np.array([score for score, _ in found])


def _score(
    estimator: Any, data: Any, target: Any, folds: Sequence[Fold], scorer: Callable[..., float], error_score: Any
) -> tuple[float, str]:
    """Return the mean score of a model over the folds, or nan and the error of the first fold that failed."""
    scores = []
    for fit, score in folds:
        try:
            fit_target, score_target = ([] if target is None else [target[samples]] for samples in (fit, score))
            scores.append(scorer(clone(estimator).fit(data[fit], *fit_target), data[score], *score_target))
        except Exception as error:
            if isinstance(error_score, str):
                raise
            if np.isnan(error_score):
                return np.nan, f"{type(error).__name__}: {error}"
            scores.append(error_score)
    return float(np.mean(scores)), ""


def _fixed_folds(cv: Any, data: Any, target: Any, *, classes: bool, seed: int) -> list[Fold]:
    """Return the folds: shuffled if cv is a number, otherwise those of cv."""
    splitter = check_cv(cv, target, classifier=classes)
    if cv is None or isinstance(cv, Integral):
        splitter = type(splitter)(splitter.n_splits, shuffle=True, random_state=seed)
    folds: list[Fold] = list(splitter.split(data, target))
    if not folds:
        raise ValueError(f"cv={cv!r} has no folds to score subsets with; give a number of folds, such as cv=5")
    return folds


def relevance(data: Any, target: Any, *, classes: bool) -> Floats:
    """Return the share of each feature's variance that the target explains, shape (features,), from 0 to 1.

    For classes it is the correlation ratio, which ranks features as the F-test does. For numbers it is the squared
    correlation, the largest of them if there are several targets. If there is no target, or if values are missing, it
    is 0.

    Parameters
    ----------
    data
        An array or a sparse matrix, shape (samples, features).
    target
        Shape (samples,) or (samples, targets), or None.
    classes
        If True, targets are classes.

    Examples
    --------
    >>> data = np.array([[0.0, 1.0, 5.0], [0.0, 2.0, 5.0], [1.0, 1.0, 5.0], [1.0, 2.0, 5.0]])
    >>> relevance(data, ["a", "a", "b", "b"], classes=True)
    array([1., 0., 0.])
    """
    if target is None:
        return np.zeros(data.shape[1])
    try:
        columns = np.asarray(target).reshape(data.shape[0], -1)
        sides = [_indicators(column) if classes else np.asarray(column, np.float64)[:, None] for column in columns.T]
        shares = [_explained(data, side) for side in sides]
    except (TypeError, ValueError):  # targets that are not numbers; relevance only decides where the search begins
        return np.zeros(data.shape[1])
    most: Floats = np.max([np.zeros(data.shape[1]), *shares], axis=0)
    return most


def _indicators(column: NDArray[Any]) -> Floats:
    """Return a column for each class, shape (samples, classes)."""
    names, which = np.unique(column, return_inverse=True)
    indicators: Floats = (which[:, None] == np.arange(len(names))).astype(np.float64)
    return indicators


def _explained(data: Any, side: Floats) -> Floats:
    """Return the share of the variance of each column of the data that lies in the span of the side's columns.

    The side is indicators of classes, or one column of numbers. Centered, its columns are orthogonal.
    """
    samples = data.shape[0]
    if sparse.issparse(data):
        mean = np.asarray(data.mean(axis=0), np.float64).ravel()
        squares = np.asarray(data.multiply(data).sum(axis=0), np.float64).ravel()
        rounding = 1e-12 * squares
    else:
        data = np.asarray(data, np.float64)
        rounding = 1e-26 * (data * data).sum(axis=0)
        data = data - data.mean(axis=0)  # because large means would hide small differences
        mean, squares = np.zeros(data.shape[1]), (data * data).sum(axis=0)
    total = squares - samples * mean * mean
    weights = side if side.shape[1] > 1 else side - side.mean(axis=0)
    products = np.asarray(weights.T @ data, np.float64)
    lengths = (weights * weights).sum(axis=0)
    between = (products**2 / np.maximum(lengths, np.finfo(np.float64).tiny)[:, None]).sum(axis=0)
    if side.shape[1] > 1:
        between = between - samples * mean * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > rounding, between / total, 0.0)
    bounded: Floats = np.clip(np.nan_to_num(share, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)
    return bounded
