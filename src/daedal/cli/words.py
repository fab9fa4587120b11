"""What several commands read and write alike."""

from __future__ import annotations

import math
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from daedal.cli import INTERRUPTED as INTERRUPTED
from daedal.types import from_text

_LONGEST_NAME = 60  # of a file: a letter may take four of its 255 bytes


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


def settings_of(words: list[str] | None, popsize: int | None) -> dict[str, str | int]:
    """Give what `--set` and `--popsize` set."""
    found: dict[str, str | int] = {**pairs(words or [])}
    if popsize is not None:
        if "popsize" in found:
            raise ValueError("expected --popsize or --set popsize=P, got both")
        found["popsize"] = popsize
    return found


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null stands for the fitness of a run that found nothing feasible."""
    return value if value is None or math.isfinite(value) else None


def say(text: str) -> None:
    """Write a line for eyes, to standard error."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def check_output(output: Path | None, store: Path) -> None:
    """Refuse to write over the store that is read, or what SQLite keeps beside it."""
    beside = [store.with_name(f"{store.name}{end}") for end in ("", "-wal", "-shm", "-journal", ".lock")]
    if output is None:
        return
    if output.resolve() in [one.resolve() for one in beside] or any(
        output.exists() and one.exists() and output.samefile(one) for one in beside
    ):
        raise ValueError(f"expected another file to write to than the store and what belongs to it, got {output}")


def write_pieces(pieces: Iterable[bytes], output: Path | None) -> None:
    """Write bytes to a file, or to standard output."""
    if output is None or str(output) in ("-", "/dev/stdout"):
        if sys.stdout is None:
            raise ValueError("expected a standard output to write to, but it is closed; name a file with -o")
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    with tempfile.TemporaryFile() as whole:  # what was in the file stays there until all of it is made
        whole.writelines(pieces)
        whole.seek(0)
        try:
            with output.open("wb") as file:
                shutil.copyfileobj(whole, file)
        except OSError as error:
            raise ValueError(
                f"expected a file to write to at {output}, but it cannot be written: {error.strerror}"
            ) from error


def new_folder(folder: Path) -> None:
    """Make a folder, where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"expected a folder to write to at {folder}, but it cannot be made: {error.strerror}"
        ) from error


def file_name(name: str) -> str:
    """Give a name that every file system takes, without an ending.

    Examples
    --------
    >>> file_name("trap:k=5,n=75")
    'trap-k5-n75'
    """
    plain = re.sub(r"[^\w.]+|_+", "-", name.replace("=", "")).strip("-.")
    return plain[:_LONGEST_NAME] or "figure"


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
