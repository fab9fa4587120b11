"""Functions that travel to other processes."""

from __future__ import annotations

import sys
import threading
from functools import partial

import pytest

from daedal.evaluation.pickling import pack, unpack


def double(value: int) -> int:
    return 2 * value


def test_what_can_be_imported_travels_by_name_and_the_rest_by_value() -> None:
    assert unpack(pack(double, "the objective")) is double
    assert unpack(pack(partial(double, 4), "the objective"))() == 8
    factor = 3
    travelled = unpack(pack(lambda value: factor * value, "the objective"))
    factor = 100
    assert travelled(5) == 15  # what was packed, packed


def test_what_cannot_travel_is_named(tmp_path: object) -> None:
    lock = threading.Lock()
    with open(f"{tmp_path}/open", "w") as file:
        for function in (lambda value: lock.locked(), lambda value: file.write("x")):
            with pytest.raises(
                TypeError, match=r"^the problem cannot be sent .*(lock|pickle files).* open file, a lock"
            ):
                pack(function, "the problem")


def test_without_cloudpickle_only_names_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert unpack(pack(double, "the objective")) is double
    with pytest.raises(TypeError, match=r'pip install "daedal\[parallel\]"'):
        pack(lambda value: value, "the objective")
