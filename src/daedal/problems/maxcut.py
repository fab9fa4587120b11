"""MaxCut: the weight of the edges between two halves of a graph."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from daedal.problems.best_known import read_best_known
from daedal.problems.pairs import PairSum
from daedal.problems.text_file import MOST_VARIABLES, WordReader

_WHAT, _HEADER = "a graph", f"`n m`, the numbers of vertices (in 1..{MOST_VARIABLES}) and edges"


@dataclass(frozen=True, eq=False, repr=False)
class MaxCut(PairSum):
    """The weight of a cut: the sum of the weights of all edges whose ends have different bits.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    pairs
        The edges, integers in 0..n - 1, shape (m, 2).
    weights
        Their weights, shape (m,); they may be negative.
    known_optimum
        Largest weight, where it is known.
    known_solution
        A cut, shape (n,), that has it, where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> triangle = MaxCut(3, np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 2, 3]))
    >>> triangle.evaluate(from_text("100")[None])
    array([4.])
    >>> triangle.optimum
    5.0
    """

    table = (0.0, 1.0, 1.0, 0.0)


def read_maxcut(path: str | os.PathLike[str]) -> MaxCut:
    r"""Read a graph: `n m`, and `i j weight` for each edge, with vertices counted from 1.

    A file beside it with the same name and the ending .bkv has the best value known, which is taken for the optimum.

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
    ...     path = pathlib.Path(folder) / "triangle.txt"
    ...     _ = path.write_text("3 3\n1 2 1\n2 3 2\n3 1 3\n")
    ...     read_maxcut(path)
    MaxCut(n=3, pairs=3)
    """
    words = WordReader(path, _WHAT, _HEADER)
    n = words.whole(_HEADER, least=1, most=MOST_VARIABLES)
    pairs, weights = [], []
    for _ in range(words.whole(_HEADER)):
        i, j = (words.whole(f"a vertex in 1..{n}", least=1, most=n) for _ in range(2))
        if i == j:
            raise words.bad("two different vertices", f"{i} twice")
        pairs.append((i - 1, j - 1))
        weights.append(words.number("the weight of an edge"))
    words.end()
    graph = MaxCut(n, np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(weights, dtype=np.float64))
    return replace(graph, known_optimum=read_best_known(path, float(graph.weights.clip(0.0).sum())))
