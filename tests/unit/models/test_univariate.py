"""PBIL's vector by the paper's formula, UMDA's frequencies; what models of frequencies never draw."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.models import ECGA, PBIL, UMDA, BayesNet, Model, Tree
from daedal.models.univariate import Marginals


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_umda_has_the_frequencies_of_the_parents_and_forgets_the_fit_before() -> None:
    x = (rng(4).random((400, 5)) < [0.2, 0.5, 0.7, 0.9, 0.4]).astype(np.uint8)
    fitted = UMDA().fit(x, rng=rng(), previous=Marginals(probabilities=np.full(5, 0.9)))
    assert fitted.probabilities.tolist() == [sum(column) / 400 for column in x.T.tolist()]


@pytest.mark.parametrize(
    "model", [UMDA(), Tree(significance=0.0), Tree(), Tree(significance=1.0), ECGA(), BayesNet()], ids=str
)
def test_columns_in_which_all_parents_agree_are_sampled_as_they_are(model: Model) -> None:
    for rows, n in ((1, 1), (1, 7), (5, 1), (6, 7)):
        row = rng(n).integers(0, 2, n, dtype=np.uint8)
        assert (model.fit(np.tile(row, (rows, 1)), rng=rng()).sample(50, rng=rng()) == row).all()
    x = np.repeat(rng(5).integers(0, 2, (10, 6), dtype=np.uint8), 20, axis=0)
    x[:, 2], x[:, 4] = 0, 1
    sample = model.fit(x, rng=rng()).sample(500, rng=rng())
    assert not sample[:, 2].any()
    assert sample[:, 4].all()


@pytest.mark.parametrize("model", [PBIL(), PBIL(learning_rate=0.3, best=3), PBIL(learning_rate=1.0, best=7)])
def test_pbil_moves_by_the_papers_formula(model: PBIL) -> None:
    """p^(t+1) = p^t + alpha ((1/mu) sum_k y_k^t - p^t), for mu best first rows, from one half on."""
    expected, fitted = [0.5] * 6, None
    draw = rng(8)
    for _ in range(30):
        x = draw.integers(0, 2, (20, 6), dtype=np.uint8)
        fitted = model.fit(x, rng=draw, previous=fitted)
        for i in range(6):
            mean_of_best = sum(int(x[k, i]) for k in range(model.best)) / model.best
            expected[i] = expected[i] + model.learning_rate * (mean_of_best - expected[i])
        assert fitted.probabilities == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("rows", [0, 1, 90])
def test_many_rows_are_those_that_would_be_drawn_at_once_without_the_memory_for_that(rows: int) -> None:
    n = 100_000  # more than are drawn at a time
    probabilities = np.random.default_rng(1).random(n)
    drawn = Marginals(probabilities=probabilities).sample(rows, rng=np.random.default_rng(2))
    assert drawn.dtype == np.uint8
    assert np.array_equal(drawn, np.random.default_rng(2).random((rows, n)) < probabilities)
