"""Runs that survive: where a run stands, in a file, and how it goes on from there."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.optimizers.base import Generation
from daedal.storage.checkpoint_file import read_checkpoint_file, write_checkpoint_file
from daedal.types import Json, State

EVERY = "60s"

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass
class Checkpointer:
    """Says when to write a checkpoint, and writes it.

    Parameters
    ----------
    path
        The file; the one before it is kept beside, with ".previous" behind its name.
    every
        "60s" (also m and h): when so much time has passed, also in the middle of a generation where evaluations come
        back one by one; 5: after so many generations.

    Examples
    --------
    >>> Checkpointer("run.ckpt", "2m").seconds, Checkpointer("run.ckpt", 5).generations
    (120.0, 5)
    """

    path: str | os.PathLike[str]
    every: str | int = EVERY
    seconds: float | None = field(init=False, default=None)
    generations: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        text = str(self.every).strip()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text)
        if match and float(match[1]) > 0:
            self.seconds = float(match[1]) * _UNITS[match[2]]
        elif text.isdecimal() and int(text) > 0:
            self.generations = int(text)
        else:
            raise ValueError(
                'expected every to be a time, as in "60s", or a number of generations, as in 5, got '
                f"every={self.every!r}"
            )
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"expected a folder for the checkpoint at {folder}, found none")
        if Path(self.path).is_dir():
            raise ValueError(f"expected a file for the checkpoint, got the folder {self.path}")
        self._last = time.monotonic()

    def is_due(self, generation: int | None) -> bool:
        """Whether it is time, after a generation, or (None) in the middle of one."""
        if self.seconds is not None:
            return time.monotonic() - self._last >= self.seconds
        return generation is not None and self.generations is not None and generation % self.generations == 0

    def keep(self, state: State) -> None:
        """Write a checkpoint."""
        write_checkpoint_file(self.path, arrays=state.arrays, fields=state.fields)
        self._last = time.monotonic()


def load(path: str | os.PathLike[str]) -> State:
    """Read a checkpoint; nothing in it is run."""
    arrays, fields = read_checkpoint_file(path)
    return State(arrays=arrays, fields=fields)


def joined(parts: Mapping[str, State]) -> State:
    """Make one state of several, each under its name."""
    arrays = {f"{name}/{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
    return State(arrays=arrays, fields={name: dict(part.fields) for name, part in parts.items()})


def taken(state: State, name: str) -> State:
    """Give the part of a joined state that has a name."""
    arrays = {key.removeprefix(f"{name}/"): array for key, array in state.arrays.items() if key.startswith(f"{name}/")}
    return State(arrays=arrays, fields=state.inner(name).fields)


def history_state(history: Sequence[Generation]) -> State:
    """Give records as arrays, a column each; a run may have many generations."""
    arrays: dict[str, NDArray[Any]] = {
        "evaluations": np.array([record.evaluations for record in history], dtype=np.int64),
        **{
            name: np.array([getattr(record, name) for record in history], dtype=np.float64)
            for name in ("best", "mean", "cpu_seconds")
        },
    }
    for name in dict.fromkeys(name for record in history for name in record.info):
        found = [record.info.get(name) for record in history]
        whole = all(value is None or isinstance(value, int) for value in found)
        values = [0 if value is None else value for value in found]
        arrays[f"info/{name}"] = np.array(values, dtype=np.int64 if whole else np.float64)
        arrays[f"has/{name}"] = np.array([value is not None for value in found])
    names: list[Json] = [name.removeprefix("has/") for name in arrays if name.startswith("has/")]
    return State(arrays=arrays, fields={"generations": len(history), "info": names})


def history_of(state: State) -> list[Generation]:
    """Make the records again."""
    count = state.whole("generations")
    kinds = {"evaluations": "i", "best": "f", "mean": "f", "cpu_seconds": "f"}
    columns = {name: _column(state, name, count, kind) for name, kind in kinds.items()}
    if not np.isfinite(columns["cpu_seconds"]).all():
        raise ValueError("expected times as cpu_seconds, got infinite ones")
    names = [str(name) for name in state.listed("info")]
    info = {
        name: (_column(state, f"info/{name}", count, "if"), _column(state, f"has/{name}", count, "b")) for name in names
    }
    return [
        Generation(
            generation=index,
            evaluations=int(columns["evaluations"][index]),
            best=float(columns["best"][index]),
            mean=float(columns["mean"][index]),
            cpu_seconds=float(columns["cpu_seconds"][index]),
            info={name: values[index].item() for name, (values, has) in info.items() if has[index]},
        )
        for index in range(count)
    ]


def _column(state: State, name: str, count: int, kinds: str) -> NDArray[Any]:
    array = state.arrays.get(name)
    if array is None or array.shape != (count,) or array.dtype.kind not in kinds:
        came = "none" if array is None else f"dtype={array.dtype}, shape={array.shape}"
        raise ValueError(f"expected {count} records of {name!r} in the checkpoint, got {came}")
    return array
