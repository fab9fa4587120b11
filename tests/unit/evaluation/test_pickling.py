"""Functions that travel to other processes."""

from __future__ import annotations

import sys
import threading
from functools import partial

import pytest

from daedal.evaluation.pickling import pack, unpack


def double(value: int) -> int:
    return 2 * value


def test_what_can_be_imported_travels_by_name() -> None:
    assert unpack(pack(double, "the objective")) is double
    assert unpack(pack(partial(double, 4), "the objective"))() == 8
    assert unpack(pack(len, "the objective")) is len


def test_lambdas_and_closures_travel_by_value() -> None:
    factor = 3
    travelled = unpack(pack(lambda value: factor * value, "the objective"))
    factor = 100
    assert travelled(5) == 15  # what was packed, packed


def test_what_cannot_travel_is_named() -> None:
    lock = threading.Lock()

    def locked(value: int) -> int:
        with lock:
            return value

    with pytest.raises(
        TypeError,
        match=r"^the objective cannot be sent to another process \(TypeError: cannot pickle '_thread.lock' object\); "
        r"does it hold an open file, a lock or a connection\? Open it inside the function$",
    ):
        pack(locked, "the objective")
    with pytest.raises(TypeError, match=r"^the problem cannot be sent"):
        pack(lock, "the problem")


def test_without_cloudpickle_only_names_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert unpack(pack(double, "the objective")) is double
    with pytest.raises(TypeError, match=r'^the objective cannot be sent .*; pip install "daedal\[parallel\]" lets lam'):
        pack(lambda value: value, "the objective")
