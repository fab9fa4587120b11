"""The tables of studies: their columns, and what readers and programs see of them.

`LEVELS`, `SIZES` and `BUDGETS` list the columns of the three kinds of tables. A column has a value for programs. Those
with a title are also shown to readers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from daedal.objectives.spec import without_folder
from daedal.settings.checks import counted, printable
from daedal.storage.files import Kind
from daedal.studies import writers
from daedal.studies.analysis import SIGNIFICANT, Measure, Row, Test, analyse, can_be_significant, mean_ranks, size_rows
from daedal.studies.paper import is_theirs, published
from daedal.studies.plan import Settled, Unsettled
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import StudyProblem
from daedal.studies.store import frame_of
from daedal.studies.writers import EMPTY, NONE, OPEN, OTHER, UNKNOWN, Cell, Group, Heading, Sheet

if TYPE_CHECKING:
    from pandas import DataFrame

TABLE = Kind(
    "a table of daedal",
    re.compile(
        rb"\s*((solved|budget) .*)?Algorithm |\| Problem \| |% Written by daedal|problem,(spec|algorithm),"
        rb'|\[\s*(\]|\{"problem": ")'
    ),
)
PARQUET = Kind("a table of daedal", re.compile(rb"PAR1"), end=re.compile(rb"evaluations_to_best"))
"""Tables and exported runs, by their beginning or, for Parquet, by the names of columns at the end."""

# ------------------------------------------------------------ columns


Write: TypeAlias = Callable[[float], str]
"""How numbers are written."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name, kind, value
        In files and data frames: the name and type of the column, and its value in a row.
    title, cell
        For readers: title and cell. Objective values are written as the second argument of `cell` says. A column
        without titles is in files only, and one with empty cells only is not shown.
    spare
        How easily narrow terminals do without it. 0: never.
    """

    name: str
    kind: type
    value: Callable[[Row], Any]
    title: str = ""
    cell: Callable[[Row, Write], Cell] = lambda row, write: EMPTY
    spare: int = 0


Of: TypeAlias = Callable[[Row], Any]
"""An object that belongs to a row, such as the runs that confirm it."""


def _itself(row: Row) -> Row:
    return row


def _plain(name: str, kind: type, title: str = "", *, prefix: str = "", of: Of = _itself, spare: int = 0) -> Column:
    """Make the column of an attribute."""

    def value(row: Row) -> Any:
        return getattr(of(row), name, None)

    def cell(row: Row, _: Write) -> Cell:
        found = value(row)
        return Cell(text="" if found is None else f"{found:,}" if kind is int else f"{found:g}")

    return Column(name=prefix + name, kind=kind, value=value, title=title, cell=cell, spare=spare)


def _measured(
    name: str,
    title: str = "",
    write: Write | None = None,
    *,
    parts: Sequence[str] = ("sd",),
    prefix: str = "",
    of: Of = _itself,
    sign: bool = True,
    spare: int = 0,
) -> list[Column]:
    """Make the columns of a measure: its mean and other parts. For readers they are one column."""

    def measure(row: Row) -> Measure | None:
        found: Measure | None = getattr(of(row), name, None)
        return found

    def cell(row: Row, of_problem: Write) -> Cell:
        if (found := measure(row)) is None:
            return Cell(text=_sign(row)) if sign else EMPTY
        how = write or of_problem
        sd = how(found.sd) if math.isfinite(found.sd) and parts else ""
        missing = f" {OPEN}" if sign and not row.complete and (row.level or row.budget) else ""
        return Cell(text=how(found.mean), sd=sd + missing, star=found.star)

    def part(which: str) -> Callable[[Row], Any]:
        return lambda row: getattr(measure(row), which, None)

    mean = Column(name=prefix + name, kind=float, value=part("mean"), title=title, cell=cell, spare=spare)
    kinds = {one: bool if one == "star" else float for one in parts}
    return [mean, *(Column(name=f"{prefix}{name}_{one}", kind=kind, value=part(one)) for one, kind in kinds.items())]


def _sign(row: Row) -> str:
    """Return the sign for a figure that is not there."""
    if row.choice is Unsettled.OPEN or (row.choice is None and not row.complete):
        return OPEN
    return UNKNOWN if row.choice is Unsettled.NONE and row.solved is None else NONE


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def seconds_text(value: float) -> str:
    """Write seconds with at least two digits: 0.03, 1.2, 34, 1,297."""
    if value >= 9.95:
        return f"{value:,.0f}"
    if value >= 0.995 or value == 0:
        return f"{value:.1f}"
    return f"{value:.2g}" if value >= 0.001 else "<0.001"


def _solved(row: Row, _: Write) -> Cell:
    text = f"{'?' if row.solved is None else row.solved}/{row.runs}"
    return Cell(text=text if row.complete or not row.budget else f"{text} {OPEN}") if row.choice is None else EMPTY


def _failed(row: Row, _: Write) -> Cell:
    count = row.failed if row.runs else row.failed_at_any_size
    return Cell(text=f"{count:,}" if count else "", style="yellow")


def _ert(row: Row, _: Write) -> Cell:
    if row.solved is None:
        return EMPTY
    return Cell(text=(OPEN if not row.runs else NONE) if row.ert is None else _whole(row.ert))


def _median(row: Row, write: Write) -> Cell:
    return EMPTY if row.median is None else Cell(text=write(row.median))


def _rank(row: Row, _: Write) -> Cell:
    return Cell(text=(NONE if row.complete else OPEN) if row.rank is None else f"{row.rank:g}")


def _chosen_size(row: Row, _: Write) -> Cell:
    if isinstance(row.choice, Settled):
        return Cell(text="" if row.popsize is None else f"{row.popsize:,}")
    return Cell(text=_sign(row))


def _chosen_evaluations(row: Row, write: Write) -> Cell:
    """Write the evaluations; while sizes are tried, the number of runs that have solved the problem so far."""
    if (made := row.under_way) is not None and made.solved is not None:
        at = "" if made.popsize is None else f" at {made.popsize:,}"
        return Cell(text=f"{made.solved}/{made.runs}{at}", style="dim")
    return _EVALUATIONS[0].cell(row, write)


def _again(row: Row, write: Write) -> Cell:
    if (again := row.confirmed) is None:
        return EMPTY
    if not again.runs:
        return Cell(text=OPEN)
    found = again.evaluations_to_best
    return Cell(text=f"{again.solved}/{again.runs}" + ("" if found is None else f": {_whole(found.mean)}"), style="dim")


def _us_per_evaluation(row: Row) -> float | None:
    if row.cpu_seconds is None or row.evaluations is None or not row.evaluations.mean:
        return None
    return 1e6 * row.cpu_seconds.mean / row.evaluations.mean


def _published(row: Row) -> Any:
    """Return the paper's numbers, or None."""
    return published().get((row.problem.name, row.algorithm.name), {}).get(row.level or 0)


def _ratio(row: Row) -> float | None:
    paper = _published(row)
    if paper is None or row.evaluations_to_best is None or not is_theirs(row.problem):
        return None
    return float(row.evaluations_to_best.mean / paper.evaluations_to_best.mean)


def _paper(name: str, title: str, write: Write, spare: int) -> list[Column]:
    return _measured(
        name, title, write, parts=("sd", "star"), prefix="published_", of=_published, sign=False, spare=spare
    )


def _unsettled(row: Row) -> str | None:
    if not isinstance(row.choice, Unsettled):
        return None
    return "no optimum or target is known" if _sign(row) == UNKNOWN else row.choice.value


_PROBLEM = [
    Column(name="problem", kind=str, value=lambda row: row.problem.name),
    Column(name="spec", kind=str, value=lambda row: without_folder(row.problem.problem)),
]
_ALGORITHM = Column(
    name="algorithm",
    kind=str,
    value=lambda row: row.algorithm.name,
    title="Algorithm",
    cell=lambda row, _: Cell(text=printable(row.algorithm.name)),
)
_COUNTS = [
    _plain("runs", int),
    replace(_plain("solved", int, "solved"), cell=_solved),
    replace(_plain("failed", int, "failed"), cell=_failed),
    _plain("complete", bool),
]
_EVALUATIONS = _measured("evaluations_to_best", "evaluations", _whole, parts=("sd", "star", "p"))
_AGAIN: dict[str, Any] = {"prefix": "confirmed_", "of": attrgetter("confirmed")}

LEVELS = [
    *_PROBLEM,
    replace(_plain("level", int, "solved"), cell=lambda row, _: Cell(text=f"≥ {row.level} %")),
    _ALGORITHM,
    replace(_plain("popsize", int, "popsize"), cell=_chosen_size),
    Column(name="unsettled", kind=str, value=_unsettled),
    *_COUNTS,
    _plain("failed_at_any_size", int),
    replace(_EVALUATIONS[0], cell=_chosen_evaluations),
    *_EVALUATIONS[1:],
    *_paper("evaluations_to_best", "paper", _whole, 1),
    *_measured("cpu_seconds_to_best", "CPU s", seconds_text, parts=("sd", "star", "p"), spare=2),
    *_paper("cpu_seconds_to_best", "paper CPU s", seconds_text, 3),
    replace(_plain("runs", int, "again", **_AGAIN, spare=1), cell=_again),
    *(_plain(name, int, **_AGAIN) for name in ("solved", "failed")),
    _plain("complete", bool, **_AGAIN),
    *(one for name in ("evaluations_to_best", "cpu_seconds_to_best") for one in _measured(name, **_AGAIN)),
    Column(name="ratio", kind=float, value=_ratio),
]
"""The sizes that solve 50 % and 90 % of the runs."""

SIZES = [
    *_PROBLEM,
    _ALGORITHM,
    _plain("popsize", int, "popsize"),
    *_COUNTS,
    *_measured("best", "mean best"),
    *_measured("evaluations_to_best", "evaluations", _whole),
    *_measured("cpu_seconds_to_best", "CPU s", seconds_text, spare=1),
    *_measured("batches", "batches", _whole, sign=False, spare=2),
]
"""Every population size."""

BUDGETS = [
    *_PROBLEM,
    _plain("budget", int, "budget"),
    _ALGORITHM,
    _plain("popsize", int, "popsize", spare=5),
    *_measured("best", "mean best", parts=("sd", "star", "p")),
    replace(_plain("median", float, "median", spare=1), cell=_median),
    *(_plain(name, float) for name in ("q1", "q3")),
    replace(_plain("rank", float, "rank"), cell=_rank),
    *_COUNTS,
    replace(_plain("ert", float, "ERT"), cell=_ert),
    *_measured("evaluations_to_best", "to best", _whole, sign=False, spare=2),
    *_measured("cpu_seconds", "CPU s", seconds_text, sign=False, spare=3),
    Column(
        name="cpu_us_per_evaluation",
        kind=float,
        value=_us_per_evaluation,
        title="CPU us/eval",
        cell=lambda row, _: Cell(text="" if (us := _us_per_evaluation(row)) is None else f"{us:,.1f}"),
        spare=7,
    ),
    *_measured("evaluations", "evaluations", _whole, sign=False, spare=4),
    *_measured("batches", "batches", _whole, sign=False, spare=8),
]
"""What each budget brings."""


# ------------------------------------------------------------ the table for readers


def problem_title(problem: StudyProblem) -> tuple[str, str]:
    """Return a problem's name and, in brackets, what it is if the name does not say so; of a file, only its name."""
    name, spec = printable(problem.name), printable(without_folder(problem.problem))
    return name, "" if without_folder(name) == spec else f"({spec})"


def _is_another(problem: StudyProblem) -> bool:
    """Whether the paper has numbers under a problem's name, but for another landscape."""
    return not is_theirs(problem) and any(name == problem.name for name, _ in published())


def _writer(rows: Sequence[Row]) -> Write:
    """Choose how the objective values of a problem are written: with two digits of the smallest deviation."""
    deviations = [row.best.sd for row in rows if row.best is not None and row.best.sd > 0]
    decimals = max(0, 1 - math.floor(math.log10(min(deviations)))) if deviations else math.inf
    return (lambda value: f"{value:.6g}") if decimals > 6 else (lambda value: f"{value:,.{decimals}f}")


def _legend(rows: Sequence[Row], test: Test, correct: bool, shown: set[str]) -> list[str]:
    """Explain the words and signs that are shown."""
    runs = max((row.runs for row in rows), default=0)
    levels, ranked = any(row.level is not None for row in rows), any(row.budget is not None for row in rows)
    rivals: dict[tuple[object, ...], list[int]] = {}  # runs that count
    for row in rows:
        if row.runs and row.choice is not Unsettled.OPEN:
            rivals.setdefault((row.problem, row.level, row.budget), []).append(row.runs - row.failed)
    is_possible = any(
        can_be_significant(min(counts), test=test, pairs=math.comb(len(counts), 2) if correct else 1)
        for counts in rivals.values()
    )
    at = ", at the smallest population size that solves this share of them"
    sized = any(row.popsize is not None for row in rows)
    test_name = {"signed-rank": "Wilcoxon signed-rank", "mann-whitney": "Mann-Whitney"}[test]
    corrected = ", corrected by Holm's method" if correct else ""
    how = f"pairwise {test_name} tests, p < {SIGNIFICANT}{corrected}"
    measures = [one for row in rows for one in (row.best, row.evaluations_to_best, row.cpu_seconds_to_best) if one]
    over = f"Mean ± standard deviation of {counted(runs, 'run')}"
    of = " at this level" if levels else " with this budget" if ranked else ""
    sentences = {
        f"{over}, each up to its best solution{at if sized else ''}.": levels and runs > 0,
        f"{over}.": not levels and runs > 0,
        "ERT: expected running time, the evaluations of all runs divided by the number of solved runs.": "ERT" in shown,
        f"* significantly better than every other algorithm{of} ({how}).": any(one.star for one in measures),
        f"With {counted(max(map(min, rivals.values()), default=0), 'run')} no difference can be significant ({how}).": (
            bool(rivals) and (levels or ranked) and max(map(len, rivals.values())) > 1 and not is_possible
        ),
        f"{NONE} no size reaches the level.": any(_unsettled(row) == Unsettled.NONE.value for row in rows),
        f"{NONE} no run has solved the problem.": "ERT" in shown and NONE in shown,
        f"{OPEN} not all runs are made yet. While sizes are tried: solved/runs at popsize.": levels and OPEN in shown,
        f"{OPEN} not all runs are made yet, so there are no ranks and stars.": not levels and OPEN in shown,
        f"{UNKNOWN} no optimum or target is known; see --sizes.": UNKNOWN in shown,
        "?: no optimum or target is known.": not levels and any(row.solved is None and row.runs for row in rows),
        "to best: evaluations up to the best solution.": "to best" in shown,
        "failed: runs that ended with an error. They count as not solved, and all other figures leave them out.": any(
            row.failed or row.failed_at_any_size for row in rows
        ),
        "again: solved/runs of the same size with other seeds, and their evaluations.": any(
            row.confirmed for row in rows
        ),
        "paper: as published, measured with Octave on another machine in 2015.": any(map(_published, rows)),
        f"{OTHER} not the paper's landscape, but another one with the same n and k.": levels
        and any(_is_another(row.problem) for row in rows),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyTable:
    """A table of rows and columns.

    Parameters
    ----------
    rows, columns
        See `analyse` and `LEVELS`.
    test, holm
        How the stars were found, for the legend.

    Examples
    --------
    >>> from daedal.studies.spec import Study
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(StudyTable.of(Snapshot(study=study, runs={})).markdown().splitlines()[2])
    | onemax:n=20 | ≥ 50 % | umda | … | … | … |
    """

    rows: Sequence[Row]
    columns: Sequence[Column]
    test: Test = "signed-rank"
    holm: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot, *, test: Test = "signed-rank", holm: bool = False, sizes: bool = False) -> Self:
        """Make the table of a study; with `sizes`, each population size has a line."""
        study, runs = snapshot.study, snapshot.runs
        if sizes and study.budgets:
            raise ValueError("a study with budgets has no table of population sizes; leave out --sizes")
        if sizes:
            return cls(rows=size_rows(study, runs), columns=SIZES, test=test, holm=holm)
        rows = analyse(study, runs, test=test, correct=holm, confirm=snapshot.confirm)
        return cls(rows=rows, columns=BUDGETS if study.budgets else LEVELS, test=test, holm=holm)

    def sheet(self) -> Sheet:
        """Return the table for readers: only columns with something in them, grouped by problem."""
        shown = [column for column in self.columns if column.title]
        groups = []
        for problem, of_problem in groupby(self.rows, key=lambda row: row.problem):
            rows = list(of_problem)
            write = _writer(rows)
            name, spec = problem_title(problem)
            other = OTHER if rows[0].level is not None and _is_another(problem) else ""
            groups.append(Group((name, spec + other), [[one.cell(row, write) for one in shown] for row in rows]))
        if len(groups) > 1 and any(row.rank is not None for row in self.rows):
            groups.append(Group(("all problems", "(mean ranks)"), self._mean_ranks(shown)))
        lines = [line for group in groups for line in group.lines]
        used = [not lines or any(line[place].text for line in lines) for place in range(len(shown))]
        for group in groups:
            found = [[cell for cell, is_used in zip(line, used, strict=True) if is_used] for line in group.lines]
            firsts = [None, *(line[0] for line in found)]
            group.lines[:] = [
                [EMPTY if first == line[0] else line[0], *line[1:]] for first, line in zip(firsts, found, strict=False)
            ]
        headings = [Heading(one.title, one.spare) for one, is_used in zip(shown, used, strict=True) if is_used]
        words = {word for line in lines for cell in line for word in f"{cell.text} {cell.sd}".split()}
        words |= {one.title for one in headings}
        return Sheet(headings, groups, _legend(self.rows, self.test, self.holm, words))

    def _mean_ranks(self, shown: Sequence[Column]) -> list[list[Cell]]:
        return [
            [Cell(text=texts.get(one.name, "")) for one in shown]
            for budget, of_budget in mean_ranks(self.rows).items()
            for name, rank in of_budget.items()
            for texts in [
                {
                    "budget": "" if budget is None else f"{budget:,}",
                    "algorithm": printable(name),
                    "rank": f"{rank:.3g}",
                }
            ]
        ]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        return writers.markdown(self.sheet())

    def latex(self) -> str:
        r"""Return the table as LaTeX to be \input."""
        return writers.latex(self.sheet())

    def html(self) -> str:
        """Return the table as HTML. Names in it are shown and never obeyed."""
        return writers.to_html(self.sheet())

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows for programs, by column."""
        return ({column.name: column.value(row) for column in self.columns} for row in self.rows)

    def export(self, form: str) -> Iterator[bytes]:
        """Yield the table piece by piece as csv, json or parquet."""
        return writers.export(self.records(), form, self._kinds())

    def csv(self) -> str:
        """Return the table as CSV."""
        return b"".join(self.export("csv")).decode()

    def json(self) -> str:
        """Return the table as JSON: an array of objects."""
        return b"".join(self.export("json")).decode()

    def frame(self) -> DataFrame:
        """Return the table as a pandas data frame."""
        return frame_of(self.records(), self._kinds())

    def _kinds(self) -> dict[str, type]:
        return {column.name: column.kind for column in self.columns}
