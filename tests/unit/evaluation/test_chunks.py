"""What workers do with the rows that they are sent."""

from __future__ import annotations

import pickle
import threading

import numpy as np

from daedal.evaluation.caller import Caller
from daedal.evaluation.chunks import MISUSE, ChunkFunction, RowsFunction, TimedFunction

X = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=np.uint8)


def odd(row: np.ndarray) -> float:
    if row.sum() == 2:
        raise ValueError("two")
    return float(row.sum())


def test_the_functions_of_workers_travel_and_agree() -> None:
    caller = Caller(odd, vectorized=False)
    for function in (ChunkFunction(caller), TimedFunction(caller, 60.0)):
        values, errors, seconds, _ = pickle.loads(pickle.dumps(function))((X, False))
        assert np.array_equal(values, [1.0, np.nan, 3.0], equal_nan=True)
        assert set(errors) == {1}
        assert "ValueError: two for the row 110" in errors[1]
        assert 0 <= seconds < 60
        began, one, two, three = pickle.loads(pickle.dumps(RowsFunction(caller)))((X, False))
        assert (began, one, three) == (None, (1.0, None, None), (3.0, None, None))
        assert np.isnan(two[0])
        assert two[1] == errors[1]


def test_a_chunk_may_end_with_its_first_failure() -> None:
    values, errors, *_ = ChunkFunction(Caller(odd, vectorized=False))((X[[1, 0, 1]], True))
    assert list(errors) == [0]
    assert np.isnan(values).all()


def test_an_objective_that_gives_no_number_is_not_the_fault_of_a_row() -> None:
    nothing = Caller(lambda x: None)
    values, errors, *_ = ChunkFunction(nothing)((X, False))
    assert list(errors) == [MISUSE]
    assert np.isnan(values).all()
    assert [part[1] for part in list(RowsFunction(nothing)((X, False)))[1:]] == [errors[MISUSE]] * 3


def test_a_row_that_hangs_in_somebody_elses_worker_is_left_alone() -> None:
    released = threading.Event()

    def hangs(row: np.ndarray) -> float:
        if row.sum() == 2:
            released.wait(60)
        return float(row.sum())

    try:
        values, errors, seconds, _ = TimedFunction(Caller(hangs, vectorized=False), 2.0)((X, False))
    finally:
        released.set()
    assert np.array_equal(values, [1.0, np.nan, 3.0], equal_nan=True)
    assert "timeout=2 s for the row 110" in errors[1]
    assert seconds >= 2.0
