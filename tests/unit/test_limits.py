"""Limits and the reasons that they give."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from daedal.limits import Limits, StopReason, meets


@pytest.mark.parametrize(
    ("target", "tolerance"),
    [(1.0, 1e-6), (23.107466, 1e-6), (-5.0, 1e-6), (448.0, 1e-6), (4e-7, 4e-13), (-4e-7, 4e-13), (0.01, 1e-8)],
)
def test_a_target_counts_from_a_millionth_below_on_or_that_share_of_a_small_one(
    target: float, tolerance: float
) -> None:
    assert meets(target, target)
    assert meets(target - 0.9 * tolerance, target)
    assert not meets(target - 1.1 * tolerance, target)


def test_a_target_of_nothing_is_met_by_nothing_less() -> None:
    assert meets(0.0, 0.0)
    assert not meets(-1e-12, 0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_evaluations", 0),
        ("max_evaluations", 1e5),
        ("max_generations", -1),
        ("max_generations", "10"),
        ("patience", 0),
        ("patience", True),
        ("target", math.nan),
        ("target", "7"),
        ("target", True),
        ("max_seconds", 0),
        ("max_seconds", -1.5),
        ("max_seconds", math.nan),
        ("max_seconds", "60"),
    ],
)
def test_what_is_no_limit_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r}($| is not)"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_the_smallest_limits_and_numpy_integers_are_fine() -> None:
    assert Limits(max_evaluations=1, max_generations=0, patience=1).max_generations == 0
    assert Limits(patience=np.int64(3)).patience == 3  # type: ignore[arg-type]


def test_limits_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Limits().patience = 3  # type: ignore[misc]


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_reason_is_a_word_and_a_sentence(reason: StopReason) -> None:
    assert str(reason) == reason.value == reason.name.lower()
    assert reason.message.endswith(".")
    assert reason.message[0].isupper()
    assert "\n" not in reason.message


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (StopReason.PATIENCE, "popsize"),
        (StopReason.CONVERGED, "popsize"),
        (StopReason.GENERATIONS, "max_generations"),
        (StopReason.EVALUATIONS, "max_evaluations"),
    ],
)
def test_a_reason_that_is_no_success_says_what_to_try(reason: StopReason, advice: str) -> None:
    assert "try" in reason.message
    assert advice in reason.message
