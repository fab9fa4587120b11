"""What several commands write alike: lines for eyes, files, folders."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from daedal.settings.checks import visible
from daedal.storage.atomic import replace_file
from daedal.storage.kinds import Kind, check_apart

_NARROWEST = 20  # columns beside a margin


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
        with _standard_error() as stream, redirect_stdout(stream):
            yield
    finally:
        _flush_all()
        os.dup2(kept, 1)
        os.close(kept)


def _standard_error() -> AbstractContextManager[TextIO | None]:
    """Give a stream of its own, line by line, to standard error: an objective may well close what it prints to."""
    ours = sys.__stderr__
    if ours is None or sys.stderr is not ours:
        return nullcontext(sys.stderr)  # somebody has put another one in its place
    return open(2, "w", buffering=1, encoding=ours.encoding, errors="backslashreplace", closefd=False)


def _flush_all() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def standard_error() -> Console:
    """Give a console on standard error, which is interactive on a terminal alone: colours may be forced upon a log."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return Console(stderr=True, highlight=False, force_interactive=None if is_terminal else False)


def say(text: str) -> None:
    """Write a line for eyes, to standard error."""
    write_line(standard_error(), Text(visible(text)))


def write_line(console: Console, text: Text, *, margin: str = "", hanging: str = "") -> None:
    """Write a line with something in its margin; where a terminal breaks it, then between words, beside the margin.

    What hangs is to the left of all but the first part, besides. Elsewhere it stays one line, whatever its length: it
    may be searched, or cut by programs.
    """
    if not console.is_terminal:
        console.print(Text(margin) + text, soft_wrap=True)
        return
    width = max(console.width - len(margin) - len(hanging), _NARROWEST)
    for number, line in enumerate(text.wrap(console, width)):
        line.rstrip()
        console.print(Text(" " * len(margin) + hanging if number else margin) + line, soft_wrap=True)


def shown(path: Path) -> str:
    """Write a path as short as it can be from the current folder on."""
    with suppress(OSError):  # that folder may be gone
        if path.is_relative_to(Path.cwd()):
            return str(path.relative_to(Path.cwd()))
    return str(path)


def is_standard(output: Path | None) -> bool:
    """Whether an output is standard output."""
    return output is None or str(output) in ("-", "/dev/stdout")


def check_output(output: Path | None, store: Path) -> None:
    """Refuse to write over the store that is read, or what SQLite keeps beside it."""
    if not is_standard(output):
        check_apart({"--store": store, "--output": output})


def write_pieces(pieces: Iterable[bytes], output: Path | None, kind: Kind) -> None:
    """Write bytes to a file, in place of one of its kind, or to standard output."""
    if output is not None and not is_standard(output):
        replace_file(output, lambda file: file.writelines(pieces), kind=kind)
        return
    if sys.stdout is None:
        raise ValueError("expected a standard output to write to, but it is closed; name a file with -o")
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
