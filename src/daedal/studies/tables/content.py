"""What a table has to say, the same for each format.

Everything shown is first put into lines of cells (`Line`): a chosen size and its effort, below it what the paper has,
what fresh seeds say, and how many runs failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daedal.objectives.spec import without_folder
from daedal.settings.checks import printable
from daedal.studies.analysis import Effort, Measure, Row, Runs, efforts
from daedal.studies.plan import Unsettled
from daedal.studies.published import Published, PublishedTable, is_theirs
from daedal.studies.run import Run
from daedal.studies.spec import Study, StudyProblem

NONE = "\N{EN DASH}"
OPEN = "…"
UNKNOWN = "n/a"
OTHER = "†"
_SIZE_COLUMNS = ("popsize", "solved", "failed", "mean best", "evaluations", "CPU s", "batches")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A text, or a mean and its deviation, which a column lines up at the sign between them."""

    text: str = ""
    sd: str = ""
    star: bool = False
    style: str = ""


EMPTY = Cell()

LEFT = ("Problem", "Algorithm")
"""Titles of the columns of names, which are not lined up as numbers are."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of an entry; the label is a population size, or says what the numbers are."""

    label: Cell
    evaluations: Cell = EMPTY
    seconds: Cell = EMPTY


@dataclass(frozen=True, kw_only=True)
class Block:
    """The lines of an entry: ours, the paper's if it has any, and those of fresh seeds."""

    ours: list[Line]
    paper: Line | None
    again: list[Line]

    def lines(self) -> list[Line]:
        """Give all of them."""
        return [*self.ours, *([] if self.paper is None else [self.paper]), *self.again]


def problem_title(problem: StudyProblem) -> tuple[str, str]:
    """Give a problem's name and, in brackets, what it is where the name does not say so: a seed has to be seen.

    There, only the name of a file is given, not where it lies.
    """
    name, spec = printable(problem.name), printable(without_folder(problem.problem))
    return name, "" if without_folder(name) == spec else f"({spec})"


def marked_title(problem: StudyProblem, published: PublishedTable | None) -> tuple[str, str]:
    """Give the title of a problem, with a mark where the paper's numbers are of another one."""
    name, spec = problem_title(problem)
    return name, f"{spec}{OTHER}" if is_another(problem, published) else spec


def is_another(problem: StudyProblem, published: PublishedTable | None) -> bool:
    """Whether the paper has numbers under a problem's name, but for another landscape."""
    return not is_theirs(problem) and any(name == problem.name for name, _ in published or ())


def block_of(row: Row, level: int, published: PublishedTable | None) -> Block:
    """Give the lines of a row's entry."""
    entry = row.entries[level]
    known = None if published is None else published.get((row.problem.name, row.algorithm.name))
    paper = None if known is None else _line("paper", known.get(level), style="dim")
    if entry.effort is None:
        return Block(ours=_lines_without_size(row, entry.choice is Unsettled.OPEN), paper=paper, again=[])
    again = []
    if entry.confirmed is not None:
        label = f"again {entry.confirmed.solved}/{entry.confirmed.runs}" if entry.confirmed.runs else "again"
        again = effort_lines(entry.confirmed, label, style="dim")
    return Block(ours=effort_lines(entry.effort, _size(entry.effort)), paper=paper, again=again)


def _size(effort: Effort) -> str:
    """Give the population size; an algorithm without a population has a blank there."""
    return "" if effort.popsize is None else f"{effort.popsize:,}"


def _lines_without_size(row: Row, is_open: bool) -> list[Line]:
    """Say why there is no population size; while sizes are tried, how many runs have solved the problem so far."""
    sign = Cell(text=OPEN if is_open else NONE if row.judged else UNKNOWN)
    so_far = sign
    if is_open and row.judged and row.under_way is not None:
        at = f" at {size}" if (size := _size(row.under_way)) else ""
        so_far = Cell(text=f"{row.under_way.solved}/{row.under_way.runs}{at}", style="dim")
    return [Line(label=sign, evaluations=so_far, seconds=sign), *_failed(row.failed)]


def effort_lines(effort: Effort, label: str, *, style: str = "") -> list[Line]:
    """Give the line of an effort, and below it one for runs that failed."""
    return [_line(label, effort, complete=effort.complete, style=style), *_failed(effort.failed)]


def _failed(count: int) -> list[Line]:
    return [Line(label=Cell(text=f"{count:,} failed", style="yellow"))] if count else []


def _line(label: str, of: Effort | Published | None, *, complete: bool = True, style: str = "") -> Line:
    return Line(
        label=Cell(text=label, style=style),
        evaluations=_measured(None if of is None else of.evaluations, _whole, complete=complete, style=style),
        seconds=_measured(None if of is None else of.seconds, seconds_text, complete=complete, style=style),
    )


def _measured(
    measure: Measure | None, write: Callable[[float], str], *, complete: bool = True, style: str = ""
) -> Cell:
    if measure is None:
        return Cell(text=NONE if complete else OPEN, style=style)
    sd = write(measure.sd) if complete else f"{write(measure.sd)} {OPEN}"
    return Cell(text=write(measure.mean), sd=sd, star=measure.star, style=style)


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def seconds_text(value: float) -> str:
    """Write seconds with two digits at least, as the paper does: 0.03, 1.2, 34, 1,297."""
    if value >= 9.95:
        return f"{value:,.0f}"
    if value >= 0.995 or value == 0:
        return f"{value:.1f}"
    return f"{value:.2g}" if value >= 0.001 else "<0.001"


def of_rows(rows: Sequence[Row], published: PublishedTable | None) -> PublishedTable | None:
    """Give the paper's numbers if it has any of these rows."""
    known = published or {}
    return published if any((row.problem.name, row.algorithm.name) in known for row in rows) else None


def size_lines(study: Study, runs: Runs) -> tuple[list[str], dict[StudyProblem, list[tuple[str, list[list[Cell]]]]]]:
    """Give the names of the columns and, by problem and algorithm, a line for each population size that has runs."""
    found = [(*pair, efforts(study, runs, *pair)) for pair in study.pairs()]
    optional = {
        "failed": any(effort.failed for _, _, of_pair in found for effort in of_pair),
        "batches": any(_batches_differ(run) for cell in study.cells() for run in runs.get(cell.key, {}).values()),
    }
    columns = [name for name in _SIZE_COLUMNS if optional.get(name, True)]
    lines: dict[StudyProblem, list[tuple[str, list[list[Cell]]]]] = {}
    for problem, algorithm, of_pair in found:
        if of_pair:
            chosen = [[of_size[name] for name in columns] for of_size in map(_size_cells, of_pair)]
            lines.setdefault(problem, []).append((printable(algorithm.name), chosen))
    return columns, lines


def _batches_differ(run: Run) -> bool:
    """Whether a run did not simply ask for one batch per generation: then its batches tell something."""
    return None not in (run.batches, run.generations) and run.batches != (run.generations or 0) + 1


def _size_cells(effort: Effort) -> dict[str, Cell]:
    cells = (
        Cell(text=_size(effort)),
        Cell(text=f"{effort.solved if effort.judged else '?'}/{effort.runs}"),
        Cell(text=f"{effort.failed:,}" if effort.failed else "", style="yellow"),
        _best(effort.best),
        _measured(effort.evaluations, _whole),
        _measured(effort.seconds, seconds_text),
        _measured(effort.batches, _whole),
    )
    return dict(zip(_SIZE_COLUMNS, cells, strict=True))


def _best(best: Measure | None) -> Cell:
    if best is None:
        return Cell(text=NONE)
    return Cell(text=f"{best.mean:.6g}", sd=f"{best.sd:.2g}" if math.isfinite(best.sd) else "")
