"""`daedal list`: what there is, and what its settings mean."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from daedal.cli.output import say, stdout_kept, write_line
from daedal.problems.registry import ProblemKind, problem_kinds
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import algorithms, find_algorithm
from daedal.settings.checks import printable, visible
from daedal.settings.parameters import REQUIRED, Parameter, unknown
from daedal.settings.plugins import is_file_spec

_INDENT = "  "
_ENDLESS = 1000  # columns of what is no terminal: it may be searched, or cut by programs
_OWN_ALGORITHM = "FILE.py:NAME", "Your own: a model, or what builds an optimizer"


def list_all(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help='Algorithms or problems, as in `daedal list dae trap`, or "path/to/file.py:NAME": their settings, and '
            "what each of them means.",
        ),
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Show all settings of all algorithms.")] = False,
) -> None:
    """Show problems and algorithms, a line each; given names, their settings, and what each of them means."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        kinds, known = problem_kinds(), algorithms()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _ENDLESS
    if names:
        for number, (kind, algorithm) in enumerate(_find(name, kinds, known) for name in names):
            console.print("\n" * (number > 0), end="")
            if kind is not None:
                _explain_problem(console, kind)
            if algorithm is not None:
                _head(console, algorithm.name, algorithm.summary, _ending(algorithm))
                _explain(console, algorithm.parameters().values())
        return
    _list(console, "problem", _problems(kinds.values()))
    console.print()
    if settings:
        for algorithm in known.values():
            _head(console, algorithm.name, algorithm.summary, _ending(algorithm))
            console.print(_settings(algorithm.parameters().values()))
            console.print()
        _head(console, *_OWN_ALGORITHM)
    else:
        _list(console, "algorithm", [*((one.name, one.summary) for one in known.values()), _OWN_ALGORITHM])
    console.print()
    more = "" if settings else "; `daedal list --settings` has those of all algorithms"
    write_line(
        console, Text(f"`daedal list NAME` has the settings of one, and what they mean, as in `daedal list dae`{more}.")
    )
    for complaint in complaints:
        say(f"warning: {printable(str(complaint.message))}")


def _find(
    name: str, kinds: dict[str, ProblemKind], known: dict[str, Algorithm]
) -> tuple[ProblemKind | None, Algorithm | None]:
    """Find the problem, or the algorithm, or both, of a name."""
    if is_file_spec(name):
        with stdout_kept():  # whatever the file prints
            return None, find_algorithm(name)
    kind, algorithm = kinds.get(name.partition(":")[0]), known.get(name)
    if kind is None and algorithm is None:
        raise ValueError(unknown("problem or algorithm", name, {*kinds, *known}))
    return kind, algorithm


def _head(console: Console, name: str, summary: str, ending: str = "") -> None:
    """Write what something is called, and what it is."""
    write_line(console, Text.assemble((visible(name), "bold"), f"  {visible(summary)}"), hanging=2 * _INDENT)
    if ending:
        write_line(console, Text(ending), margin=_INDENT)


def _explain_problem(console: Console, kind: ProblemKind) -> None:
    _head(console, kind.name, kind.summary, f"as in {visible(kind.example)}")
    _explain(console, (kind.parameters() | kind.file_parameters()).values())


def _explain(console: Console, parameters: Iterable[Parameter]) -> None:
    """Write settings, and below those that are described together what they mean."""
    listed = list(parameters)
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*map(_cells, listed), strict=True)]
    for meaning, together in groupby(listed, key=lambda parameter: parameter.meaning):
        console.print()
        console.print(_settings(together, widths))
        if meaning:
            write_line(console, Text(visible(meaning)), margin=_INDENT * 3)


def _problems(kinds: Iterable[ProblemKind]) -> Iterator[tuple[str, str]]:
    """Give how each kind is called, with its parameters, and what it is."""
    for kind in kinds:
        shown = kind.example if kind.example.startswith(kind.name) else f"{kind.name}, as in {kind.example}"
        yield shown, kind.summary
    yield "FILE.py:FUNCTION --n 40", "Your own function, of 40 bits"
    yield '"cmd:PROGRAM" --n 40', "Any program"


def _list(console: Console, title: str, entries: Iterable[tuple[str, str]]) -> None:
    """Write names, and what they stand for beside them: a line each, where a terminal has room."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, style="bold", no_wrap=True)
    table.add_column("what it is")
    for name, summary in entries:
        table.add_row(_plain(name), _plain(summary))
    console.print(table)


def _ending(algorithm: Algorithm) -> str:
    """Say when a run ends unless told otherwise."""
    most, patience = algorithm.limits.max_generations, algorithm.limits.patience
    if most is None and patience is None:
        last = algorithm.last_resort.patience
        without = "" if last is None else f"; without either, after {last} generations without progress"
        return f"ends at its target, or when its budget is used up{without}"
    if patience is None:
        return f"ends after {most} generations"
    return f"ends after {'' if most is None else f'{most} generations, or '}{patience} without progress"


def _settings(parameters: Iterable[Parameter], widths: Iterable[int] = (0, 0)) -> Table:
    """Lay out names, defaults and types, in columns of a width at least."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for width in widths:
        table.add_column(min_width=width, no_wrap=True)
    table.add_column()
    for parameter in parameters:
        name, default = map(_plain, _cells(parameter))
        table.add_row("", name, default, f"[dim]{_plain(parameter.describe())}[/]")
    return table


def _cells(parameter: Parameter) -> tuple[str, str]:
    return parameter.name, "" if parameter.default is REQUIRED else _shown(parameter.default)


def _plain(text: str) -> str:
    """Give a text of somebody else's as it is, neither obeyed by a terminal nor read as markup."""
    return escape(visible(text))


def _shown(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
