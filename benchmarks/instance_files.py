"""Functions that files describe: NK, MAX-SAT, spin glasses, MaxCut; see `instances`."""

from __future__ import annotations

import os
from pathlib import Path

from daedal.problems.registry import find_problem
from instance import Instance

DATA = Path(os.environ.get("DAEDAL_DATA", "../shared/data"))

KNOWN = {"s3v80c1000-1": 956.0}
"""Optima that neither the file says nor daedal finds out."""

FILES: dict[str, tuple[str, str]] = {
    "nk_30_4.1": ("nk", "nk/nk_30_4.1"),
    "s3v80c1000-1": ("maxsat", "maxsat/s3v80c1000-1.cnf"),
    **{f"uf50-0{i}": ("maxsat", f"maxsat/uf50-0{i}.cnf") for i in (1, 2, 3)},
    **{f"spin_{n}_{i}": ("ising", f"ising/IsingSpinGlass_pm_{n}_{i}.txt") for n in (36, 64, 100) for i in (0, 1)},
    "maxcut_dense_25": ("maxcut", "maxcut/dense-n0000025i00.txt"),
    "maxcut_dense_50": ("maxcut", "maxcut/dense-n0000050i00.txt"),
    "maxcut_sparse_49": ("maxcut", "maxcut/sparse-n0000049i00.txt"),
    "maxcut_sparse_100": ("maxcut", "maxcut/sparse-n0000100i00.txt"),
}
"""What kind of problem each instance is, and its file."""


def from_file(name: str, folder: Path = DATA) -> Instance:
    """Read an instance from its file."""
    kind, file = FILES[name]
    problem = find_problem(f"{kind}:{folder / file}")
    optimum = KNOWN.get(name, problem.optimum)
    return Instance(name, problem.n, problem.evaluate, optimum, getattr(problem, "solution", None))
