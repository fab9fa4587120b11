"""A curve in one line."""

from __future__ import annotations

import math

import pytest

from daedal.cli.sparkline import Sparkline


def drawn(values: list[float], width: int = 60, **how: bool) -> str:
    curve = Sparkline()
    for value in values:
        curve.add(value)
    return curve.text(width, **how)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        ([3.0], "▁"),
        ([3.0, 3.0], "▁▁"),
        ([0.0, 7.0], "▁█"),
        ([7.0, 0.0], "█▁"),
        ([float(value) for value in range(8)], "▁▂▃▄▅▆▇█"),
        ([-math.inf, 1.0, 2.0], " ▁█"),
        ([-math.inf], ""),
        ([-1e308, 1e308], "▁▁"),  # no number says how far apart they are
    ],
)
def test_values_from_the_lowest_to_the_highest(values: list[float], expected: str) -> None:
    assert drawn(values) == expected


def test_a_long_course_keeps_its_shape_in_little_memory() -> None:
    curve = Sparkline(points=16)
    for value in range(10_001):
        curve.add(float(value))
    text = curve.text(10)
    assert len(text) == 10
    assert text == "".join(sorted(text))
    assert text[-1] == "█"
    assert len(curve.text(1000)) <= 33


def test_the_last_value_is_always_there() -> None:
    for count in range(1, 200):
        assert drawn([0.0] * count + [1.0], 12)[-1] == "█"


def test_a_curve_in_ascii() -> None:
    assert drawn([float(value) for value in range(8)], ascii_only=True) == "_.-=+*%#"
    assert drawn([1.0, 2.0], 0) == ""
