"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.text import Text

from daedal.study.analysis import Row, Runs
from daedal.study.published import PublishedTable
from daedal.study.spec import Study
from daedal.study.statistics import Test
from daedal.study.tables.content import LEFT, NONE, OPEN, OTHER, Cell, legend_of, of_rows, problem_title, size_lines
from daedal.study.tables.sheets import Column, Group, Sheet, one_below_other, side_by_side, with_names, with_problems

_ASCII = {
    " ± ": " +-",
    "≥ ": ">=",
    NONE: "-",
    OPEN: "?",
    OTHER: "+",
    "─": "-",
}  # of the same width, so that columns stay in line
_GAP = Text("  ")
_SHORTEST_NAME = 9  # of the titles


def rich_table(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    width: int | None = None,
    test: Test = "signed-rank",
    correct: bool = False,
    legend: bool = True,
) -> ConsoleRenderable:
    """Lay out the table for a terminal, as it has room: levels side by side or below each other, and so the paper.

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

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> Console(width=60).print(rich_table(analyse(study, {}), legend=False))
    Algorithm   level  popsize  evaluations  CPU s
    ──────────────────────────────────────────────
    onemax:n=20
    umda       ≥ 50 %        …            …      …
               ≥ 90 %        …            …      …
    """
    published = of_rows(rows, published)
    ways = (True, False) if published else (False,)
    sheets = [form(rows, published, beside=beside) for form in (side_by_side, one_below_other) for beside in ways]
    return _Laid(sheets, legend_of(rows, published, test, correct) if legend else [], width)


def sizes_table(study: Study, runs: Runs, *, width: int | None = None) -> ConsoleRenderable:
    """Lay out every population size for a terminal: solved and failed runs, mean best, evaluations, CPU seconds.

    Examples
    --------
    >>> from daedal.study.store import Run
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50], "runs": 1})
    >>> run = Run(seed=0, status="done", success=True, best=20.0, evaluations=150, seconds=0.01)
    >>> Console(width=80).print(sizes_table(study, {study.cells()[0].key: {0: run}}))
    Problem      Algorithm  popsize  solved  mean best  evaluations  CPU s
    ───────────────────────────────────────────────────────────────────────────
    onemax:n=20  umda            50     1/1     20 ± 0      150 ± 0  0.01 ± 0.0
    """
    names, sizes = size_lines(study, runs)
    columns = [Column(name) for name in ("Algorithm", *names)]
    groups = [Group(problem_title(problem), with_names(lines)) for problem, lines in sizes.items()]
    narrow = [
        Group((f"{problem_title(problem)[0]}, {algorithm}", problem_title(problem)[1]), cells)
        for problem, lines in sizes.items()
        for algorithm, cells in lines
    ]
    sheets = [with_problems(columns, groups), Sheet(columns, groups, headed=True)]
    return _Laid([*sheets, Sheet(columns[1:], narrow, headed=True)], [], width)


@dataclass(frozen=True)
class _Laid:
    """The first of several sheets that fits the console, or else the last, and a legend below it."""

    sheets: list[Sheet]
    legend: list[str]
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else self.width
        sheet = next((sheet for sheet in self.sheets if _width(sheet) <= width), None)
        lines = _laid(_shortened(self.sheets[-1], width) if sheet is None else sheet)
        lines += [Text(), *(Text(sentence, style="dim") for sentence in self.legend)] if self.legend else []
        for line in lines:
            yield _in_ascii(line) if options.ascii_only else line


def _width(sheet: Sheet) -> int:
    """Give the width of a sheet, without laying it out, which takes longer."""
    widths = [_widths(column, cells)[-1] for column, cells in _by_column(sheet)]
    headings = [_heading(group).cell_len for group in sheet.groups if sheet.headed]
    return max(sum(widths) + len(_GAP) * (len(widths) - 1), *headings, 0)


def _shortened(sheet: Sheet, width: int) -> Sheet:
    """Cut names that are too long for a width; numbers are never cut."""
    names = [column.title in LEFT for column in sheet.columns]
    widths = [_widths(column, cells)[-1] for column, cells in _by_column(sheet)]
    numbers = sum(size for size, is_name in zip(widths, names, strict=True) if not is_name)
    free = width - numbers - len(_GAP) * (len(widths) - 1)
    room = max(_SHORTEST_NAME, free // max(1, sum(names)))

    def line(cells: list[Cell]) -> list[Cell]:
        pairs = zip(cells, names, strict=True)
        return [replace(cell, text=_cut(cell.text, room)) if is_name else cell for cell, is_name in pairs]

    def title(name: str, spec: str) -> tuple[str, str]:
        return _cut(name, width), _cut(spec, width - cell_len(name) - 2)

    return replace(sheet, groups=[Group(title(*group.title), list(map(line, group.lines))) for group in sheet.groups])


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}{OPEN}" if width > 1 else ""


def _laid(sheet: Sheet) -> list[Text]:
    """Lay out a sheet line by line."""
    columns = [_filled(column, cells) for column, cells in _by_column(sheet)]
    title, *body = [_GAP.join(parts) for parts in zip(*columns, strict=True)]
    lines = [*_overs(sheet.columns, [column[0].cell_len for column in columns]), title]
    lines.append(Text("─" * title.cell_len, style="dim"))
    left = iter(body)
    for number, group in enumerate(sheet.groups):
        lines += [Text()] if number else []
        lines += [_heading(group)] if sheet.headed else []
        lines += [next(left) for _ in group.lines]
    for line in lines:
        line.rstrip()
    return lines


def _by_column(sheet: Sheet) -> Iterator[tuple[Column, list[Cell]]]:
    for index, column in enumerate(sheet.columns):
        yield column, [line[index] for group in sheet.groups for line in group.lines]


def _heading(group: Group) -> Text:
    name, spec = group.title
    return Text.assemble((name, "bold"), "  " if spec else "", (spec, "dim"))


def _widths(column: Column, cells: Sequence[Cell]) -> tuple[int, int, int]:
    """Give the widths of the means with their stars, of the deviations, and of the whole column."""
    starred = any(cell.star for cell in cells)  # then all means leave room for a star
    mean = max((cell_len(cell.text) for cell in cells), default=0) + starred
    sd = max((cell_len(cell.sd) for cell in cells), default=0)
    return mean, sd, max(cell_len(column.title), mean + (sd + 3 if sd else 0))


def _filled(column: Column, cells: Sequence[Cell]) -> list[Text]:
    """Fill up the title and the cells of a column to the same width, the numbers in line at their last digits."""
    mean, sd, width = _widths(column, cells)
    left = column.title in LEFT
    starred = any(cell.star for cell in cells)
    filled = [Text(column.title.rjust(0 if left else mean).ljust(width if sd else 0), style="bold")]
    for cell in cells:
        text = cell.text + ("*" if cell.star else " " if starred else "")
        deviation = f" ± {cell.sd}" if cell.sd else ""
        before = "" if left else " " * (mean - cell_len(text))
        after = " " * (sd + 3 - cell_len(deviation)) if sd else ""
        style = f"{cell.style} bold" if cell.star else cell.style
        filled.append(Text.assemble(before, (text, style), (deviation, cell.style), after))
    for one in filled:
        missing = width - one.cell_len
        one.pad_right(missing) if left else one.pad_left(missing)
    return filled


def _overs(columns: Sequence[Column], widths: Sequence[int]) -> list[Text]:
    """Give the line above the titles, if there is any."""
    if not any(column.over for column in columns):
        return []
    parts = []
    for over, spanned in groupby(range(len(columns)), key=lambda index: columns[index].over):
        across = [widths[index] for index in spanned]
        width = sum(across) + len(_GAP) * (len(across) - 1)
        parts.append(Text(f" {over} ".center(width, "─") if over else " " * width, style="dim"))
    return [_GAP.join(parts)]


def _in_ascii(line: Text) -> Text:
    plain = line.plain
    for sign, other in _ASCII.items():
        plain = plain.replace(sign, other)
    return Text(plain, spans=line.spans, style=line.style)
