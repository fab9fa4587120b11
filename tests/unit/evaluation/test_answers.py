"""Merits: one number that says which of two candidates is better, feasible or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedal.evaluation.answers import best_of, merits, total_violation
from daedal.types import INFEASIBLE, is_feasible

VALUES = st.floats(-1e199, 1e199) | st.integers(-3, 3).map(float)
OUTPUTS = st.floats(-1e40, 1e40) | st.integers(-2, 2).map(float)


def rounded(violation: float) -> float:
    """Return a violation with the first 24 bits after the leading one, which merits tell apart."""
    bits = np.array([1e250 * min(max(violation, 1e-49), 1e50)]).view(np.uint64) & ~np.uint64(2**28 - 1)
    return float(bits.view(np.float64)[0])


@given(st.lists(st.tuples(VALUES, OUTPUTS, OUTPUTS), min_size=2, max_size=12), st.sampled_from([1, -1]))
def test_merits_have_the_order_of_violations_and_then_of_values(rows: list[tuple[float, ...]], sign: int) -> None:
    outputs = np.array(rows)
    merit, total = sign * merits(outputs, sign), total_violation(outputs)
    assert (is_feasible(merit) == (total <= 0)).all()
    assert (merit[total <= 0] == sign * outputs[total <= 0, 0]).all()
    for i in range(len(rows)):
        for j in range(len(rows)):
            one, two = (float(total[k]) and rounded(total[k]) for k in (i, j))
            if one < two:
                assert merit[i] > merit[j]
            elif one == two and sign * outputs[i, 0] > sign * outputs[j, 0]:
                assert merit[i] >= merit[j]
                assert one > 0 or merit[i] > merit[j]


def test_fitness_decides_among_equal_violations() -> None:
    outputs = np.column_stack([np.r_[-1e9, -1.0, 0.0, 1e-3, 1.0, 1.001, 1e100], np.full(7, 2.5)])
    assert (np.diff(merits(outputs, 1)) > 0).all()
    assert (np.diff(merits(outputs, -1)) > 0).all()  # in the objective's own sign
    assert (merits(outputs, 1) < INFEASIBLE).all()
    assert (merits(outputs, -1) > -INFEASIBLE).all()


def test_what_the_value_says_is_infeasible_is_the_worst() -> None:
    assert merits(np.array([[-np.inf, -1.0], [0.0, 1e60]]), 1).tolist()[0] == -np.inf
    assert merits(np.array([[np.inf, 3.0]]), -1).tolist() == [np.inf]
    assert np.isnan(merits(np.array([[np.nan, np.nan]]), 1)).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_row_is_exact_where_merits_are_rounded(sign: int) -> None:
    x = np.eye(4, dtype=np.uint8)
    outputs = np.array([[np.nan, np.nan], [sign * 9.0, 1.0], [sign * 1.0, 1.0 - 1e-12], [sign * 1.0, 1.0 - 1e-12]])
    best = best_of(x, outputs, sign)
    assert best is not None
    assert best.x.tolist() == x[2].tolist()
    assert best.violation == 1.0 - 1e-12
    assert best_of(x[:1], outputs[:1], sign) is None
