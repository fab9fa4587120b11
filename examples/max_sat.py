"""A MAX-SAT file: write a random formula of three literals a clause, and satisfy as many clauses as possible.

    python examples/max_sat.py [FILE.cnf]

With a file of your own (DIMACS cnf) that one is read. It is the same as: daedal solve maxsat:FILE.cnf
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import daedal

VARIABLES, CLAUSES = 60, 300


def write_formula(path: Path, rng: np.random.Generator) -> None:
    """Write clauses of three different variables each, of which each is negated or not."""
    lines = [f"p cnf {VARIABLES} {CLAUSES}"]
    for _ in range(CLAUSES):
        variables = 1 + rng.choice(VARIABLES, 3, replace=False)
        lines.append(" ".join(map(str, variables * rng.choice([-1, 1], 3))) + " 0")
    path.write_text("\n".join(lines) + "\n")


def solve(path: Path) -> None:
    """Compare a good search and a plain one on the formula of a file."""
    problem = daedal.problems.read_maxsat(path)
    print(f"{path.name}: {problem.n} variables, {len(problem.clauses)} clauses")
    print("algorithm  calls  satisfied")
    for algorithm in ("umda", "auto"):
        for calls in (300, 3000):
            result = daedal.maximize(f"maxsat:{path}", algorithm=algorithm, max_evaluations=calls, seed=1)
            print(f"{algorithm:9} {calls:6,} {result.fitness:10.0f} of {problem.total:g}")
    true = [f"x{variable}" for variable in 1 + np.flatnonzero(result.x)]
    print(f"true in the best row: {' '.join(true)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        solve(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            formula = Path(folder) / "random.cnf"
            write_formula(formula, np.random.default_rng(1))
            solve(formula)
