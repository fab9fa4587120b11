"""How far each cell of a study is, on a terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import ConsoleRenderable

from daedal.cli.study_tables import Laid
from daedal.settings.checks import printable
from daedal.studies.status import CellStatus, Status
from daedal.studies.tables.content import Cell
from daedal.studies.tables.sheets import Column, Group, Sheet, with_problems


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
