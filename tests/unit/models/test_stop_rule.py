"""The rule that ends the training of an autoencoder, against cases worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from daedal.models.base import TrainingCurve
from daedal.models.dae import Errors, gap, late_gain


def falling(count: int) -> list[float]:
    """100, 99, 98, ...: a straight line is its own average wherever the window lies inside it."""
    return [100.0 - i for i in range(count)]


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        # half 2, points 0..2, two thirds at 1: (7.8 - 6.6) / (8.8 - 6.6)
        ([10.0, 8.0, 6.0, 5.0, 4.0], Fraction(12, 22)),
        # half 2, points 0..6, two thirds at 4: start (9+9+9+5+3)/5 = 7, there (3+2+2+2+2)/5 = 2.2, end 2
        ([9.0, 5.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0], Fraction(2, 50)),
        # half 2, points 0..6: the last averages measurements 4..8, whose order does not matter
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 1.0, 2.0], Fraction(5 - 3) / (Fraction(42, 5) - 3)),
        # half 2, points 0..16, two thirds at 10: start 100 - 3/5, there 90, end 84
        (falling(19), Fraction(84 + 6 - 84) / (100 - Fraction(3, 5) - 84)),
        # half 3, points 0..16, two thirds at 10: start (4 * 100 + 99 + 98 + 97)/7, there 90, end 84
        (falling(20), 6 / (Fraction(694, 7) - 84)),
        # half 3, points 0..25, two thirds at 16: there 84, end 75
        (falling(29), 9 / (Fraction(694, 7) - 75)),
        # half 4, points 0..25, two thirds at 16: start (5 * 100 + 99 + 98 + 97 + 96)/9, there 84, end 75
        (falling(30), 9 / (Fraction(890, 9) - 75)),
    ],
)
def test_late_gain(errors: list[float], expected: Fraction) -> None:
    assert late_gain(errors) == pytest.approx(float(expected), rel=1e-12)


def test_late_gain_where_there_is_none_to_speak_of() -> None:
    for count in (1, 2, 3, 4):
        assert late_gain(falling(count)) == 1.0, "too early to tell"
    for errors in ([3.0] * 9, [float(i) for i in range(12)], [0.0] * 40):
        assert late_gain(errors) is None, "no gain at all"
    share = late_gain([9.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    assert share is not None
    assert share < 0, "the error rises again"


@pytest.mark.parametrize(
    ("train", "validation", "expected"),
    [
        # half 2: the last smoothed point averages all five
        ([4.0, 3.0, 2.0, 2.0, 2.0], [4.0, 3.0, 3.0, 3.0, 3.0], (3.2 - 2.6) / 2.6),
        ([2.0] * 25, [2.5] * 25, 0.25),
        ([2.0] * 25, [1.5] * 25, -0.25),
        # half 4: only the last window, measurements 21..29
        ([50.0] * 21 + [2.0] * 9, [1.0] * 21 + [3.0] * 9, 0.5),
        # a short series: its last measurement
        ([4.0], [5.0], 0.25),
        ([9.0, 4.0], [1.0, 6.0], 0.5),
        # no training error at all
        ([0.0] * 9, [1.0] * 9, 0.0),
    ],
)
def test_gap_by_hand(train: list[float], validation: list[float], expected: float) -> None:
    assert gap(train, validation) == pytest.approx(expected)


def measured(train: list[float], validation: list[float] | None = None, gamma: float = 0.05) -> Errors:
    errors = Errors(gamma)
    for k, error in enumerate(train):
        errors.add(error, None if validation is None else validation[k])
    return errors


def test_the_best_so_far_goes_by_the_validation_error_if_there_is_one() -> None:
    errors = Errors(0.05)
    assert [errors.add(e, None) for e in (5.0, 4.0, 4.5, 4.0, 3.0, 3.1)] == [True, True, False, True, True, False]
    errors = Errors(0.05)
    pairs = [(5.0, 5.0), (4.0, 5.5), (6.0, 4.0), (1.0, 4.1)]
    assert [errors.add(*pair) for pair in pairs] == [True, False, True, False]
    assert (errors.train, errors.validation) == ([5.0, 4.0, 6.0, 1.0], [5.0, 5.5, 4.0, 4.1])


def test_training_ends_without_gain_or_below_gamma_and_not_at_it() -> None:
    assert not Errors(0.05).converged()
    for count in (2, 12):
        assert not measured(falling(count)).converged(), "the last third still gains"
    errors = [10.0, 8.0, 6.0, 5.0, 4.0]
    share = late_gain(errors)
    assert share is not None
    assert not measured(errors, gamma=share).converged()
    assert measured(errors, gamma=share + 1e-9).converged()
    assert measured([3.0] * 9).converged()
    assert measured([1.0, 2.0, 3.0, 4.0, 5.0], gamma=0.0).converged()


def test_training_ends_when_only_one_of_the_errors_has_converged() -> None:
    flat = [90.0, 80.0, *[70.0] * 10]
    assert not measured(falling(12), falling(12)).converged()
    assert measured(falling(12), flat).converged()
    assert measured(flat, falling(12)).converged()


@pytest.mark.parametrize(("excess", "ends"), [(1.0999, False), (1.1001, True)])
def test_training_ends_when_it_overfits(excess: float, ends: bool) -> None:
    train = falling(12)
    assert measured(train, [excess * e for e in train]).converged() is ends


@pytest.mark.parametrize(
    ("every", "first", "epochs"), [(5, None, [5, 10, 12]), (2**64, None, [12]), (2**64, 0, [0, 12])]
)
def test_the_last_measurement_is_at_the_end(every: int, first: int | None, epochs: list[int]) -> None:
    curve = TrainingCurve.every(every, [1.0] * len(epochs), last=12, first=first)
    assert curve.epochs.tolist() == epochs
