"""Tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from daedal.settings.checks import printable
from daedal.studies.analysis import Effort, Row, Runs
from daedal.studies.plan import LEVELS
from daedal.studies.published import PublishedTable
from daedal.studies.rank_tests import Test
from daedal.studies.spec import Study
from daedal.studies.tables.content import (
    EMPTY,
    LEFT,
    OPEN,
    Cell,
    Line,
    block_of,
    effort_lines,
    marked_title,
    of_rows,
    problem_title,
    size_lines,
)
from daedal.studies.tables.legend import legend_of
from daedal.studies.tables.sheets import Sheet, with_names


def markdown(
    rows: Sequence[Row], *, published: PublishedTable | None = None, test: Test = "signed-rank", correct: bool = False
) -> str:
    """Write the table as Markdown; the parameters are those of `latex`.

    Examples
    --------
    >>> from daedal.studies.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(markdown(analyse(study, {})).splitlines()[2])
    | onemax:n=20 | umda | … | … | … | … | … | … |
    """
    published = of_rows(rows, published)
    again = any(entry.confirmed for row in rows for entry in row.entries.values())
    names = ["evaluations", "paper", "CPU s", "paper"] if published else ["evaluations", "CPU s"]
    names += ["again, with fresh seeds"] if again else []
    header = ["Problem", "Algorithm", *(name for level in LEVELS for name in (f"≥ {level} %: popsize", *names))]
    body = []
    for problem, of_problem in groupby(rows, key=lambda row: row.problem):
        title = _marked_down(" ".join(filter(None, marked_title(problem, published))))
        for row in of_problem:
            cells = [cell for level in LEVELS for cell in _markdown_cells(row, level, published, again)]
            body.append([title, _marked_down(row.algorithm.name), *cells])
            title = ""
    legend = map(_marked_down, legend_of(rows, published, test, correct))
    return _markdown_table(header, body) + "\n" + "\n\n".join(legend) + "\n"


def sizes_markdown(study: Study, runs: Runs) -> str:
    """Write a line for each population size, as Markdown."""
    names, sizes = size_lines(study, runs)
    body = []
    for problem, lines in sizes.items():
        title = _marked_down(" ".join(filter(None, problem_title(problem))))
        for line in with_names(lines):
            body.append([title, *map(_markdown_cell, line)])
            title = ""
    return _markdown_table(["Problem", "Algorithm", *names], body)


def sheet_markdown(sheet: Sheet, legend: Sequence[str]) -> str:
    """Write a sheet without a column of problems as Markdown, with one, and its legend."""
    body = []
    for group in sheet.groups:
        title = _marked_down(" ".join(filter(None, group.title)))
        for line in group.lines:
            body.append([title, *map(_markdown_cell, line)])
            title = ""
    table = _markdown_table(["Problem", *(column.title for column in sheet.columns)], body)
    return table + "\n" + "\n\n".join(map(_marked_down, legend)) + "\n"


def _markdown_cells(row: Row, level: int, published: PublishedTable | None, again: bool) -> list[str]:
    block, entry = block_of(row, level, published), row.entries[level]
    ours = block.ours[0]
    failed = row.failed if entry.effort is None else entry.effort.failed
    size = f"{ours.label.text} ({failed:,} failed)".strip() if failed else ours.label.text
    paper = block.paper or Line(label=EMPTY)
    both = [ours.evaluations, paper.evaluations, ours.seconds, paper.seconds]
    cells = [size, *map(_markdown_cell, both if published else both[::2])]
    return [*cells, _markdown_again(entry.confirmed)] if again else cells


def _markdown_again(effort: Effort | None) -> str:
    if effort is None or not effort.runs:
        return "" if effort is None else OPEN
    failed = f" ({effort.failed:,} failed)" if effort.failed else ""
    return f"{effort.solved}/{effort.runs}{failed}: {_markdown_cell(effort_lines(effort, '')[0].evaluations)}"


def _markdown_cell(cell: Cell) -> str:
    text = rf"**{cell.text}**\*" if cell.star else _marked_down(cell.text)
    return f"{text} ± {_marked_down(cell.sd)}" if cell.sd else text


def _marked_down(text: str) -> str:
    """Put a backslash before what Markdown would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", printable(text))


def _markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rule = [":--" if name in LEFT else "--:" for name in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *body))
