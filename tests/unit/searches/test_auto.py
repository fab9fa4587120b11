"""`auto`: what it chooses, and that it says so."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from engine_driver import Driven, drive

from daedal.searches.auto import FEW, PROBED, auto
from daedal.types import Bits, Fitness


def ones(x: Bits) -> Fitness:
    return x.sum(axis=1).astype(float)


def rugged(x: Bits) -> Fitness:
    return np.asarray((x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5)


def explained(driven: Driven) -> str:
    said = driven.f.explanation
    return said if isinstance(said, str) else said()


@pytest.mark.parametrize(
    ("most", "width", "name"), [(FEW * 20, 1, "mix"), (300, 1, "ils"), (300, 4, "ils"), (300, 64, "mix"), (1, 1, "ils")]
)
def test_few_evaluations_are_for_local_search(most: int, width: int, name: str) -> None:
    driven = drive(auto, rugged, n=20, most=most, width=width)
    assert driven.evaluations == most
    assert explained(driven).startswith(name)


def test_local_search_that_is_stuck_gives_way() -> None:
    driven = drive(auto, lambda x: np.zeros(len(x)), n=20, most=1500)
    assert "ils" in explained(driven)
    assert "stuck after 3" in explained(driven)
    assert "Then mix" in explained(driven)


@pytest.mark.parametrize(("most", "again"), [(PROBED - 1, 0), (PROBED, 1), (5000, 1)])
def test_one_evaluation_tells_that_the_objective_is_exact(most: int, again: int) -> None:
    driven = drive(auto, rugged, n=30, most=most)
    counts = Counter(c for batch in driven.asked for c in batch)
    assert sum(count - 1 for count in counts.values()) == again


@pytest.mark.parametrize("most", [1000, 6000])
def test_noise_is_for_a_population_and_a_mean(most: int) -> None:
    rng = np.random.default_rng(1)
    driven = drive(auto, lambda x: ones(x) + 2.0 * rng.normal(size=len(x)), n=50, most=most)
    candidate, mean, error, measurements, is_measured = driven.answers[-1]
    assert (driven.evaluations, is_measured) == (most, True)
    assert candidate.bit_count() >= 49
    assert error is not None
    assert abs(mean - candidate.bit_count()) < 4 * error
    assert measurements >= most // 30


@pytest.mark.parametrize("sd", [1e-12, 1e-3])
def test_noise_that_does_not_matter_is_neglected(sd: float) -> None:
    rng = np.random.default_rng(1)
    driven = drive(auto, lambda x: ones(x) + sd * rng.normal(size=len(x)), n=50, most=3000, target=49.5)
    assert driven.reached
    assert not driven.answers


def test_constraints_are_for_mix_whatever_the_budget() -> None:
    driven = drive(auto, ones, n=30, most=300, outputs=lambda x: [[value, -1.0] for value in ones(x).tolist()])
    assert explained(driven).startswith("mix")
    assert max(Counter(c for batch in driven.asked for c in batch).values()) == 1


def test_an_infeasible_start_is_given_up_for_a_random_candidate() -> None:
    for seed in range(10):
        driven = drive(auto, lambda x: np.where(ones(x) > 25, -np.inf, x @ np.arange(60.0)), n=60, most=100, seed=seed)
        assert driven.f.best_value > 700
        assert driven.evaluations == 100


def test_values_near_the_largest_float_are_no_problem() -> None:
    assert drive(auto, lambda x: ones(x) * 1e300, n=20, most=200).f.best_value == 20e300
