"""What several commands read and write alike."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

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


def write_pieces(pieces: Iterable[bytes], output: Path | None) -> None:
    """Write bytes to a file, or to standard output."""
    if output is None:
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    with output.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def file_name(name: str) -> str:
    """Give a name that every file system takes.

    Examples
    --------
    >>> file_name("trap:k=5,n=75")
    'trap-k5-n75'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name.replace("=", "")).strip("-.") or "figure"
