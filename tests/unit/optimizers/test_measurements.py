"""Rows that were measured several times: against NumPy's own means and deviations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedal.optimizers.measurements import Measurements
from daedal.types import State, StateError

ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8)


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3)), min_size=1, max_size=6), max_size=8))
def test_means_and_errors_are_those_of_all_values_of_a_row(batches: list[list[tuple[int, float]]]) -> None:
    measured, known = Measurements(2), dict[int, list[float]]()
    for batch in batches:
        measured.add(ROWS[[row for row, _ in batch]], np.array([value for _, value in batch]))
        for row, value in batch:
            known.setdefault(row, []).append(value)
    assert measured.rows.tolist() == ROWS[list(known)].tolist()  # in the order in which they came
    assert measured.counts.tolist() == [len(values) for values in known.values()]
    for place, values in enumerate(known.values()):
        assert measured.means[place] == pytest.approx(np.mean(values), abs=1e-9)
        error = None if len(values) < 2 else np.std(values, ddof=1) / np.sqrt(len(values))
        assert measured.standard_error(place) == (None if error is None else pytest.approx(error, abs=1e-6))
    again = [values for values in known.values() if len(values) > 1]
    squares = sum(np.var(values) * len(values) for values in again)
    expected = np.sqrt(squares / sum(len(values) - 1 for values in again)) if again else 0.0
    assert measured.noise == pytest.approx(expected, abs=1e-6)


def test_a_small_scatter_of_large_values_is_not_lost() -> None:
    measured = Measurements(2)
    measured.add(ROWS[[0, 0, 0]], 1e12 + np.array([0.0, 1.0, 2.0]))
    assert measured.standard_error(0) == pytest.approx(1 / np.sqrt(3))
    assert measured.means[0] == 1e12 + 1


def test_what_was_infeasible_once_is() -> None:
    measured = Measurements(2)
    measured.add(ROWS[[0, 0, 1, 0]], np.array([5.0, -np.inf, 1.0, 7.0]))
    assert measured.means.tolist() == [-np.inf, 1.0]
    assert measured.standard_error(0) is None
    assert measured.noise == 0.0
    assert measured.ranked().tolist() == [1, 0]


def test_a_mean_of_many_ranks_before_a_lucky_value() -> None:
    measured = Measurements(2)
    measured.add(ROWS[[0] * 10], 10.0 + np.tile([-1.0, 1.0], 5))
    measured.add(ROWS[[1]], np.array([12.0]))
    assert measured.ranked()[0] == 0
    measured.add(ROWS[[2]], np.array([15.0]))
    assert measured.ranked()[0] == 2


def test_only_the_best_are_kept_and_their_values_with_them() -> None:
    measured = Measurements(8, most=3)
    rows = np.unpackbits(np.arange(100, dtype=np.uint8)[:, None], axis=1)
    measured.add(rows, np.arange(100.0))
    measured.add(rows[[99]], np.array([99.0]))
    assert len(measured) <= 6
    best = measured.rows[measured.ranked()[:3]]
    assert np.packbits(best, axis=1).ravel().tolist() == [99, 98, 97]
    assert measured.counts[measured.ranked()[0]] == 2


def test_a_state_gives_it_back_and_nonsense_is_refused() -> None:
    measured, other = Measurements(2), Measurements(2)
    measured.add(ROWS[[0, 1, 0]], np.array([1.0, -np.inf, 4.0]))
    other.restore(measured.state())
    for one in (measured, other):
        one.add(ROWS[[0, 2]], np.array([2.0, 3.0]))
    assert other.means.tolist() == measured.means.tolist()
    assert other.counts.tolist() == measured.counts.tolist()
    for name, wrong in (("counts", np.array([-1.0, 1.0, 1.0])), ("sums", np.zeros(1)), ("rows", ROWS[[0, 0, 1]])):
        state = measured.state()
        with pytest.raises(StateError):
            Measurements(2).restore(State(arrays={**state.arrays, name: wrong}, fields={}))
