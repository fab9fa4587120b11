"""Functions that files describe: NK, MAX-SAT, spin glasses, MaxCut; see `instances`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from daedal.problems import NK
from instance import Instance, from_tables

DATA = Path(os.environ.get("DAEDAL_DATA", "../shared/data"))


def nk(name: str, path: Path) -> Instance:
    """Read n and k, then each variable's neighbours, then the tables; the optimum is computed."""
    words = path.read_text(encoding="utf-8").partition("Optimum")[0].split()
    n, k = int(words[0]), int(words[1])
    end = 2 + n * (k + 1)
    neighbours = np.array(words[2:end], dtype=np.int64).reshape(n, k + 1)
    problem = NK(neighbours, np.array(words[end : end + n * 2 ** (k + 1)], dtype=np.float64).reshape(n, -1))
    scopes = [list(row) for row in neighbours]
    return from_tables(name, n, scopes, list(problem.tables), problem.optimum, problem.solution)


def maxsat(name: str, path: Path, optimum: float | None = None) -> Instance:
    """Read DIMACS: the number of clauses satisfied; all of them, unless an optimum is given."""
    scopes, rows, n = [], [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["p"]:
            n = int(words[2])
        elif words[:1] == ["%"]:
            break
        elif n and words and words[0] != "c":
            literals = [int(word) for word in words if word != "0"]
            fails = int("".join("1" if literal < 0 else "0" for literal in literals), 2)
            scopes.append([abs(literal) - 1 for literal in literals])
            rows.append(1.0 - (np.arange(2 ** len(literals)) == fails))
    return from_tables(name, n, scopes, rows, float(len(rows)) if optimum is None else optimum)


def spin_glass(name: str, path: Path) -> Instance:
    """Read couplings, the lowest energy and a state that has it: minus the energy."""
    lines = path.read_text(encoding="utf-8").splitlines()
    energy, state = lines[0].split()
    ground = np.array(list(state), dtype=np.uint8)
    couplings = [[int(word) for word in line.split()] for line in lines[2 : 2 + int(lines[1])]]
    agree = sum(J * (1 if ground[i] == ground[j] else -1) for i, j, J in couplings)
    sign = -float(energy) / agree  # +1 or -1: files differ in what they call a positive coupling
    rows = [sign * J * np.array([1.0, -1.0, -1.0, 1.0]) for _, _, J in couplings]
    return from_tables(name, len(ground), [[i, j] for i, j, _ in couplings], rows, -float(energy), ground)


def maxcut(name: str, path: Path) -> Instance:
    """Read weighted edges and the best cut known."""
    words = path.read_text(encoding="utf-8").split()
    n, count = int(words[0]), int(words[1])
    edges = [words[start : start + 3] for start in range(2, 2 + 3 * count, 3)]
    scopes = [[int(i) - 1, int(j) - 1] for i, j, _ in edges]
    best = float(path.with_suffix(".bkv").read_text(encoding="utf-8"))
    return from_tables(name, n, scopes, [float(w) * np.array([0.0, 1.0, 1.0, 0.0]) for _, _, w in edges], best)


FILES: dict[str, tuple[Callable[..., Instance], str]] = {
    "nk_30_4.1": (nk, "nk/nk_30_4.1"),
    "s3v80c1000-1": (partial(maxsat, optimum=956.0), "maxsat/s3v80c1000-1.cnf"),
    **{f"uf50-0{i}": (maxsat, f"maxsat/uf50-0{i}.cnf") for i in (1, 2, 3)},
    **{f"spin_{n}_{i}": (spin_glass, f"ising/IsingSpinGlass_pm_{n}_{i}.txt") for n in (36, 64, 100) for i in (0, 1)},
    "maxcut_dense_25": (maxcut, "maxcut/dense-n0000025i00.txt"),
    "maxcut_dense_50": (maxcut, "maxcut/dense-n0000050i00.txt"),
    "maxcut_sparse_49": (maxcut, "maxcut/sparse-n0000049i00.txt"),
    "maxcut_sparse_100": (maxcut, "maxcut/sparse-n0000100i00.txt"),
}
"""What reads each instance, and from which file."""


def from_file(name: str, folder: Path = DATA) -> Instance:
    """Read an instance from its file."""
    read, file = FILES[name]
    return read(name, folder / file)
