"""What several commands read and write alike."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from daedal.bits import from_text

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def pairs(words: list[str]) -> dict[str, str]:
    """Read the words of `--set`."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise ValueError(f"expected --set key=value, as in --set corruption=0.05, got {word!r}")
        key = key.strip().replace("-", "_")
        if key in found:
            raise ValueError(f"expected --set {key} once, got it twice")
        found[key] = value.strip()
    return found


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null stands for the fitness of a run that found nothing feasible."""
    return value if value is None or math.isfinite(value) else None


def say(text: str) -> None:
    """Write a line for eyes, to standard error."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def check_output(output: Path | None, store: Path) -> None:
    """Refuse to write over the store that is read."""
    journals = [store.with_name(f"{store.name}-{end}") for end in ("wal", "shm")]
    if output is not None and any(
        output.exists() and one.exists() and output.samefile(one) for one in (store, *journals)
    ):
        raise ValueError(f"expected another file to write to than the store, got {output} for both")


def write_pieces(pieces: Iterable[bytes], output: Path | None) -> None:
    """Write bytes to a file, which is there as a whole or not at all, or to standard output."""
    if output is None:
        if sys.stdout is None:
            raise ValueError("expected a standard output to write to, but it is closed; name a file with -o")
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        with _replaced(output) as file:
            file.writelines(pieces)
    except OSError as error:
        if isinstance(error, TimeoutError) or error.strerror is None:  # of what is read
            raise
        raise ValueError(
            f"expected a file to write to at {output}, but it cannot be written: {error.strerror}"
        ) from error


@contextmanager
def _replaced(output: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the other one's place when it is complete; a device or a pipe is written to directly."""
    place = output.resolve()
    if place.exists() and not place.is_file():
        with output.open("wb") as file:
            yield file
        return
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def new_folder(folder: Path) -> None:
    """Make a folder, where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"expected a folder to write to at {folder}, but it cannot be made: {error.strerror}"
        ) from error


def file_name(name: str) -> str:
    """Give a name that every file system takes.

    Examples
    --------
    >>> file_name("trap:k=5,n=75")
    'trap-k5-n75'
    """
    return re.sub(r"[^\w.]+|_+", "-", name.replace("=", "")).strip("-.") or "figure"


def read_rows(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | NDArray[np.uint8]:
    """Read rows of 0/1, one a line, all with a value behind them, or none; lines that begin with # are comments."""
    try:
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise ValueError(f"expected text with lines of 0/1 in {path}, but it is no text: {error}") from error
    words = [line for line in lines if line and not line[0].startswith("#")]
    widths = {(len(line), len(line[0])) for line in words}
    if len(widths) != 1 or next(iter(widths))[0] > 2:
        raise ValueError(f"expected lines of as many 0/1 each in {path}, all with one value behind them or none")
    rows = np.array([from_text(line[0]) for line in words])
    if len(words[0]) == 1:
        return rows
    try:
        return rows, np.array([float(line[1]) for line in words])
    except ValueError as error:
        raise ValueError(f"expected a number behind each row in {path}: {error}") from error
