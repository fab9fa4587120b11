"""What several commands write alike: lines for eyes, files, folders."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from rich.console import Console

_LONGEST_NAME = 60  # of a file: a letter may take four of its 255 bytes


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null stands for the fitness of a run that found nothing feasible."""
    return value if value is None or math.isfinite(value) else None


@contextmanager
def stdout_kept() -> Iterator[None]:
    """Keep standard output for ourselves: what objectives, their children or C code write there goes to standard error.

    So does what they have buffered, which would come out at the very end.
    """
    _flush_all()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_all()
        os.dup2(kept, 1)
        os.close(kept)


def _flush_all() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)


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
    """Give a name that every file system takes, without an ending."""
    plain = re.sub(r"[^\w.]+|_+", "-", name.replace("=", "")).strip("-.")
    return plain[:_LONGEST_NAME] or "figure"
