"""Lines of cells in columns, grouped by problem: the paper's form, and one for narrow terminals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from daedal.settings.checks import printable
from daedal.studies.analysis import Row
from daedal.studies.plan import LEVELS
from daedal.studies.published import PublishedTable
from daedal.studies.tables.content import EMPTY, Block, Cell, block_of, marked_title


@dataclass(frozen=True)
class Column:
    """A column's title, and what stands above the titles of this column and its neighbours."""

    title: str
    over: str = ""


@dataclass(frozen=True)
class Group:
    """The lines of one problem, and its title: the name, and what it is."""

    title: tuple[str, str]
    lines: list[list[Cell]]


@dataclass(frozen=True)
class Sheet:
    """Columns and groups of lines; `headed` puts titles above their groups, not in a column of their own.

    The note is a last line of the legend.
    """

    columns: list[Column]
    groups: list[Group]
    headed: bool = False
    note: str = ""


def side_by_side(rows: Sequence[Row], published: PublishedTable | None, *, beside: bool = False) -> Sheet:
    """Give the paper's form: one line per algorithm, levels side by side; the paper's numbers beside ours or below."""
    columns = [Column("Algorithm")]
    for level in LEVELS:
        columns += [Column(name, f"≥ {level} % of runs solved") for name in _names(beside=beside)]

    def lines(row: Row) -> list[list[Cell]]:
        blocks = [_cells(block_of(row, level, published), beside=beside) for level in LEVELS]
        blank = [EMPTY] * len(_names(beside=beside))
        return [[cell for part in parts for cell in part] for parts in zip_longest(*blocks, fillvalue=blank)]

    return with_problems(columns, _groups(rows, published, lines))


def one_below_other(rows: Sequence[Row], published: PublishedTable | None, *, beside: bool = False) -> Sheet:
    """Give the form for narrow terminals: problems as headings, one line per level."""
    columns = [Column(name) for name in ("Algorithm", "level", *_names(beside=beside))]

    def lines(row: Row) -> list[list[Cell]]:
        found = []
        for level in LEVELS:
            first, *others = _cells(block_of(row, level, published), beside=beside)
            found += [[Cell(text=f"≥ {level} %"), *first], *([EMPTY, *other] for other in others)]
        return found

    return Sheet(columns, _groups(rows, published, lines), headed=True)


def _names(*, beside: bool) -> list[str]:
    return ["popsize", "evaluations", "paper", "CPU s", "paper"] if beside else ["popsize", "evaluations", "CPU s"]


def _cells(block: Block, *, beside: bool) -> list[list[Cell]]:
    """Give the cells of an entry, line by line; beside: the paper's numbers have columns of their own."""
    if not beside:
        return [[line.label, line.evaluations, line.seconds] for line in block.lines()]
    lines = [[line.label, line.evaluations, EMPTY, line.seconds, EMPTY] for line in (*block.ours, *block.again)]
    if block.paper is not None:
        lines[0][2], lines[0][4] = block.paper.evaluations, block.paper.seconds
    return lines


def _groups(
    rows: Sequence[Row], published: PublishedTable | None, lines_of: Callable[[Row], list[list[Cell]]]
) -> list[Group]:
    """Gather the lines of each problem."""
    return [
        Group(
            marked_title(problem, published),
            with_names([(printable(row.algorithm.name), lines_of(row)) for row in of_problem]),
        )
        for problem, of_problem in groupby(rows, key=lambda row: row.problem)
    ]


def with_names(lines: Sequence[tuple[str, list[list[Cell]]]]) -> list[list[Cell]]:
    """Put the name of each algorithm before the first of its lines."""
    return [
        [Cell(text="" if number else name), *line] for name, of_name in lines for number, line in enumerate(of_name)
    ]


def with_problems(columns: list[Column], groups: list[Group]) -> Sheet:
    """Put the titles of the groups into a first column: the name in one line, what it is in the next."""
    blank = [EMPTY] * len(columns)
    filled = []
    for group in groups:
        name, spec = group.title
        titles = [Cell(text=name, style="bold"), *([Cell(text=spec, style="dim")] if spec else [])]
        pairs = zip_longest(titles, group.lines)
        filled.append(Group(group.title, [[title or EMPTY, *(line or blank)] for title, line in pairs]))
    return Sheet([Column("Problem"), *columns], filled)
