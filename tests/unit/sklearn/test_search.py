"""The search for subsets: its model, its neighbours, its limits, and that it goes on to the bit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from daedal.limits import Limits, StopReason
from daedal.sklearn.limits import default_evaluations, feature_limits
from daedal.sklearn.neighbours import neighbours
from daedal.sklearn.relevance import relevance
from daedal.sklearn.search import SubsetSearch
from daedal.sklearn.subset_model import Kernel, SubsetModel, best_kernel
from daedal.types import Bits


def subsets(n: int, least: int, most: int) -> set[bytes]:
    rows = [np.isin(np.arange(n), chosen) for k in range(least, most + 1) for chosen in combinations(range(n), k)]
    return {row.astype(np.uint8).tobytes() for row in rows}


def score(rows: Bits) -> NDArray[np.float64]:
    """The first feature is worth most by itself, but says what the next three say together."""
    worth = np.append([1.0, 0.9, 0.9, 0.9], np.zeros(rows.shape[1] - 4))
    return rows @ worth - 0.8 * rows[:, 0] * rows[:, 1:4].sum(axis=1)


def search(n: int = 16, **given: object) -> SubsetSearch:
    settings = {"at_most": 4, "relevance": np.zeros(n), "limits": Limits(max_evaluations=200), "seed": 1, **given}
    return SubsetSearch(n=n, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("least", "most"), [(1, 3), (2, 2), (1, 6), (3, 5)])
def test_neighbours_are_all_that_differ_by_one_feature_or_an_exchange(least: int, most: int) -> None:
    for at in subsets(6, least, most):
        row = np.frombuffer(at, np.uint8)
        near = neighbours(row, at_least=least, at_most=most)
        expected = set()
        for other in subsets(6, least, most):
            new = np.frombuffer(other, np.uint8)
            differing = (new != row).sum()
            if differing == 1 or (differing == 2 and new.sum() == row.sum()):
                expected.add(other)
        assert {one.tobytes() for one in near} == expected
        assert len(near) == len(expected)


@pytest.mark.parametrize(("least", "most"), [(1, 3), (2, 2), (1, 6), (3, 5), (6, 6), (1, 1)])
def test_every_subset_is_found_once(least: int, most: int) -> None:
    """Also where the forward pass comes to what was among the first rows."""
    optimizer = search(6, at_least=least, at_most=most, limits=None)
    while optimizer.stop is None:
        optimizer.tell(score(optimizer.ask()))
    assert optimizer.stop is StopReason.EXHAUSTED
    assert {row.tobytes() for row in optimizer.rows} == subsets(6, least, most)
    assert len(optimizer.rows) == len(subsets(6, least, most))


def test_exchanges_leave_what_forward_selection_would_keep() -> None:
    optimizer = search(at_most=3, relevance=np.arange(16.0)[::-1], limits=Limits(max_evaluations=90))
    while optimizer.stop is None:
        optimizer.tell(score(optimizer.ask()))
    assert optimizer.best is not None
    np.testing.assert_array_equal(np.flatnonzero(optimizer.best.x), [1, 2, 3])
    assert np.argmax(score(np.eye(16, dtype=np.uint8))) == 0  # where a forward selection begins, and stays


def test_scores_that_are_infinite_or_all_alike_stop_nothing() -> None:
    for value in (-np.inf, 3.0):
        optimizer = search(limits=Limits(max_evaluations=120))
        while optimizer.stop is None:
            rows = optimizer.ask()
            optimizer.tell(np.where(rows[:, 0] == 1, -np.inf, value))
        assert optimizer.evaluations == 120


@pytest.mark.parametrize("batches", [1, 3, 9])
def test_a_search_that_is_restored_goes_on_the_same(batches: int) -> None:
    first, second = search(), search()
    for _ in range(batches):
        first.tell(score(first.ask()))
    first.ask()
    second.restore(first.state())
    for _ in range(5):
        rows = first.ask()
        np.testing.assert_array_equal(rows, second.ask())
        first.tell(score(rows))
        second.tell(score(rows))


def test_few_evaluations_leave_something_for_the_search() -> None:
    optimizer = search(200, relevance=np.arange(200.0), limits=Limits(max_evaluations=30))
    rows = optimizer.ask()
    assert (rows.sum(axis=1) == 1).sum() == 10
    assert rows[:, :190].sum() == 0


def test_the_model_is_the_gaussian_process_that_it_says_it_is() -> None:
    rng = np.random.default_rng(2)
    rows = (rng.random((12, 8)) < 0.4).astype(np.uint8)
    scores, kernel = rng.normal(size=12), Kernel(0.7, 5.0, 0.02, members=4)
    model = SubsetModel.fitted(rows, scores, kernel)
    covariance = np.empty((12, 12))
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            alike = 0.7 * (left & right).sum() / 4 + np.exp(-(left != right).sum() / 5.0)
            covariance[i, j] = alike + 0.02 * (i == j)
    standard = (scores - scores.mean()) / scores.std()
    scale = standard @ np.linalg.solve(covariance, standard) / 12
    constant = -6 * (1 + np.log(2 * np.pi))
    likelihood = multivariate_normal(np.zeros(12), scale * covariance).logpdf(standard)
    assert model.evidence + constant == pytest.approx(likelihood)
    assert best_kernel(rows, scores, 4).members == 4


def test_improvements_agree_with_draws() -> None:
    rng = np.random.default_rng(3)
    rows = np.unique((rng.random((20, 8)) < 0.4).astype(np.uint8), axis=0)
    scores, kernel = rng.normal(size=len(rows)), Kernel(0.7, 5.0, 0.02, members=4)
    new = (rng.random((5, 8)) < 0.4).astype(np.uint8)
    known = kernel(rows, rows) + 0.02 * np.eye(len(rows))
    standard = (scores - scores.mean()) / scores.std()
    scale = standard @ np.linalg.solve(known, standard) / len(rows)
    across = kernel(rows, new)
    mean = scores.mean() + scores.std() * across.T @ np.linalg.solve(known, standard)
    variance = np.diag(kernel(new, new) - across.T @ np.linalg.solve(known, across)) * scale * scores.var()
    drawn = mean + np.sqrt(variance) * rng.normal(size=(400_000, 5))
    expected = np.maximum(drawn - 0.5, 0).mean(axis=0)
    found = SubsetModel.fitted(rows, scores, kernel).improvements(new, 0.5)
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=1e-3)


def test_limits_and_defaults() -> None:
    assert feature_limits(1, 10, 4) == (1, 4)
    assert feature_limits(2, None, 4) == (2, 4)
    assert feature_limits(0.1, 0.29, 100) == (10, 29)
    assert feature_limits(1, 0.01, 30) == (1, 1)
    assert default_evaluations(64, 10) == 595 == sum(64 - step for step in range(10))
    assert default_evaluations(4, 2) == 100


def test_relevance_ranks_as_the_f_tests_do() -> None:
    from sklearn.feature_selection import f_classif, f_regression

    rng = np.random.default_rng(4)
    target, numbers = rng.integers(0, 3, 60), rng.normal(size=60)
    data = rng.normal(size=(60, 9)) + 1e6 + target[:, None] * np.linspace(0, 1, 9) + numbers[:, None] * rng.random(9)
    for test, given, classes in ((f_classif, target, True), (f_regression, numbers, False)):
        found = relevance(data, given, classes=classes)
        np.testing.assert_array_equal(np.argsort(found), np.argsort(test(data, given)[0]))
    constant = np.ones((60, 2)) * 0.1
    assert relevance(constant, target, classes=True).tolist() == [0.0, 0.0]
    assert relevance(data, None, classes=False).tolist() == [0.0] * 9
