"""Quadratic functions of bits (QUBO, also BQP or UBQP), to be maximised."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from daedal.problems.best_known import read_best_known
from daedal.problems.pairs import PairSum
from daedal.problems.text_file import MOST_VARIABLES, WordReader, shown
from daedal.settings.checks import check_whole

_SIZES = f"`n m`, the numbers of variables (in 1..{MOST_VARIABLES}) and entries"
_WHAT, _HEADER = "a QUBO file", f"the number of problems, or {_SIZES}"


@dataclass(frozen=True, eq=False, repr=False)
class QUBO(PairSum):
    """A quadratic function: the sum of the weights of all pairs whose bits are both one.

    A pair of a variable with itself is what the variable alone is worth. Each pair counts as often as it is listed: a
    symmetric matrix Q has the weights Q_ij + Q_ji for i < j, and Q_ii.

    Parameters
    ----------
    n
        Number of variables, at least 1.
    pairs
        Integers in 0..n - 1, shape (m, 2).
    weights
        Their weights, shape (m,).
    known_optimum
        Largest fitness, where it is known.
    known_solution
        A row, shape (n,), that has it, where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> qubo = QUBO(2, np.array([[0, 0], [1, 1], [0, 1]]), np.array([3, 1, -2]))
    >>> qubo.evaluate(from_text("11")[None])
    array([2.])
    >>> qubo.optimum, qubo.solution
    (3.0, array([1, 0], dtype=uint8))
    """

    table = (0.0, 0.0, 0.0, 1.0)


def read_qubo(path: str | os.PathLike[str], problem: int = 1) -> QUBO:
    r"""Read a quadratic function: `n m`, and `i j q` for each entry of a symmetric matrix, counted from 1.

    The fitness is x'Qx, to be maximised, so that an entry with i != j, which is listed once, counts twice. Where the
    first line is a single number, that of the problems in the file (the format of Beasley's bqp files), one of them is
    read. Where there is only one, a file beside it with the same name and the ending .bkv has the best value known.

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
    ...     _ = path.write_text("1\n2 3\n1 1 3\n2 2 1\n1 2 -1\n")
    ...     read_qubo(path).optimum
    3.0
    """
    check_whole("problem", problem, least=1, of="qubo")
    words = WordReader(path, _WHAT, _HEADER)
    is_list = len(words.lines[0].split()) > 1
    count = 1 if is_list else words.whole(_HEADER, least=1)
    if problem > count:
        raise ValueError(f"{path} has {count} problem{'s'[: count != 1]}, got problem={problem}")
    for _ in range(problem):
        function = _read_one(words)
    if problem == count:
        words.end()
    if count > 1:
        return function
    return replace(function, known_optimum=read_best_known(path, float(function.weights.clip(0.0).sum())))


def _read_one(words: WordReader) -> QUBO:
    n = words.whole(_SIZES, least=1, most=MOST_VARIABLES)
    weights: dict[tuple[int, int], float] = {}
    for _ in range(words.whole(_SIZES)):
        i, j = (words.whole(f"a variable in 1..{n}", least=1, most=n) - 1 for _ in range(2))
        pair = (min(i, j), max(i, j))
        if pair in weights:
            raise words.bad("each entry of a symmetric matrix once", shown(f"{i + 1} {j + 1} again"))
        weights[pair] = words.number("an entry") * (1.0 if i == j else 2.0)
    pairs = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    return QUBO(n, pairs, np.array(list(weights.values()), dtype=np.float64))
