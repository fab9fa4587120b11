"""What workers do with the rows that they are sent."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from daedal.evaluation.caller import Caller, ObjectiveError
from daedal.evaluation.chunks import MISUSE, ChunkFunction, PiecesFunction, TimedFunction

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
    began, *each = pickle.loads(pickle.dumps(PiecesFunction(caller, timed=True)))((X, False))
    assert began is None
    assert np.array_equal([piece[0] for piece in each], [[1.0], [np.nan], [3.0]], equal_nan=True)
    assert [piece[1] for piece in each] == [{}, {0: errors[1]}, {}]


def test_a_chunk_may_end_with_its_first_failure() -> None:
    values, errors, *_ = ChunkFunction(Caller(odd, vectorized=False))((X[[1, 0, 1]], True))
    assert list(errors) == [0]
    assert np.isnan(values).all()


def test_an_objective_that_gives_no_number_is_not_the_fault_of_a_row() -> None:
    nothing = Caller(lambda x: None)
    values, errors, *_ = ChunkFunction(nothing)((X, False))
    assert list(errors) == [MISUSE]
    assert np.isnan(values).all()


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


def test_workers_tell_of_pieces() -> None:
    def f(x: Any) -> Any:
        if len(x) > 1 and x[:, 0].any():
            raise RuntimeError("not together")
        if x.all():
            raise ValueError("all")
        return x.sum(axis=1)

    caller, x = Caller(f), np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0]], np.uint8)
    assert [piece[0].tolist() for piece in PiecesFunction(caller)((x[:2], True))] == [[0, 1]]  # type: ignore[index]
    ((values, errors, _, _),) = PiecesFunction(caller)((x, False))  # type: ignore[misc]
    assert np.array_equal(values, [0, 1, 1, np.nan, 0], equal_nan=True)
    assert "ValueError: all for the row 11" in errors[3]
    assert [len(piece[0]) for piece in PiecesFunction(caller)((x, True))] == [4]  # type: ignore[index]
    began, *each = PiecesFunction(caller, timed=True)((x, False))
    assert (began, [len(piece[0]) for piece in each]) == (None, [1] * 5)  # type: ignore[index]
    with pytest.raises(ObjectiveError, match="not together"):
        list(PiecesFunction(caller)((x[:3], True)))
    *_, misuse = PiecesFunction(Caller(lambda row: None, vectorized=False))((x, False))
    assert list(misuse[1]) == [MISUSE]  # type: ignore[index]
