"""PBIL and UMDA: their probabilities by the paper's formula, and their samples against the exact joint law."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.models import PBIL, UMDA
from daedal.models.univariate import Marginals

DRAWS = 200_000


def check_law(sample: np.ndarray, probabilities: np.ndarray) -> None:
    """Refuse samples that have p < 1e-3 under independent bits, over all 2^n rows, or an impossible row."""
    n = sample.shape[1]
    rows = np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)
    law = np.where(rows == 1, probabilities, 1 - probabilities).prod(axis=1)
    counts = np.bincount(sample @ (1 << np.arange(n)[::-1]), minlength=2**n)
    possible = law > 0
    assert not counts[~possible].any()
    assert law[possible].min() * len(sample) >= 5, "a cell too small for the chi-square"
    assert chisquare(counts[possible], law[possible] * len(sample)).pvalue > 1e-3


@pytest.fixture
def parents() -> np.ndarray:
    """Rows of five bits, of different frequencies and by no means independent: the models must not see that."""
    rng = np.random.default_rng(4)
    x = (rng.random((400, 5)) < [0.2, 0.5, 0.7, 0.9, 0.4]).astype(np.uint8)
    x[:, 4] = x[:, 1]
    return x


def test_umda_samples_follow_the_frequencies_of_the_parents(parents: np.ndarray) -> None:
    fitted = UMDA().fit(parents, rng=np.random.default_rng(0))
    assert fitted.probabilities.tolist() == [sum(column) / 400 for column in parents.T.tolist()]
    check_law(fitted.sample(DRAWS, rng=np.random.default_rng(1)), fitted.probabilities)


def test_umda_never_draws_what_no_parent_has(parents: np.ndarray) -> None:
    parents[:, 0], parents[:, 3] = 0, 1
    fitted = UMDA().fit(parents, rng=np.random.default_rng(0))
    sample = fitted.sample(DRAWS, rng=np.random.default_rng(2))
    assert not sample[:, 0].any()
    assert sample[:, 3].all()
    check_law(sample, parents.mean(axis=0))


def test_umda_forgets_the_previous_fit(parents: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    before = Marginals(probabilities=np.full(5, 0.9))
    fitted = UMDA().fit(parents, rng=rng, previous=before)
    assert fitted.probabilities.tolist() == UMDA().fit(parents, rng=rng).probabilities.tolist()


@pytest.mark.parametrize("model", [PBIL(), PBIL(learning_rate=0.3, best=3), PBIL(learning_rate=1.0, best=7)])
def test_pbil_moves_by_the_papers_formula(model: PBIL) -> None:
    """p^(t+1) = p^t + alpha ((1/mu) sum_k y_k^t - p^t), for mu best first rows, from one half on."""
    rng = np.random.default_rng(8)
    expected, fitted = [0.5] * 6, None
    for _ in range(30):
        x = rng.integers(0, 2, (20, 6), dtype=np.uint8)
        fitted = model.fit(x, rng=rng, previous=fitted)
        for i in range(6):
            mean_of_best = sum(int(x[k, i]) for k in range(model.best)) / model.best
            expected[i] = expected[i] + model.learning_rate * (mean_of_best - expected[i])
        assert fitted.probabilities == pytest.approx(expected, abs=1e-14)


def test_pbil_with_the_papers_setting_after_one_and_two_generations() -> None:
    rng = np.random.default_rng(0)
    x = np.array([[1, 0], [0, 1]], dtype=np.uint8)
    first = PBIL().fit(x, rng=rng)
    second = PBIL().fit(x, rng=rng, previous=first)
    assert first.probabilities == pytest.approx([0.51, 0.49], abs=1e-15)
    assert second.probabilities == pytest.approx([0.5198, 0.4802], abs=1e-15)


def test_pbil_leaves_the_previous_fit_as_it_was(parents: np.ndarray) -> None:
    first = PBIL().fit(parents, rng=np.random.default_rng(0))
    before = first.probabilities.copy()
    PBIL().fit(parents[::-1], rng=np.random.default_rng(0), previous=first)
    assert first.probabilities.tolist() == before.tolist()


def test_pbil_follows_one_row_for_ever_without_reaching_certainty() -> None:
    fitted = None
    for _ in range(200):
        x = np.array([[1, 0]], dtype=np.uint8)
        fitted = PBIL(learning_rate=0.1).fit(x, rng=np.random.default_rng(0), previous=fitted)
    assert fitted is not None
    assert fitted.probabilities == pytest.approx([1 - 0.5 * 0.9**200, 0.5 * 0.9**200], abs=1e-14)
    assert (fitted.probabilities < 1).all()
    assert (fitted.probabilities > 0).all()


def test_pbil_samples_follow_its_vector(parents: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    fitted = None
    for generation in range(12):
        rows = parents[generation * 20 : generation * 20 + 20]
        fitted = PBIL(learning_rate=0.2, best=2).fit(rows, rng=rng, previous=fitted)
    assert fitted is not None
    assert np.ptp(fitted.probabilities) > 0.3
    check_law(fitted.sample(DRAWS, rng=np.random.default_rng(5)), fitted.probabilities)


@pytest.mark.parametrize("settings", [{"learning_rate": -0.1}, {"learning_rate": 1.1}, {"best": 0}])
def test_pbil_refuses_settings_that_make_no_sense(settings: dict[str, float]) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name}="):
        PBIL(**settings)  # type: ignore[arg-type]
