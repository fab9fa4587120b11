"""MAX-SAT: satisfy as many clauses of a formula as possible.

    python examples/max_sat.py [FILE.cnf]

FILE.cnf is a formula in DIMACS format. Without it, the script writes a random one with three literals per clause.
The same on the command line: daedal solve maxsat:FILE.cnf
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import daedal

VARIABLES, CLAUSES = 60, 300


def write_formula(path: Path, rng: np.random.Generator) -> None:
    """Write clauses of three different variables, each of them negated or not."""
    lines = [f"p cnf {VARIABLES} {CLAUSES}"]
    for _ in range(CLAUSES):
        variables = 1 + rng.choice(VARIABLES, 3, replace=False)
        lines.append(" ".join(map(str, variables * rng.choice([-1, 1], 3))) + " 0")
    path.write_text("\n".join(lines) + "\n")


def solve(path: Path) -> None:
    """Compare the default search with a simple one."""
    problem = daedal.problems.read_maxsat(path)
    print(f"{path.name}: {problem.n} variables, {len(problem.clauses)} clauses")
    print("algorithm  evaluations  satisfied")
    for algorithm in ("umda", "auto"):
        for most in (300, 3000):
            result = daedal.maximize(f"maxsat:{path}", algorithm=algorithm, max_evaluations=most, seed=1)
            print(f"{algorithm:9} {most:12,} {result.fitness:10.0f} of {problem.total:g}")
    true = [f"x{variable}" for variable in 1 + np.flatnonzero(result.x)]
    print(f"true in the best assignment: {' '.join(true)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        solve(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            formula = Path(folder) / "random.cnf"
            write_formula(formula, np.random.default_rng(1))
            solve(formula)
