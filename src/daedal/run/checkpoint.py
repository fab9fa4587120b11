"""Runs that survive: when a checkpoint is due, and how it is written."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from daedal.storage.atomic import previous_path
from daedal.storage.checkpoint_file import CHECKPOINT, read_checkpoint_file, write_checkpoint_file
from daedal.storage.kinds import check_place
from daedal.types import State

EVERY = "60s"

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Checkpointer:
    """Says when a checkpoint is due, and writes it; the file before it is kept as ".previous".

    `every` is "60s" (also m and h): when that much time has passed, also in the middle of a generation; or 5: after
    that many generations. A checkpoint that is there when this is made holds an earlier run, and is replaced only with
    `overwrite`; one that somebody else puts there later is not replaced at all. `advice` says how to go on with the
    earlier run, and how to replace it, where that is not done in Python.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: str | int = EVERY,
        *,
        overwrite: bool = False,
        advice: str = "",
        clock: Callable[[], float] = time.monotonic,
        write: Callable[..., None] = write_checkpoint_file,
    ) -> None:
        self.path = Path(os.path.abspath(path))  # now: an objective may change the folder
        self.seconds, self.generations = _interval(every)
        for place in (self.path, previous_path(self.path)):
            check_place(place, CHECKPOINT)
        if not overwrite and _holds_rows(self.path):
            advice = advice or (
                f"daedal.resume({str(self.path)!r}, objective) goes on with it, overwrite=True begins anew"
            )
            raise FileExistsError(f"{self.path} holds an earlier run: {advice}; or name another file")
        self._clock = clock
        self._write = write
        self._last = clock()
        self._left = _fingerprint(self.path)

    def is_due(self, generation: int | None) -> bool:
        """Whether it is time, after a generation, or (None) in the middle of one."""
        if self.seconds is not None:
            return self._clock() - self._last >= self.seconds
        return generation is not None and self.generations is not None and generation % self.generations == 0

    def write(self, state: State) -> None:
        """Write a checkpoint."""
        if (found := _fingerprint(self.path)) is not None and found != self._left:
            raise FileExistsError(
                f"the checkpoint {self.path} is not as this run left it: does another one write there?"
            )
        self._write(self.path, arrays=state.arrays, fields=state.fields)
        self._last = self._clock()
        self._left = _fingerprint(self.path)


def _holds_rows(path: Path) -> bool:
    """Whether anything would be lost with a checkpoint: a run that failed at its first row leaves one, too."""
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        evaluator = load_checkpoint(path).part("evaluator")
        return "partial" in evaluator.arrays or any(map(evaluator.whole, ("evaluated", "cached", "failed")))
    except ValueError:  # damaged, or of another version: who knows what can be saved
        return True


def _fingerprint(path: Path) -> tuple[int, int, int] | None:
    """Tell one file from another that was put in its place; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _interval(every: str | int) -> tuple[float | None, int | None]:
    """Read when to write: every so many seconds, or every so many generations."""
    text = str(every).strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text)
    if match and float(match[1]) > 0:
        return float(match[1]) * _UNITS[match[2]], None
    if text.isdecimal() and int(text) > 0:
        return None, int(text)
    raise ValueError(f'every is a time, as in "60s", or a number of generations, as in 5, got every={every!r}')


def load_checkpoint(path: str | os.PathLike[str]) -> State:
    """Read a checkpoint; nothing in it is run."""
    arrays, fields = read_checkpoint_file(path)
    return State(arrays=arrays, fields=fields)
