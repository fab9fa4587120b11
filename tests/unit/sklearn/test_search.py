"""The search for feature subsets: its model, its neighbors, and what it evaluates."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from engine_driver import Driven, drive
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

import daedal
from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.limits import StopReason
from daedal.sklearn.search import Kernel, SubsetModel, best_kernel, neighbors, subsets
from daedal.types import Bits, Fitness


def all_subsets(n: int, least: int, most: int) -> set[bytes]:
    rows = [np.isin(np.arange(n), chosen) for k in range(least, most + 1) for chosen in combinations(range(n), k)]
    return {row.astype(np.uint8).tobytes() for row in rows}


def score(rows: Bits) -> NDArray[np.float64]:
    """The first feature is worth most by itself, but says what the next three say together."""
    worth = np.append([1.0, 0.9, 0.9, 0.9], np.zeros(rows.shape[1] - 4))
    return rows @ worth - 0.8 * rows[:, 0] * rows[:, 1:4].sum(axis=1)


def search(n: int = 16, *, objective: Any = score, most: int | None = 200, **given: Any) -> Driven:
    settings = {"at_most": 4, "relevance": np.zeros(n), **given}
    return drive(lambda f: subsets(f, **settings), objective, n=n, most=most)


@pytest.mark.parametrize(("least", "most"), [(1, 3), (2, 2), (1, 6), (3, 5)])
def test_neighbors_are_all_that_differ_by_one_feature_or_an_exchange(least: int, most: int) -> None:
    for at in all_subsets(6, least, most):
        row = np.frombuffer(at, np.uint8)
        near = neighbors(row, at_least=least, at_most=most)
        expected = set()
        for other in all_subsets(6, least, most):
            new = np.frombuffer(other, np.uint8)
            differing = (new != row).sum()
            if differing == 1 or (differing == 2 and new.sum() == row.sum()):
                expected.add(other)
        assert {one.tobytes() for one in near} == expected
        assert len(near) == len(expected)


@pytest.mark.parametrize(("least", "most"), [(1, 3), (2, 2), (1, 6), (3, 5), (6, 6), (1, 1)])
def test_every_subset_is_found_once(least: int, most: int) -> None:
    """Also where the forward pass comes to what was among the first candidates."""
    asked = [c for batch in search(6, most=None, at_least=least, at_most=most).asked for c in batch]
    assert {row.tobytes() for row in to_rows(asked, 6)} == all_subsets(6, least, most)
    assert len(asked) == len(all_subsets(6, least, most))


def test_a_run_in_which_every_subset_was_evaluated_is_exhausted() -> None:
    async def pairs(f: Engine) -> None:
        await subsets(f, at_least=2, at_most=2, relevance=np.zeros(6))

    space = daedal.Space(features=daedal.Subset(6, exactly=2))
    result = daedal.maximize(lambda values: values["features"] @ np.arange(6.0), space, algorithm=pairs, seed=1)
    assert result.stop is StopReason.EXHAUSTED
    assert (result.best, result.evaluations) == ({"features": [4, 5]}, 15)


def test_exchanges_leave_what_forward_selection_would_keep() -> None:
    best = search(at_most=3, relevance=np.arange(16.0)[::-1], most=90).f.best
    assert best == 0b1110
    assert np.argmax(score(np.eye(16, dtype=np.uint8))) == 0  # where a forward selection begins, and stays


@pytest.mark.parametrize("value", [-np.inf, 3.0])
def test_scores_that_are_infinite_or_all_alike_stop_nothing(value: float) -> None:
    def worth(rows: Bits) -> Fitness:
        return np.where(rows[:, 0] == 1, -np.inf, value)

    assert search(objective=worth, most=120).evaluations == 120


def test_few_evaluations_leave_something_for_the_search() -> None:
    rows = to_rows(search(200, relevance=np.arange(200.0), most=30).asked[0], 200)
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
