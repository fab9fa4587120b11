"""Axes: labels at round numbers, however little they span."""

from __future__ import annotations

import pytest

from daedal.report.figures import log_axis, numbers


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0037, 0.00866], ["0.004", "0.005", "0.006", "0.007", "0.008", "0.009"]),
        ([120, 900], ["200", "500"]),
        ([1, 1e6], ["1", "10", "100", "1k", "10k", "100k", "1M"]),
        ([1.02, 1.06], ["1", "1.1"]),
    ],
)
def test_a_logarithmic_axis_says_so_and_has_round_labels(values: list[float], labels: list[str]) -> None:
    axis = log_axis("seconds", values)
    assert "(log)" in str(axis["title"])
    assert axis["ticktext"] == labels


def test_no_number_is_minus_nothing() -> None:
    assert str(numbers([-0.0, 1.0])) == "[0.0, 1.0]"
