"""The records of a run as arrays, a column each, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.optimizers.records import Generation
from daedal.types import Json, State, StateError

_TIMES = ("cpu_seconds", "seconds", "objective_seconds")
_COLUMNS: dict[str, type] = {
    "evaluations": np.int64,
    "best": np.float64,
    "mean": np.float64,
    "sd": np.float64,
    "batches": np.int64,
    **dict.fromkeys(_TIMES, np.float64),
}


def history_state(history: Sequence[Generation]) -> State:
    """Give records as arrays, a column each; a run may have many generations."""
    arrays: dict[str, NDArray[Any]] = {
        name: np.array([_number(getattr(record, name)) for record in history], dtype=dtype)
        for name, dtype in _COLUMNS.items()
    }
    names = list(dict.fromkeys(name for record in history for name in record.info))
    for name in names:
        found = [record.info.get(name) for record in history]
        whole = all(value is None or isinstance(value, int) for value in found)
        values = [0 if value is None else value for value in found]
        arrays[f"info/{name}"] = np.array(values, dtype=np.int64 if whole else np.float64)
        arrays[f"has/{name}"] = np.array([value is not None for value in found])
    listed: list[Json] = list(names)
    return State(arrays=arrays, fields={"generations": len(history), "info": listed})


def restored_history(state: State) -> list[Generation]:
    """Make the records again."""
    count = state.whole("generations")
    columns = {name: _column(state, name, count, np.dtype(dtype).kind) for name, dtype in _COLUMNS.items()}
    if not all(np.isfinite(columns[name]).all() for name in _TIMES):
        raise StateError("expected times of records in seconds, got infinite ones")
    info = {
        str(name): (_column(state, f"info/{name}", count, "if"), _column(state, f"has/{name}", count, "b"))
        for name in state.listed("info")
    }
    return [
        Generation(
            generation=index,
            **{name: column[index].item() for name, column in columns.items() if name != "sd"},
            sd=None if np.isnan(columns["sd"][index]) else columns["sd"][index].item(),
            info={name: values[index].item() for name, (values, has) in info.items() if has[index]},
        )
        for index in range(count)
    ]


def _column(state: State, name: str, count: int, kinds: str) -> NDArray[Any]:
    array = state.arrays.get(name)
    if array is None or array.shape != (count,) or array.dtype.kind not in kinds:
        came = "none" if array is None else f"dtype={array.dtype}, shape={array.shape}"
        raise StateError(f"expected {count} records of {name!r}, got {came}")
    return array


def _number(value: float | None) -> float:
    return np.nan if value is None else value
