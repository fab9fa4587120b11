"""Rows to begin with, and their values."""

from __future__ import annotations

import numpy as np
import pytest

import daedal

ROWS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])


def test_two_values_for_one_row_are_refused() -> None:
    with pytest.raises(ValueError, match="two values, 1 and 2"):
        daedal.maximize(lambda x: x.sum(axis=1), 3, initial=(ROWS, [1.0, 3.0, 2.0]))
    result = daedal.maximize(lambda x: x.sum(axis=1), 3, initial=(ROWS, [1.0, 3.0, 1.0]), seed=1)
    assert result.fitness == 3
