"""Multidimensional knapsacks from files in the format of the OR-Library."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from daedal.problems.knapsack import Knapsack
from daedal.problems.text_file import MOST_VARIABLES, WordReader, is_whole, read_lines
from daedal.settings.checks import check_whole

_WHAT, _HEADER = "a file of knapsacks", "the number of problems"
_MOST_NUMBERS = 10**8  # weights of one problem at the most
_SIZES = (
    f"`n m optimum`, the numbers of items (in 1..{MOST_VARIABLES}) and dimensions (n m at most {_MOST_NUMBERS}), "
    "and the best profit or 0"
)

BEST_VALUES = "best-feasible-slns.txt"
"""What the OR-Library's list of best values is called, for its files mknapcb1.txt to mknapcb9.txt."""


def read_mkp(path: str | os.PathLike[str], problem: int = 1) -> Knapsack:
    r"""Read a knapsack: the number of problems; for each `n m optimum`, n profits, m rows of n weights, m capacities.

    An optimum of 0 is unknown; then, for the files called mknapcb, the best value known is looked up in
    best-feasible-slns.txt in the same folder, where that is there.

    Parameters
    ----------
    path
        The file.
    problem
        Which problem of a file with several, from 1 on.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no such file; the message names file and line, what was expected there and what came.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.txt"
    ...     _ = path.write_text("1\n3 2 7\n3 4 5\n2 3 4\n1 1 1\n5 2\n")
    ...     read_mkp(path)
    Knapsack(n=3, m=2)
    """
    check_whole("problem", problem, least=1, of="mkp")
    words = WordReader(path, _WHAT, _HEADER)
    count = words.whole(_HEADER, least=1)
    if problem > count:
        raise ValueError(f"{path} has {count} problem{'s'[: count != 1]}, got problem={problem}")
    for number in range(1, problem + 1):
        knapsack = _read_one(words, number)
    if problem == count:
        words.end()
    return knapsack


def _read_one(words: WordReader, number: int) -> Knapsack:
    n = words.whole(_SIZES, least=1, most=MOST_VARIABLES)
    m = words.whole(_SIZES, least=1, most=_MOST_NUMBERS // n)
    optimum, line = words.number(_SIZES, least=0.0), words.line
    profits = [words.number("a profit of at least 0", least=0.0) for _ in range(n)]
    weights = [words.number("a weight of at least 0", least=0.0) for _ in range(m * n)]
    capacities = [words.number("a capacity of at least 0", least=0.0) for _ in range(m)]
    known = optimum or _best_known(words.path, f"{m}.{n}-{number - 1:02d}")
    if known is not None and known > sum(profits) * (1.0 + 1e-9):
        words.line = line
        raise words.bad(f"an optimum of at most all profits, {sum(profits):.10g}", f"{known:.10g}")
    return Knapsack(np.array(profits), np.array(weights).reshape(m, n), np.array(capacities), known_optimum=known)


def _best_known(path: Path, name: str) -> float | None:
    """Look up the best value known; in the list, a problem of 5 limits and 100 items is called 5.100-00."""
    beside = path.with_name(BEST_VALUES)
    if not re.fullmatch(r"mknapcb\d.*", path.name) or not beside.is_file():
        return None
    for line in read_lines(beside, "a list of best values", "text"):
        words = line.split()
        if len(words) == 2 and words[0] == name and is_whole(words[1]):
            return float(words[1])
    return None
