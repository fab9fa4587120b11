"""NK landscapes as text files: `n k`, the neighbours, the tables, one number per line, and `Optimum: x`."""

from __future__ import annotations

import math
import os
import re

import numpy as np

from daedal.problems.nk import NK, check_tables
from daedal.problems.text_file import as_number, as_whole, bad, is_whole, read_lines, shown
from daedal.storage.atomic import replace_file
from daedal.storage.inputs import LARGEST
from daedal.storage.kinds import Kind

_HEADER = "`n k`, two whole numbers"
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
    lines = read_lines(path, NK_FILE.what, _HEADER, most=LARGEST)
    n, k = _header(path, lines[0])
    optimum = None
    if len(lines) > 1 and lines[-1].startswith(_OPTIMUM):
        optimum = as_number(path, len(lines), lines.pop().removeprefix(_OPTIMUM).strip())
    split = 1 + n * (k + 1)
    expected = split + n * 2 ** (k + 1)
    if len(lines) < expected:
        raise bad(path, len(lines) + 1, f"{expected - len(lines)} more numbers for n={n}, k={k}", "the end")
    if len(lines) > expected:
        raise bad(path, expected + 1, f"the end or `{_OPTIMUM} x`", shown(lines[expected]))
    within = f"a neighbour in 0..{n - 1}"
    neighbours = [as_whole(path, at, text, within, most=n - 1) for at, text in enumerate(lines[1:split], start=2)]
    for start in range(0, len(neighbours), k + 1):
        row = neighbours[start : start + k + 1]
        if len(set(row)) < k + 1:
            raise bad(path, start + 2, f"{k + 1} different neighbours from here on", str(row))
    values = [as_number(path, at, text) for at, text in enumerate(lines[split:], start=split + 1)]
    landscape = NK(
        np.array(neighbours, dtype=np.int64).reshape(n, k + 1),
        np.array(values, dtype=np.float64).reshape(n, 2 ** (k + 1)),
        known_optimum=optimum,
    )
    exact = landscape.quick_optimum()
    if optimum is not None and exact is not None and not math.isclose(optimum, exact, rel_tol=1e-6, abs_tol=1e-6):
        raise bad(path, len(lines) + 1, f"the optimum of the tables above, {exact:.10g}", f"{optimum:.10g}")
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


def _header(path: str | os.PathLike[str], text: str) -> tuple[int, int]:
    words = text.split()
    if len(words) != 2 or not all(map(is_whole, words)):
        raise bad(path, 1, _HEADER, shown(text))
    n, k = map(int, words)
    if not k < n:
        raise bad(path, 1, "`n k` with 0 <= k < n", shown(text))
    try:
        check_tables(n, k)
    except ValueError as error:
        raise ValueError(f"{path}, line 1: {error}") from None
    return n, k
