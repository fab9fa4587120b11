"""Spin glasses: spins that want to agree or to differ in pairs; minus the energy is the fitness."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from daedal.problems.pairs import PairSum
from daedal.problems.text_file import LARGEST, WordReader, as_number, shown
from daedal.types import from_text

_WHAT, _HEADER = "a spin glass", "the lowest energy, and a state of 0 and 1 that has it"


@dataclass(frozen=True, eq=False, repr=False)
class Ising(PairSum):
    """A spin glass: the sum of J s_i s_j over all couplings, which is minus the energy; a bit of one is a spin up.

    Parameters
    ----------
    n
        Number of spins, at least 1.
    pairs
        The coupled spins, integers in 0..n - 1, shape (m, 2).
    weights
        The couplings J, shape (m,): spins of a positive one want to agree.
    known_optimum
        Minus the lowest energy, where it is known.
    known_solution
        A ground state, shape (n,), where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> ring = Ising(3, np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 1, -1]))
    >>> ring.evaluate(from_text("110")[None])
    array([1.])
    >>> ring.optimum
    1.0
    """

    table = (1.0, -1.0, -1.0, 1.0)


def read_ising(path: str | os.PathLike[str]) -> Ising:
    r"""Read a spin glass: the lowest energy and a state that has it, the number of couplings, and `i j J` for each.

    Spins are counted from 0. The energy of the state has to be the one stated.

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
    ...     _ = path.write_text("-1 110\n3\n0 1 1\n1 2 1\n2 0 -1\n")
    ...     read_ising(path)
    Ising(n=3, pairs=3)
    """
    words = WordReader(path, _WHAT, _HEADER)
    first = words.lines[0].split()
    if len(first) != 2 or set(first[1]) - {"0", "1"}:
        raise words.bad(_HEADER, shown(words.lines[0]))
    energy = as_number(path, 1, words.word(_HEADER), _HEADER, least=-LARGEST, most=LARGEST)
    state = from_text(words.word(_HEADER))
    n = len(state)
    pairs, couplings = [], []
    for _ in range(words.whole("the number of couplings")):
        i, j = (words.whole(f"a spin in 0..{n - 1}", most=n - 1) for _ in range(2))
        if i == j:
            raise words.bad("two different spins", f"{i} twice")
        pairs.append((i, j))
        couplings.append(words.number("a coupling"))
    words.end()
    glass = Ising(
        n, np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(couplings), known_optimum=-energy,
        known_solution=state,
    )  # fmt: skip
    stated = -float(glass.evaluate(state[None])[0])
    if not np.isclose(stated, energy, rtol=1e-9, atol=1e-6):
        words.line = 1
        raise words.bad(f"a state of the energy {energy:.10g}", f"one of {stated:.10g}")
    return glass
