"""Tables of studies on a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from daedal.settings.checks import printable
from daedal.studies.plan import CellStatus, Status
from daedal.studies.tables import StudyTable
from daedal.studies.writers import LEFT, NONE, OPEN, OTHER, Cell, Group, Heading, Sheet

_ASCII = {" ± ": " +-", "≥ ": ">=", NONE: "-", OPEN: "?", OTHER: "+", "─": "-"}  # as wide: columns stay aligned
_GAP = Text("  ")
_SHORTEST_NAME = 12


@dataclass(frozen=True)
class Laid:
    """A table with as many whole columns as the terminal has room for, and its legend.

    A table without columns to spare gets shorter names, never shorter numbers.
    """

    sheet: Sheet
    width: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else self.width
        sheet, left_out = self.sheet, []
        columns = [_aligned(sheet, place) for place in range(len(sheet.columns))]
        while (excess := _width(columns) - width) > 0 and any(one.spare for one in sheet.columns):
            place = max(range(len(columns)), key=lambda place: sheet.columns[place].spare)
            left_out.append(sheet.columns[place].title)
            del columns[place]
            sheet = sheet._replace(columns=[*sheet.columns[:place], *sheet.columns[place + 1 :]])
        for cells, heading in zip(columns, sheet.columns, strict=True):
            if excess > 0 and heading.title in LEFT:
                width = max(cells[0].cell_len - excess, _SHORTEST_NAME)
                for cell in cells:
                    cell.rstrip()
                    cell.truncate(width, overflow="ellipsis", pad=True)
        legend = list(sheet.legend)
        if legend and left_out:
            legend.append(f"A wider terminal has more: {', '.join(left_out)}.")
        for line in (*_lines(sheet, columns), *([Text()] if legend else []), *(Text(one, "dim") for one in legend)):
            line.rstrip()
            yield _in_ascii(line) if options.ascii_only else line


def _aligned(sheet: Sheet, place: int) -> list[Text]:
    """Return a column, from its title on, in cells of one width; the signs between means and deviations are aligned."""
    title = sheet.columns[place].title
    cells = [Cell(text=title, style="bold"), *(line[place] for group in sheet.groups for line in group.lines)]
    if title in LEFT:
        texts = [Text(cell.text, style=cell.style) for cell in cells]
        width = max(text.cell_len for text in texts)
        for text in texts:
            text.truncate(width, pad=True)
        return texts
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
    """Put columns together line by line: titles, a rule, and the groups below their titles."""
    title, *body = (_GAP.join(cells) for cells in zip(*columns, strict=True))
    yield title
    yield Text("─" * title.cell_len, style="dim")
    lines = iter(body)
    for number, group in enumerate(sheet.groups):
        if number:
            yield Text()
        name, spec = group.title
        yield Text.assemble((name, "bold"), "  " if spec else "", (spec, "dim"))
        yield from (next(lines) for _ in group.lines)


def _in_ascii(line: Text) -> Text:
    plain = line.plain
    for sign, other in _ASCII.items():
        plain = plain.replace(sign, other)
    return Text(plain, spans=line.spans, style=line.style)


def table_text(table: StudyTable, width: int | None = None) -> str:
    """Write a table as text of so many columns. Default: those of the terminal."""
    written = io.StringIO()
    Console(file=written, width=width, highlight=False, color_system=None).print(Laid(table.sheet()))
    return written.getvalue().rstrip("\n")


def status_table(found: Status) -> Laid:
    """Lay out runs that are done, failed, left and solved, with a line for each cell."""
    size = "budget" if any(cell.budget is not None for cell in found.cells) else "popsize"
    columns = [Heading(name) for name in ("Algorithm", size, "done", "failed", "left", "solved")]
    cells = groupby(found.cells, key=lambda cell: cell.problem)
    return Laid(Sheet(columns, [Group((printable(name), ""), list(map(_status_line, some))) for name, some in cells]))


def _status_line(cell: CellStatus) -> list[Cell]:
    size = cell.budget or cell.popsize
    solved = "?" if cell.solved is None else f"{cell.solved:,}"
    counts = (f"{one:,}" for one in (cell.done, cell.failed, cell.left))
    return [Cell(text=text) for text in (printable(cell.algorithm), f"{size:,}" if size else "", *counts, solved)]
