"""`daedal optimum`: the largest fitness of a problem."""

from __future__ import annotations

from typing import Annotated

import typer

from daedal.problems.exact import SumOfTables
from daedal.problems.registry import find_problem
from daedal.types import to_text


def optimum(
    problem: Annotated[str, typer.Argument(help='A problem, such as "nk:n=30,k=4,seed=1".')],
    show_x: Annotated[bool, typer.Option("--x", help="Print bits that attain it, too.")] = False,
) -> None:
    """Print the largest fitness of a problem."""
    found = find_problem(problem)
    if found.optimum is None and isinstance(found, SumOfTables):
        row, value = found.maximise()  # slow, or refused with the memory it would take
        print(repr(value))
        if show_x:
            print(to_text(row))
        return
    if found.optimum is None:
        raise ValueError(f"nobody knows the optimum of {problem}")
    print(repr(float(found.optimum)))
    if show_x:
        solution = getattr(found, "solution", None)
        print("unknown" if solution is None else to_text(solution))
