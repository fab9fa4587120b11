"""NK landscapes as text files: `n k`, the neighbours, the tables, one number per line, and `Optimum: x`."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np

from daedal.problems.nk import NK, check_tables
from daedal.storage.atomic import replace_file
from daedal.storage.inputs import read_plain_file
from daedal.storage.kinds import Kind

_WHOLE = re.compile(r"\d{1,15}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_OPTIMUM = "Optimum:"

NK_FILE = Kind("an NK file", re.compile(rb"\s*\d{1,15}[ \t]+\d{1,15}[ \t]*\r?\n[ \t]*\d{1,15}[ \t]*\r?\n"))
"""What `write_nk` writes, and replaces."""


def read_nk(path: str | os.PathLike[str]) -> NK:
    r"""Read a landscape from a file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not an NK file; the message names file and line, what was expected there and what came.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.nk"
    ...     _ = path.write_text("1 0\n0\n0.25\n0.75\nOptimum: 0.75")
    ...     read_nk(path)
    NK(n=1, k=0)
    """
    lines = _lines(Path(path))
    n, k = _header(path, lines[0])
    optimum = None
    if len(lines) > 1 and lines[-1].startswith(_OPTIMUM):
        optimum = _number(path, len(lines), lines.pop().removeprefix(_OPTIMUM).strip())
    split = 1 + n * (k + 1)
    expected = split + n * 2 ** (k + 1)
    if len(lines) < expected:
        raise _bad(path, len(lines) + 1, f"{expected - len(lines)} more numbers for n={n}, k={k}", "the end")
    if len(lines) > expected:
        raise _bad(path, expected + 1, f"the end or `{_OPTIMUM} x`", _shown(lines[expected]))
    neighbours = [_index(path, at, text, n) for at, text in enumerate(lines[1:split], start=2)]
    for start in range(0, len(neighbours), k + 1):
        row = neighbours[start : start + k + 1]
        if len(set(row)) < k + 1:
            raise _bad(path, start + 2, f"{k + 1} different neighbours from here on", str(row))
    values = [_number(path, at, text) for at, text in enumerate(lines[split:], start=split + 1)]
    landscape = NK(
        np.array(neighbours, dtype=np.int64).reshape(n, k + 1),
        np.array(values, dtype=np.float64).reshape(n, 2 ** (k + 1)),
        known_optimum=optimum,
    )
    exact = landscape.quick_optimum()
    if optimum is not None and exact is not None and not math.isclose(optimum, exact, rel_tol=1e-6, abs_tol=1e-6):
        raise _bad(path, len(lines) + 1, f"the optimum of the tables above, {exact:.10g}", f"{optimum:.10g}")
    return landscape


def write_nk(nk: NK, path: str | os.PathLike[str]) -> None:
    """Write a landscape, with its optimum where that is known or cheap.

    What is read back is equal to the bit. The file appears at once and whole, or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "small.nk"
    ...     write_nk(NK.random(n=3, k=1, seed=0), path)
    ...     read_nk(path)
    NK(n=3, k=1)
    """
    lines = [f"{nk.n} {nk.k}"]
    lines += map(str, nk.neighbours.ravel().tolist())
    lines += map(repr, nk.tables.ravel().tolist())
    if nk.optimum is not None:
        lines.append(f"{_OPTIMUM} {float(nk.optimum)!r}")
    text = "\n".join(lines) + "\n"
    replace_file(path, lambda file: file.write(text.encode("ascii")), kind=NK_FILE)


def _lines(path: Path) -> list[str]:
    """Read the lines of a file, without the blanks around them and the empty ones at the end."""
    try:
        text = read_plain_file(path, NK_FILE.what).decode("ascii")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _bad(path, line, "plain text", f"the byte 0x{error.object[error.start]:02x}") from None
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if lines == [""]:
        raise _bad(path, 1, "`n k`", "an empty file")
    return lines


def _header(path: str | os.PathLike[str], text: str) -> tuple[int, int]:
    words = text.split()
    if len(words) != 2 or not all(_WHOLE.fullmatch(word) for word in words):
        raise _bad(path, 1, "`n k`, two whole numbers", _shown(text))
    n, k = map(int, words)
    if not k < n:
        raise _bad(path, 1, "`n k` with 0 <= k < n", _shown(text))
    try:
        check_tables(n, k)
    except ValueError as error:
        raise ValueError(f"{path}, line 1: {error}") from None
    return n, k


def _index(path: str | os.PathLike[str], line: int, text: str, n: int) -> int:
    if not _WHOLE.fullmatch(text) or int(text) >= n:
        raise _bad(path, line, f"a neighbour in 0..{n - 1}", _shown(text))
    return int(text)


def _number(path: str | os.PathLike[str], line: int, text: str) -> float:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise _bad(path, line, "a finite number", _shown(text))
    return float(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _bad(path: str | os.PathLike[str], line: int, expected: str, came: str) -> ValueError:
    return ValueError(f"{path}, line {line}: expected {expected}, got {came}")
