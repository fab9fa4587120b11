"""Tables of studies on a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.text import Text

from daedal.settings.checks import printable
from daedal.studies.analysis import Row, Test
from daedal.studies.budgets import BudgetRow
from daedal.studies.paper import PublishedTable
from daedal.studies.paper import published as papers_table
from daedal.studies.plan import CellStatus, Runs, Status
from daedal.studies.spec import Study
from daedal.studies.tables import (
    DISPENSABLE,
    LEFT,
    NONE,
    OPEN,
    OTHER,
    Cell,
    Column,
    Group,
    Sheet,
    StudyTable,
    budget_legend,
    budget_sheet,
    legend_of,
    of_rows,
    one_below_other,
    problem_title,
    side_by_side,
    size_lines,
    with_names,
    with_problems,
)

_ASCII = {" ± ": " +-", "≥ ": ">=", NONE: "-", OPEN: "?", OTHER: "+", "─": "-"}  # as wide: columns stay in line
_GAP = Text("  ")
_SHORTEST_NAME = 9  # as long as a title


def rich_table(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    width: int | None = None,
    test: Test = "signed-rank",
    correct: bool = False,
    legend: bool = True,
) -> ConsoleRenderable:
    """Lay out the table as a terminal has room: levels, and the paper's numbers, side by side or one below the other.

    Parameters
    ----------
    rows
        As `analyse` gives them.
    published
        The paper's numbers, shown with those of the same problem and algorithm.
    width
        Columns of the terminal; None: what the console has.
    test, correct
        How the stars were found, for the legend.
    legend
        Whether to explain the signs below the table.
    """
    published = of_rows(rows, published)
    ways = (True, False) if published else (False,)
    sheets = [form(rows, published, beside=beside) for form in (side_by_side, one_below_other) for beside in ways]
    return Laid(sheets, legend_of(rows, published, test, correct) if legend else [], width)


def terminal_table(table: StudyTable) -> ConsoleRenderable:
    """Lay out the table of a study, whichever it is."""
    if table.study.budgets:
        return budget_table(table.budget_rows, test=table.test, correct=table.holm)
    if table.sizes:
        return sizes_table(table.study, table.runs)
    return rich_table(table.rows, published=papers_table(), test=table.test, correct=table.holm)


def table_text(table: StudyTable, width: int | None = None) -> str:
    """Write the table of a study as text of so many columns, or as many as the terminal has."""
    written = io.StringIO()
    Console(file=written, width=width, highlight=False, color_system=None).print(terminal_table(table))
    return written.getvalue().rstrip("\n")


def sizes_table(study: Study, runs: Runs) -> ConsoleRenderable:
    """Lay out each population size for a terminal: solved and failed runs, mean best, evaluations, CPU seconds."""
    names, sizes = size_lines(study, runs)
    columns = [Column(name) for name in ("Algorithm", *names)]
    groups = [Group(problem_title(problem), with_names(lines)) for problem, lines in sizes.items()]
    narrow = [
        Group((f"{problem_title(problem)[0]}, {algorithm}", problem_title(problem)[1]), cells)
        for problem, lines in sizes.items()
        for algorithm, cells in lines
    ]
    sheets = [with_problems(columns, groups), Sheet(columns, groups, headed=True)]
    return Laid([*sheets, Sheet(columns[1:], narrow, headed=True)], [])


def budget_table(
    rows: Sequence[BudgetRow], *, test: Test = "signed-rank", correct: bool = False, legend: bool = True
) -> ConsoleRenderable:
    """Lay out the table of a study with budgets; a narrow terminal has fewer columns of it."""
    whole = budget_sheet(rows)
    narrow = [budget_sheet(rows, without=DISPENSABLE[:count]) for count in range(1, len(DISPENSABLE) + 1)]
    return Laid(
        [with_problems(whole.columns, whole.groups), whole, *narrow],
        budget_legend(rows, test, correct) if legend else [],
    )


@dataclass(frozen=True)
class Laid:
    """The first of several sheets that fits the console, or else the last, and a legend below it."""

    sheets: list[Sheet]
    legend: list[str] = field(default_factory=list)
    width: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else self.width
        for sheet in self.sheets:
            columns = _columns(sheet)
            missing = _width(columns) - width
            if missing <= 0:
                break
        else:
            columns = _columns(sheet, shorter=missing)
        lines = [*_lines(sheet, columns)]
        legend = [*self.legend, *([sheet.note] if sheet.note else [])] if self.legend else []
        lines += [Text(), *(Text(sentence, style="dim") for sentence in legend)] if legend else []
        for line in lines:
            line.rstrip()
            yield _in_ascii(line) if options.ascii_only else line


def _columns(sheet: Sheet, *, shorter: int = 0) -> list[list[Text]]:
    """Write each column, from its title on, in cells of one width; those of names get shorter, if they have to.

    A name that is longer than its column is left out: it has a line of its own.
    """
    titles = [Cell(text=column.title, style="bold") for column in sheet.columns]
    columns = zip(titles, *(line for group in sheet.groups for line in group.lines), strict=True)
    return [_names(cells, shorter) if cells[0].text in LEFT else _numbers(cells) for cells in columns]


def _names(cells: Sequence[Cell], shorter: int) -> list[Text]:
    texts = [Text(cell.text, style=cell.style) for cell in cells]
    longest = max(text.cell_len for text in texts)
    width = max(longest - shorter, min(longest, _SHORTEST_NAME))
    fitting = [text if text.cell_len <= width else Text() for text in texts]
    for text in fitting:
        text.truncate(width, pad=True)
    return fitting


def _numbers(cells: Sequence[Cell]) -> list[Text]:
    """Write numbers so that the signs between means and deviations are in line; a text without one may reach beyond."""
    starred = any(cell.star for cell in cells)  # then all means leave room for a star
    means = [cell.text + ("*" if cell.star else " " * starred) for cell in cells]
    deviations = [f" ± {cell.sd}" if cell.sd else "" for cell in cells]
    mean = max((len(text) for text, sd in zip(means, deviations, strict=True) if sd), default=0)
    whole = mean + max(map(len, deviations))
    plain = [f"{text:>{mean}}{sd}".ljust(whole) for text, sd in zip(means, deviations, strict=True)]
    width = max(map(len, plain))
    texts = [Text(text.rjust(width), style=cell.style) for text, cell in zip(plain, cells, strict=True)]
    for text, cell in zip(texts, cells, strict=True):
        if cell.star:
            text.stylize("bold", end=width - whole + mean)
    return texts


def _width(columns: Sequence[Sequence[Text]]) -> int:
    return sum(title.cell_len for title, *_ in columns) + len(_GAP) * (len(columns) - 1)


def _lines(sheet: Sheet, columns: Sequence[Sequence[Text]]) -> Iterator[Text]:
    """Put columns together line by line: titles, a rule, and the groups, with their headings if they have any."""
    title, *body = (_GAP.join(cells) for cells in zip(*columns, strict=True))
    if any(column.over for column in sheet.columns):
        yield _overs(sheet, columns)
    yield title
    yield Text("─" * title.cell_len, style="dim")
    left = iter(body)
    for number, group in enumerate(sheet.groups):
        if number:
            yield Text()
        if sheet.headed:
            name, spec = group.title
            yield Text.assemble((name, "bold"), "  " if spec else "", (spec, "dim"))
        for line in group.lines:
            yield from (Text(cell.text, style=cell.style) for cell in _left_out(sheet, columns, line))
            yield next(left)


def _left_out(sheet: Sheet, columns: Sequence[Sequence[Text]], line: Sequence[Cell]) -> Iterator[Cell]:
    """Give the names of a line that are longer than their columns."""
    for column, (first, *_), cell in zip(sheet.columns, columns, line, strict=True):
        if column.title in LEFT and cell_len(cell.text) > first.cell_len:
            yield cell


def _overs(sheet: Sheet, columns: Sequence[Sequence[Text]]) -> Text:
    """Give the line above the titles, each text of it across its columns."""
    parts = []
    for over, across in groupby(zip(sheet.columns, columns, strict=True), key=lambda pair: pair[0].over):
        width = _width([column for _, column in across])
        parts.append(Text(f" {over} ".center(width, "─") if over else " " * width, style="dim"))
    return _GAP.join(parts)


def _in_ascii(line: Text) -> Text:
    plain = line.plain
    for sign, other in _ASCII.items():
        plain = plain.replace(sign, other)
    return Text(plain, spans=line.spans, style=line.style)


def status_table(found: Status) -> ConsoleRenderable:
    """Lay out runs that are done, failed, left and solved, a line for each cell; a narrow terminal has headings."""
    size = "budget" if any(cell.budget is not None for cell in found.cells) else "popsize"
    columns = [Column(name) for name in ("Algorithm", size, "done", "failed", "left", "solved")]
    groups = [
        Group((printable(problem), ""), [_line(cell) for cell in cells])
        for problem, cells in groupby(found.cells, key=lambda cell: cell.problem)
    ]
    return Laid([with_problems(columns, groups), Sheet(columns, groups, headed=True)])


def _line(cell: CellStatus) -> list[Cell]:
    size = cell.budget or cell.popsize  # there are algorithms without a population
    solved = "?" if cell.solved is None else f"{cell.solved:,}"
    counts = (f"{one:,}" for one in (cell.done, cell.failed, cell.left))
    return [Cell(text=text) for text in (printable(cell.algorithm), f"{size:,}" if size else "", *counts, solved)]
