"""Known optima of instances in files, and whether daedal reaches them: a Markdown table.

    python benchmarks/optima.py [--algorithms auto mix] [--seeds 1000-1009] [--budget 50000] [--only nk maxsat ising]

Every problem file in $DAEDAL_DATA (default ../shared/data) is solved with the first of the algorithms and all seeds, up
to a budget of calls. Where that does not solve every run, the others have their turn, and the row has the one that
solved most. A run is solved that reaches the best value known and, where the problem has constraints, violates none.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import daedal
from daedal.problems import Problem
from daedal.problems.registry import find_problem
from instances import CLOSE, DATA, KNOWN

KINDS = {"nk": "*", "maxsat": "*cnf", "ising": "*.txt", "maxcut": "*.txt", "qubo": "*.txt", "mkp": "mk*.txt"}
"""Folders, which are called as the kind of problem that they hold, and what its files are called."""

NUMBERED = {"mkp": (1, 11, 21)}
"""Which problems of a file with several: in mknapcb1.txt, one for each tightness."""


@dataclass(frozen=True)
class Outcome:
    """The runs of one algorithm on one instance."""

    algorithm: str
    runs: int
    calls: list[int]  # of those that were solved


def instances(kinds: list[str]) -> Iterator[tuple[str, str]]:
    """Give what each instance is called, and its text for daedal."""
    for kind in kinds:
        paths = sorted((DATA / kind).glob(KINDS[kind]), key=lambda path: [*map(int, re.findall(r"\d+", path.stem))])
        for path in paths:
            for number in NUMBERED.get(kind, (None,)):
                setting = "" if number is None else f",problem={number}"
                yield f"{path.name if kind == 'nk' else path.stem}{setting}", f"{kind}:{path}{setting}"


def attempt(spec: str, problem: Problem, optimum: float, algorithm: str, seeds: range, budget: int) -> Outcome:
    """Run one algorithm with each seed."""
    calls = []
    for seed in seeds:
        result = daedal.maximize(spec, algorithm=algorithm, seed=seed, max_evaluations=budget, target=optimum)
        violations = getattr(problem, "violations", None)
        feasible = violations is None or bool((violations(result.x[None]) <= 0).all())
        if feasible and result.fitness >= optimum - CLOSE:
            calls.append(result.evaluations)
    return Outcome(algorithm, len(seeds), calls)


def row(name: str, spec: str, algorithms: list[str], seeds: range, budget: int) -> str:
    problem = find_problem(spec)
    optimum = KNOWN.get(name, problem.optimum)
    if optimum is None:
        return f"| {name} | {problem.n} | unknown | | | |"
    best = Outcome("-", 0, [])
    for algorithm in algorithms:
        outcome = attempt(spec, problem, optimum, algorithm, seeds, budget)
        best = outcome if best.runs == 0 or len(outcome.calls) > len(best.calls) else best
        if len(best.calls) == best.runs:
            break
    mean = f"{statistics.fmean(best.calls):,.0f}" if best.calls else "-"
    solved = f"{len(best.calls)}/{best.runs}"
    return f"| {name} | {problem.n} | {optimum:.10g} | {best.algorithm if best.calls else '-'} | {solved} | {mean} |"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", nargs="+", default=["auto", "mix"])
    parser.add_argument("--seeds", default="1000-1009", help="first-last")
    parser.add_argument("--budget", type=int, default=50_000, help="calls that a run may make")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    if not Path(DATA).is_dir():
        sys.exit(f"no instances at {DATA}; set DAEDAL_DATA to their folder")
    first, _, last = arguments.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    print("| instance | n | best known | reached by | runs solved | mean evaluations |\n|---|---|---|---|---|---|")
    for name, spec in instances(arguments.only):
        print(row(name, spec, arguments.algorithms, seeds, arguments.budget), flush=True)


if __name__ == "__main__":
    main()
