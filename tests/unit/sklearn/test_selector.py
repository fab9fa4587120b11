"""SubsetSelector follows the contract of scikit-learn, keeps its limits, and does not depend on n_jobs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris, make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from daedal.sklearn import SubsetSelector
from daedal.sklearn.selector import default_evaluations, feature_limits, relevance

CANCER = load_breast_cancer(return_X_y=True)
FITTED: list[frozenset[float]] = []


class Marked(GaussianNB):  # type: ignore[misc]
    """Writes down what it is fitted with: the mean of a feature is a thousand times its number."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Marked:  # noqa: N803
        FITTED.append(frozenset(np.round(X.mean(axis=0) / 1000).tolist()))
        super().fit(X, y, sample_weight)
        return self


class Choosy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cannot be fitted with an odd number of features; the score is how many there are."""

    def __init__(self, never: bool = False) -> None:
        self.never = never

    def fit(self, X: Any, y: Any) -> Choosy:  # noqa: N803
        if self.never or X.shape[1] % 2:
            raise RuntimeError("an odd number of features")
        self.classes_, self.count_ = np.unique(y), X.shape[1]
        return self

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        return float(self.count_)


def test_it_passes_the_checks_of_scikit_learn(recwarn: pytest.WarningsRecorder) -> None:
    model = LogisticRegression(C=0.1)
    results = check_estimator(SubsetSelector(model, cv=2, max_evaluations=5), on_fail=None, on_skip=None)
    assert len(results) > 30
    assert [(one["check_name"], one["exception"]) for one in results if one["status"] == "failed"] == []


@pytest.mark.parametrize("limits", [(1, 4), (3, 3), (2, 5)])
def test_no_other_subset_is_ever_fitted(limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(size=(40, 12)) + 1000 * np.arange(12)
    FITTED.clear()
    selector = SubsetSelector(
        Marked(), min_features=limits[0], max_features=limits[1], max_evaluations=60, cv=2, random_state=1
    )
    selector.fit(data, rng.integers(0, 2, 40))
    assert {len(fitted) for fitted in FITTED} <= set(range(limits[0], limits[1] + 1))
    assert len(set(FITTED)) == selector.n_evaluations_ == 60
    assert len(FITTED) == 2 * 60 + 1  # a fit a fold, none twice, and the last


def test_the_score_is_that_of_the_chosen_features_on_the_given_folds() -> None:
    data, target = CANCER
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    selector = SubsetSelector(GaussianNB(), max_features=4, cv=folds, max_evaluations=70, random_state=2)
    chosen = selector.fit_transform(data, target)
    assert chosen.shape[1] == selector.n_features_ == selector.support_.sum() <= 4
    assert selector.score_ == cross_val_score(GaussianNB(), chosen, target, cv=folds).mean()
    assert selector.result_.best == {"features": selector.get_support(indices=True).tolist()}
    assert selector.estimator_.n_features_in_ == selector.n_features_
    np.testing.assert_array_equal(selector.ranking_ == 1, selector.support_)
    assert selector.frequencies_.min() >= 0 < selector.frequencies_[selector.support_].min()


def test_the_result_depends_on_the_random_state_alone() -> None:
    data, target = CANCER
    fits = [
        SubsetSelector(GaussianNB(), max_features=5, max_evaluations=80, random_state=seed, n_jobs=jobs).fit(
            data, target
        )
        for seed, jobs in ((3, None), (3, 2), (4, 1))
    ]
    for name in ("support_", "frequencies_", "ranking_", "score_"):
        np.testing.assert_array_equal(getattr(fits[0], name), getattr(fits[1], name))
    assert (fits[0].score_, fits[0].frequencies_.tolist()) != (fits[2].score_, fits[2].frequencies_.tolist())
    score = fits[0].score_
    assert clone(fits[0]).fit(data, target).score_ == fits[0].fit(data, target).score_ == score


def test_pipelines_and_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame, target = load_iris(return_X_y=True, as_frame=True)
    selector = SubsetSelector(LogisticRegression(), min_features=2, max_features=0.5, random_state=0)
    selector.set_output(transform="pandas")
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), selector, GaussianNB())
    pipeline.fit(frame, target)
    assert pipeline.score(frame, target) > 0.9
    names = selector.get_feature_names_out()
    assert len(names) == 2
    assert selector.result_.names == tuple(frame.columns)
    chosen = selector.transform(frame)
    assert isinstance(chosen, pandas.DataFrame)
    assert list(chosen.columns) == list(names) == list(frame.columns[selector.support_])
    assert list(selector.feature_names_in_) == list(frame.columns)


def test_a_regression_finds_what_matters() -> None:
    data, target, weights = make_regression(80, 15, n_informative=4, noise=1.0, coef=True, random_state=3)
    for scoring in (None, "neg_mean_absolute_error"):
        selector = SubsetSelector(LinearRegression(), max_features=4, scoring=scoring, cv=KFold(4), random_state=0)
        selector.fit(data, target)
        np.testing.assert_array_equal(selector.support_, weights != 0)
    assert selector.score_ < 0  # of the error


def test_sparse_data_give_what_dense_data_give() -> None:
    data, target = load_iris(return_X_y=True)
    data = np.where(data > 2, data, 0)
    fits = [SubsetSelector(LogisticRegression(), cv=2, max_features=2, random_state=1) for _ in range(2)]
    fits[0].fit(data, target)
    fits[1].fit(sparse.csr_matrix(data), target)
    assert fits[0].score_ == pytest.approx(fits[1].score_)
    assert sparse.issparse(fits[1].transform(sparse.csr_matrix(data)))


def test_fits_that_fail_are_out() -> None:
    data, target = CANCER
    selector = SubsetSelector(Choosy(), max_features=5, max_evaluations=150, random_state=0)
    with pytest.warns(FitFailedWarning, match="of 150 subsets"):
        selector.fit(data, target)
    assert selector.n_features_ == selector.score_ == 4
    with pytest.raises(ValueError, match="odd number"):
        SubsetSelector(Choosy(), error_score="raise").fit(data, target)
    scored = SubsetSelector(Choosy(), max_features=3, error_score=9.0, random_state=0)
    with pytest.raises(RuntimeError, match="odd number"):  # when the best subset is fitted, on all rows
        scored.fit(data, target)
    assert scored.score_ == 9.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"min_features": 5, "max_features": 3}, "more than max_features=3"),
        ({"min_features": 31}, "number of features, 30"),
        ({"max_features": 0}, "max_features=0"),
        ({"max_features": 1.5}, "max_features=1.5"),
        ({"max_features": "all"}, "max_features='all'"),
        ({"max_evaluations": 0}, "max_evaluations"),
        ({"cv": []}, "folds"),
        ({"scoring": lambda *_: np.nan}, "nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SubsetSelector(GaussianNB(), **settings).fit(*CANCER)


def test_the_line_that_makes_a_run_again_makes_it_again() -> None:
    X, y = load_iris(return_X_y=True)  # noqa: N806  as the line calls them
    selector = SubsetSelector(GaussianNB(), max_features=2, max_evaluations=12, random_state=0).fit(X, y)
    again = eval(selector.result_.again)
    assert again.result_.again == selector.result_.again
    assert (again.score_, again.support_.tolist()) == (selector.score_, selector.support_.tolist())
    assert SubsetSelector(GaussianNB(), max_features=2, max_evaluations=12).fit(X, y).result_.again == ""


def test_limits_and_defaults() -> None:
    assert feature_limits(1, 10, 4) == (1, 4)
    assert feature_limits(0.1, 0.29, 100) == (10, 29)
    assert feature_limits(1, 0.01, 30) == (1, 1)
    assert default_evaluations(64, 10) == 595 == sum(64 - step for step in range(10))


def test_relevance_ranks_as_the_f_tests_do() -> None:
    from sklearn.feature_selection import f_classif, f_regression

    rng = np.random.default_rng(4)
    target, numbers = rng.integers(0, 3, 60), rng.normal(size=60)
    data = rng.normal(size=(60, 9)) + 1e6 + target[:, None] * np.linspace(0, 1, 9) + numbers[:, None] * rng.random(9)
    for test, given, classes in ((f_classif, target, True), (f_regression, numbers, False)):
        found = relevance(data, given, classes=classes)
        np.testing.assert_array_equal(np.argsort(found), np.argsort(test(data, given)[0]))
    assert relevance(np.ones((60, 2)) * 0.1, target, classes=True).tolist() == [0.0, 0.0]
    assert relevance(data, None, classes=False).tolist() == [0.0] * 9


def test_a_plain_script_with_several_jobs_runs_once(tmp_path: Path) -> None:
    """Without `if __name__ == "__main__"`, and inside the processes of joblib, too."""
    script = tmp_path / "script.py"
    script.write_text("""
from joblib import Parallel, delayed
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from daedal.sklearn import SubsetSelector

class Mine(GaussianNB):
    pass

selector = SubsetSelector(Mine(), max_features=2, max_evaluations=10, random_state=0, n_jobs=2)
score = selector.fit(*load_iris(return_X_y=True)).score_
nested = Parallel(n_jobs=2)(delayed(selector.fit)(*load_iris(return_X_y=True)) for _ in range(2))
print(score == nested[0].score_ == nested[1].score_)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "True\n"


def test_scikit_learn_is_imported_on_first_use_and_a_missing_one_names_its_install_line() -> None:
    code = """
import sys, daedal.sklearn
print("sklearn" in sys.modules, daedal.sklearn.__all__)
sys.modules["sklearn.base"] = None
try:
    daedal.sklearn.SubsetSelector
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded, missing = done.stdout.splitlines()
    assert loaded == "False ['SubsetSelector']"
    assert 'pip install "daedal[sklearn]"' in missing
