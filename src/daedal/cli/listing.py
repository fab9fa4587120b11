"""`daedal list`, `daedal optimum` and `daedal instance`: which problems and algorithms there are, and their details."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from daedal.cli import options
from daedal.cli.output import say, shown, standard_output, stdout_kept
from daedal.problems import NK, write_nk
from daedal.problems.exact import SumOfTables
from daedal.problems.nk import NK_FILE
from daedal.problems.registry import ProblemKind, find_problem, problem_kinds
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import algorithms, find_algorithm
from daedal.settings.checks import printable, visible
from daedal.settings.parameters import REQUIRED, Parameter, unknown
from daedal.settings.plugins import is_file_spec
from daedal.storage.files import check_place
from daedal.types import to_text

_OWN_ALGORITHM = "FILE.py:NAME", "Your own algorithm or model"


def list_all(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help='Algorithms or problems whose settings to explain, such as dae, trap or "path/to/file.py:NAME".',
        ),
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Show all settings of all algorithms.")] = False,
) -> None:
    """List problems and algorithms or, given names, explain their settings."""
    with warnings.catch_warnings(record=True) as complaints:  # about installed packages
        warnings.simplefilter("always")
        kinds, known = problem_kinds(), algorithms()
    out = standard_output()
    if names:
        for kind, algorithm in [_find(name, kinds, known) for name in names]:
            if kind is not None:
                _write_head(out, kind.name, kind.summary, f"Example: {kind.example}")
                _explain(out, (kind.parameters() | kind.file_parameters()).values())
            if algorithm is not None:
                _write_head(out, algorithm.name, algorithm.summary, _ending(algorithm))
                _explain(out, algorithm.parameters().values())
        return
    problems = [
        (kind.example if kind.example.startswith(kind.name) else f"{kind.name}, as in {kind.example}", kind.summary)
        for kind in kinds.values()
    ]
    others = [("FILE.py:FUNCTION --n 40", "Your own function of 40 bits"), ('"cmd:PROGRAM" --n 40', "Any program")]
    _list(out, "problem", [*problems, *others])
    if settings:
        for algorithm in known.values():
            _write_head(out, algorithm.name, algorithm.summary, _ending(algorithm))
            out.print(_settings_table(algorithm.parameters().values()), "")
        _write_head(out, *_OWN_ALGORITHM)
    else:
        _list(out, "algorithm", [*((one.name, one.summary) for one in known.values()), _OWN_ALGORITHM])
    out.print(Text("See `daedal list NAME` for the settings of a problem or an algorithm."))
    for complaint in complaints:
        say(f"warning: {printable(str(complaint.message))}")


def _find(
    name: str, kinds: dict[str, ProblemKind], known: dict[str, Algorithm]
) -> tuple[ProblemKind | None, Algorithm | None]:
    """Return the problem and the algorithm of a name; at least one of them exists."""
    if is_file_spec(name):
        with stdout_kept():
            return None, find_algorithm(name)
    kind, algorithm = kinds.get(name.partition(":")[0]), known.get(name)
    if kind is None and algorithm is None:
        raise ValueError(unknown("problem or algorithm", name, {*kinds, *known}))
    return kind, algorithm


def _write_head(out: Console, name: str, summary: str, more: str = "") -> None:
    out.print(Text.assemble((visible(name), "bold"), f"  {visible(summary)}"))
    if more:
        out.print(Padding(Text(visible(more)), (0, 0, 0, 2), expand=False))


def _explain(out: Console, parameters: Iterable[Parameter]) -> None:
    """Write settings, and below those that share a description the description."""
    listed = list(parameters)
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*map(_cells, listed), strict=True)]
    for meaning, group in groupby(listed, key=lambda parameter: parameter.meaning):
        out.print("", _settings_table(group, widths), sep="\n")
        if meaning:
            out.print(Padding(Text(visible(meaning)), (0, 0, 0, 6), expand=False))
    out.print()


def _list(out: Console, title: str, entries: Iterable[tuple[str, str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, style="bold", no_wrap=True)
    table.add_column("description")
    for entry in entries:
        table.add_row(*(Text(visible(text)) for text in entry))
    out.print(table, "")


def _settings_table(parameters: Iterable[Parameter], widths: Iterable[int] = (0, 0)) -> Table:
    """Lay out names, defaults and types; the first two columns have at least the given widths."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for width in widths:
        table.add_column(min_width=width, no_wrap=True)
    table.add_column(style="dim")
    for parameter in parameters:
        table.add_row("", *(Text(visible(text)) for text in (*_cells(parameter), parameter.describe())))
    return table


def _cells(parameter: Parameter) -> tuple[str, str]:
    value = parameter.default
    text = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return parameter.name, "" if value is REQUIRED else text


def _ending(algorithm: Algorithm) -> str:
    """Return when a run ends by default."""
    most, patience = algorithm.limits.max_generations, algorithm.limits.patience
    last = algorithm.last_resort.patience
    if most is None and patience is None:
        stuck = "" if last is None else f" Without both, ends after {last} generations without progress."
        return f"Ends when the target is reached or the budget is used up.{stuck}"
    ways = [] if most is None else [f"after {most} generations"]
    ways += [] if patience is None else [f"after {patience} generations without progress"]
    return f"Ends {' or '.join(ways)}."


# ------------------------------------------------------------ optimum and instance


def optimum(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help='Problem, such as "nk:n=30,k=4,seed=1".')],
    show_x: Annotated[bool, typer.Option("--x", help="Print a candidate with this value, too.")] = False,
) -> None:
    """Print the best possible value of a problem."""
    found = find_problem(problem)
    if found.optimum is None and isinstance(found, SumOfTables):
        row, value = found.maximize()  # slow, or refused because of its memory
        print(repr(value))
        if show_x:
            print(to_text(row))
        return
    if found.optimum is None:
        raise ValueError(f"the optimum of {problem} is not known")
    print(repr(float(found.optimum)))
    if show_x:
        solution = getattr(found, "solution", None)
        print("unknown" if solution is None else to_text(solution))


instance = options.group("Write a problem instance to a file.")


@instance.callback()
def _instance() -> None:
    """Write a problem instance to a file."""


@instance.command()
def nk(
    n: Annotated[int, typer.Option("--n", metavar="N", help="Number of variables.")],
    k: Annotated[int, typer.Option("--k", metavar="K", help="Number of other variables that each table depends on.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", callback=options.absolute, help="File to write.")
    ],
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed; the same seed gives the same instance.")] = 0,
) -> None:
    """Write a random NK landscape and its optimum."""
    check_place(output, NK_FILE)  # before an optimum that may take a while
    landscape = NK.random(n, k, seed)
    write_nk(landscape, output)
    known = "unknown (too large to compute)" if landscape.optimum is None else f"{landscape.optimum:.10g}"
    say(f"{shown(output)}: nk n={n} k={k} seed={seed}, optimum {known}")
