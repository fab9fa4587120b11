"""The tables of studies: their content, and writers for Markdown, LaTeX, HTML, CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import html
import importlib
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any

from daedal.objectives.spec import without_folder
from daedal.settings.checks import counted, printable, storable, visible
from daedal.settings.lazy import missing_extra
from daedal.settings.parameters import unknown
from daedal.storage.kinds import Kind
from daedal.studies.analysis import LEVEL, Effort, Measure, Row, Test, analyse, can_be_significant, efforts
from daedal.studies.budgets import BudgetRow, analyse_budgets, mean_ranks
from daedal.studies.paper import Published, PublishedTable, is_theirs, published
from daedal.studies.plan import LEVELS, Runs, Settled, Unsettled
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import Run, frame_of

if TYPE_CHECKING:
    from pandas import DataFrame


WRITTEN_BY = {"written_by": "daedal"}
"""What a Parquet file has in its metadata."""

_RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}".encode()
_RULED = rb"(?=.{0,2000}Algorithm)(?:[^\n]*\n){1,2}(?:%s){10}" % _RULE  # one or two lines of titles above it

TABLES: dict[str, Kind] = {
    "rich": Kind("a table as text", re.compile(_RULED, re.DOTALL)),
    "markdown": Kind("a table in Markdown", re.compile(rb"\| Problem \| (?:Algorithm|budget) \| ")),
    "latex": Kind("a table in LaTeX", re.compile(rb"% Written by daedal\.")),
    "csv": Kind("a table as CSV", re.compile(rb"problem,(?:spec,algorithm|algorithm,preset),")),
    "json": Kind("a table as JSON", re.compile(rb'\[\s*(?:\]|\{"problem": "[^\n]*", "algorithm": ")')),
    "parquet": Kind("a table as Parquet", re.compile(rb"PAR1"), end=re.compile(rb"written_by.{1,8}daedal", re.DOTALL)),
}
"""By format."""

FORMATS = ("csv", "json", "parquet")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # and the wide ones, which some spreadsheets know
_ARROW = {bool: "bool_", int: "int64", float: "float64", str: "string"}


def export(rows: Iterable[Mapping[str, Any]], form: str, columns: Mapping[str, type]) -> Iterator[bytes]:
    r"""Give rows, all of the same columns, piece by piece in a format: csv, json (one array) or parquet.

    The columns have names and types (bool, int, float or str), which do not depend on the rows: there may be none, and
    any value may be None.

    Examples
    --------
    >>> b"".join(export([{"seed": 1, "best": 2.5}], "csv", {"seed": int, "best": float}))
    b'seed,best\r\n1,2.5\r\n'
    """
    writers = {"csv": _csv, "json": _json, "parquet": _parquet}
    if form not in writers:
        raise ValueError(unknown("format", form, FORMATS))
    return writers[form](rows, columns)


def _csv(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row.values()])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()  # the titles, where there was no row


def _csv_cell(value: Any) -> Any:
    """Keep a text from being obeyed: by a terminal, or by a spreadsheet, which computes what begins like a formula."""
    if not isinstance(value, str):
        return value
    text = "\n".join(map(visible, value.split("\n")))  # a cell may have several lines
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _json(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    """One array, one row per line; infinity and nan, which JSON does not have, become null."""
    yield b"["
    for index, row in enumerate(rows):
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        yield (b",\n" if index else b"\n") + json.dumps(finite, allow_nan=False).encode()
    yield b"\n]\n"


def _parquet(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise missing_extra("Parquet needs pyarrow", "parquet") from error
    buffer = io.BytesIO()
    fields = [(name, getattr(arrow, _ARROW[kind])()) for name, kind in columns.items()]
    schema = arrow.schema(fields, metadata=WRITTEN_BY)
    parquet.write_table(arrow.Table.from_pylist(list(map(_encodable, rows)), schema=schema), buffer)
    yield buffer.getvalue()


def _encodable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in row.items()}


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
        evaluations=_measured(None if of is None else of.evaluations_to_best, _whole, complete=complete, style=style),
        seconds=_measured(None if of is None else of.cpu_seconds_to_best, seconds_text, complete=complete, style=style),
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
        _measured(effort.evaluations_to_best, _whole),
        _measured(effort.cpu_seconds_to_best, seconds_text),
        _measured(effort.batches, _whole),
    )
    return dict(zip(_SIZE_COLUMNS, cells, strict=True))


def _best(best: Measure | None) -> Cell:
    if best is None:
        return Cell(text=NONE)
    return Cell(text=f"{best.mean:.6g}", sd=f"{best.sd:.2g}" if math.isfinite(best.sd) else "")


_TESTS: dict[Test, str] = {"signed-rank": "Wilcoxon signed-rank", "mann-whitney": "Mann-Whitney"}


def legend_of(rows: Sequence[Row], published: PublishedTable | None, test: Test, correct: bool) -> list[str]:
    """Explain what is shown, and the signs that are there."""
    lines = [line for row in rows for level in LEVELS for line in block_of(row, level, published).lines()]
    texts = [(line.label.text, line.evaluations.text, line.evaluations.sd) for line in lines]
    signs = {word for text in texts for word in " ".join(text).split()}
    entries = [(row, entry) for row in rows for entry in row.entries.values()]
    found = [entry.effort for _, entry in entries if entry.effort is not None]
    runs = max((effort.runs for effort in found), default=0)
    at = ", at the smallest population size that solves this share of them" if any(one.popsize for one in found) else ""
    sentences = {
        f"Mean ± standard deviation of {counted(runs, 'run')}, each up to its best solution{at}.": runs > 0,
        "No popsize: the algorithm has no population, or sizes of its own.": any(
            effort.popsize is None for effort in found
        ),
        **_star_sentences(rows, lines, test, correct),
        "CPU seconds from different kinds of processors are not compared.": any(map(_of_two_machines, found)),
        f"{NONE} the level is not reached with any of the sizes that were tried.": any(
            entry.choice is Unsettled.NONE and row.judged for row, entry in entries
        ),
        f"{OPEN} not all runs are made yet{_so_far(rows)}.": OPEN in signs,
        f"{UNKNOWN} no optimum or target is known, so nobody can tell what is solved; see --sizes.": UNKNOWN in signs,
        "failed: these runs ended with an error; they count as not solved and are left out of the means.": any(
            row.failed for row in rows
        ),
        "again: the same size with fresh seeds, solved/runs.": any(entry.confirmed for _, entry in entries),
        "paper: as published, measured with Octave on another machine in 2015.": published is not None,
        f"{OTHER} not the paper's own landscape but another one with the same n and k; the paper's numbers are for "
        "its own.": any(is_another(row.problem, published) for row in rows),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def _so_far(rows: Sequence[Row]) -> str:
    """Explain the first entry that says how many runs have solved a problem so far, if there is any."""
    for row in rows:
        for level in LEVELS:
            made, text = row.under_way, block_of(row, level, None).ours[0].evaluations.text
            if made is not None and row.entries[level].choice is Unsettled.OPEN and "/" in text:
                size = "" if made.popsize is None else f" with popsize {made.popsize:,}"
                has = "has" if made.solved == 1 else "have"
                return f"; {text}: of {counted(made.runs, 'run')}{size}, {made.solved:,} {has} solved it"
    return ""


def test_words(test: Test, correct: bool) -> str:
    """Say how stars were found."""
    holm = ", corrected by Holm's method" if correct else ""
    return f"pairwise {_TESTS[test]} tests, p < {LEVEL}{holm}"


def _of_two_machines(effort: Effort) -> bool:
    """Whether evaluations were compared with those of rivals, and seconds were not."""
    evaluations, seconds = effort.evaluations_to_best, effort.cpu_seconds_to_best
    return evaluations is not None and seconds is not None and evaluations.p is not None and seconds.p is None


def _star_sentences(rows: Sequence[Row], lines: Sequence[Line], test: Test, correct: bool) -> dict[str, bool]:
    """Explain the star, or why there can be none."""
    rivals: dict[tuple[str, int], list[int]] = {}  # by problem and level, the number of runs that count for each
    for row in rows:
        for level, entry in row.entries.items():
            if entry.effort is not None:
                well = entry.effort.runs - entry.effort.failed
                rivals.setdefault((row.problem.name, level), []).append(well)
    possible = not rivals or any(
        can_be_significant(min(counts), test=test, pairs=math.comb(len(counts), 2) if correct else 1)
        for counts in rivals.values()
    )
    runs = max((count for counts in rivals.values() for count in counts), default=0)
    how = test_words(test, correct)
    return {
        f"* significantly smaller than for every other algorithm that reaches the level ({how}).": any(
            line.evaluations.star or line.seconds.star for line in lines
        ),
        f"With {counted(runs, 'run')} no difference can be significant ({how}).": runs > 0 and not possible,
    }


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


_MEASURED: dict[str, type] = {"": float, "_sd": float}
_JUDGED: dict[str, type] = {**_MEASURED, "_star": bool, "_p": float}
_PUBLISHED: dict[str, type] = {**_MEASURED, "_star": bool}
_COMPARED = ("evaluations_to_best", "cpu_seconds_to_best")
_COUNTS = ("runs", "solved", "failed", "complete")


def _columns(prefix: str, names: Sequence[str], parts: dict[str, type]) -> dict[str, type]:
    return {f"{prefix}{name}{part}": kind for name in names for part, kind in parts.items()}


SIZE_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("problem", "spec", "algorithm"), str),
    **dict.fromkeys(("popsize", "runs", "solved", "failed"), int),
    "complete": bool,
    **_columns("", ("best", *_COMPARED, "batches"), _MEASURED),
}
"""What `flat_sizes` gives."""

ROW_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("problem", "spec", "algorithm"), str),
    **dict.fromkeys(("level", "popsize"), int),
    "unsettled": str,
    **dict.fromkeys(("runs", "solved", "failed"), int),
    "complete": bool,
    "failed_at_any_size": int,
    **_columns("", _COMPARED, _JUDGED),
    **dict.fromkeys(("confirmed_runs", "confirmed_solved", "confirmed_failed"), int),
    "confirmed_complete": bool,
    **_columns("confirmed_", _COMPARED, _MEASURED),
    **_columns("published_", _COMPARED, _PUBLISHED),
    "ratio": float,
}
"""What `flat_rows` gives."""


BUDGET_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("problem", "spec", "algorithm"), str),
    **dict.fromkeys(("budget", "popsize", "runs", "solved", "failed"), int),
    "complete": bool,
    **_columns("", ("best",), _MEASURED),
    **dict.fromkeys(("best_median", "best_q1", "best_q3"), float),
    "best_star": bool,
    **dict.fromkeys(("best_p", "rank"), float),
    **_columns("", ("evaluations", "batches"), _MEASURED),
    "ert": float,
    **_columns("", ("cpu_seconds",), _MEASURED),
}
"""What `flat_budgets` gives."""


def flat_budgets(rows: Sequence[BudgetRow]) -> list[dict[str, object]]:
    """Give the table of a study with budgets for other programs: one dictionary for each problem, budget, algorithm."""
    return [
        {
            **_flat_names(row.problem, row.algorithm),
            "budget": row.budget,
            "popsize": row.popsize,
            **{name: getattr(row, name) for name in _COUNTS},
            **_measures("", ("best",), _MEASURED, row),
            **{f"best_{name}": getattr(row.spread, name, None) for name in ("median", "q1", "q3")},
            **_measures("", ("best",), ("_star", "_p"), row),
            "rank": row.rank,
            **_measures("", ("evaluations", "batches"), _MEASURED, row),
            "ert": row.ert,
            **_measures("", ("cpu_seconds",), _MEASURED, row),
        }
        for row in rows
    ]


def flat_sizes(study: Study, runs: Runs) -> list[dict[str, object]]:
    """Give each population size that has runs, for other programs; `batches` are those of whole runs."""
    return [
        _flat_names(*pair)
        | {name: getattr(effort, name) for name in ("popsize", *_COUNTS)}
        | ({} if effort.judged else {"solved": None})
        | _measures("", ("best", *_COMPARED, "batches"), _MEASURED, effort)
        for pair in study.pairs()
        for effort in efforts(study, runs, *pair)
    ]


def flat_rows(rows: Sequence[Row], *, published: PublishedTable | None = None) -> list[dict[str, object]]:
    """Give the table for other programs: one dictionary for each problem, algorithm and level.

    Where the level is not reached, `unsettled` says why. popsize is None there, and for algorithms without a
    population. `ratio` is our evaluations over the paper's, where the problem is the same.
    """
    return [_flat(row, level, published) for row in rows for level in LEVELS]


def _flat(row: Row, level: int, published: PublishedTable | None) -> dict[str, object]:
    entry = row.entries[level]
    choice, effort, again = entry.choice, entry.effort, entry.confirmed
    paper = None if published is None else published.get((row.problem.name, row.algorithm.name), {}).get(level)
    judged = row.judged or choice is not Unsettled.NONE
    why = None if isinstance(choice, Settled) else choice.value if judged else "no optimum or target is known"
    flat = {
        **_flat_names(row.problem, row.algorithm),
        "level": level,
        "popsize": choice.popsize if isinstance(choice, Settled) else None,
        "unsettled": why,
        **{name: getattr(effort, name, None) for name in _COUNTS},
        "failed_at_any_size": row.failed,
        **_measures("", _COMPARED, _JUDGED, effort),
        **{f"confirmed_{name}": getattr(again, name, None) for name in _COUNTS},
        **_measures("confirmed_", _COMPARED, _MEASURED, again),
        **_measures("published_", _COMPARED, _PUBLISHED, paper),
    }
    ours, theirs = flat["evaluations_to_best"], flat["published_evaluations_to_best"]
    if is_theirs(row.problem) and isinstance(ours, float) and isinstance(theirs, float):
        return flat | {"ratio": ours / theirs}
    return flat | {"ratio": None}


def _flat_names(problem: StudyProblem, algorithm: StudyAlgorithm) -> dict[str, object]:
    return {"problem": problem.name, "spec": without_folder(problem.problem), "algorithm": algorithm.name}


def _measures(
    prefix: str, names: Sequence[str], parts: Iterable[str], of: Effort | Published | BudgetRow | None
) -> dict[str, object]:
    """Give what `_columns` names."""
    return {
        f"{prefix}{name}{part}": getattr(getattr(of, name, None), part[1:] or "mean", None)
        for name in names
        for part in parts
    }


ALL_PROBLEMS = "all problems"
_COLUMNS = (
    "budget", "Algorithm", "popsize", "mean best", "median", "rank", "solved", "failed", "ERT", "CPU s", "evaluations",
    "batches",
)  # fmt: skip
DISPENSABLE = ("popsize", "batches", "evaluations", "CPU s", "median")
"""What a narrow terminal does not show, the first ones first."""

_MOST_DECIMALS = 6


def budget_sheet(rows: Sequence[BudgetRow], *, without: Sequence[str] = ()) -> Sheet:
    """Give the lines of each problem, by budget and algorithm; below them the mean ranks, where there are several.

    Columns may be left out; a note says so.
    """
    optional = {
        "popsize": any(row.popsize is not None for row in rows),
        "failed": any(row.failed for row in rows),
        "solved": any(row.solved is not None or not row.complete for row in rows),
        "ERT": any(row.solved is not None and row.runs for row in rows),
    }
    names = [name for name in _COLUMNS if optional.get(name, True) and name not in without]
    groups = [
        Group(problem_title(problem), _lines(list(of_problem), names))
        for problem, of_problem in groupby(rows, key=lambda row: row.problem)
    ]
    if len(groups) > 1 and (overall := _overall(rows, names)):
        groups.append(Group((ALL_PROBLEMS, "(mean ranks)"), overall))
    left_out = [name for name in without if optional.get(name, True)]
    note = f"A wider terminal has more: {', '.join(left_out)}." if left_out else ""
    return Sheet([Column(name) for name in names], groups, headed=True, note=note)


def budget_legend(rows: Sequence[BudgetRow], test: Test, correct: bool) -> list[str]:
    """Explain what is shown, and the signs that are there."""
    runs = max((row.runs for row in rows), default=0)
    fewest = min((row.runs - row.failed for row in rows), default=0)
    rivals = len({row.algorithm.name for row in rows})
    complete = all(row.complete for row in rows)
    possible = can_be_significant(fewest, test=test, pairs=math.comb(rivals, 2) if correct else 1)
    judged = any(row.solved is not None for row in rows)
    how = test_words(test, correct)
    sentences = {
        "Mean ± standard deviation, and median, of the best value that a run with that many evaluations finds, "
        f"over {counted(runs, 'run')}.": runs > 0,
        "rank: the place of the mean among the algorithms.": rivals > 1 and complete,
        f"* significantly better than every other algorithm with this budget ({how}).": any(
            row.best is not None and row.best.star for row in rows
        ),
        f"With {counted(fewest, 'run')} no difference can be significant ({how}).": rivals > 1
        and complete
        and fewest > 0
        and not possible,
        "ERT: expected running time, the evaluations of all runs over the number of solved runs.": judged,
        "CPU seconds, evaluations and batches are means over whole runs.": runs > 0,
        f"?, {UNKNOWN}: no optimum or target is known, so nobody can tell what is solved.": judged
        and any(row.solved is None for row in rows),
        f"{NONE} no run has solved it.": any(row.solved == 0 and row.runs for row in rows),
        f"{OPEN} not all runs are made yet: nothing has a rank or a star before.": not complete,
        "failed: these runs ended with an error; they count as not solved and are left out of all other figures.": any(
            row.failed for row in rows
        ),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def budget_markdown(rows: Sequence[BudgetRow], *, test: Test = "signed-rank", correct: bool = False) -> str:
    """Write the table as Markdown."""
    return sheet_markdown(budget_sheet(rows), budget_legend(rows, test, correct))


def budget_latex(rows: Sequence[BudgetRow], *, test: Test = "signed-rank", correct: bool = False) -> str:
    r"""Write the table as LaTeX to be \input: one table*, or several where it is longer than a page."""
    sheet = budget_sheet(rows)
    return sheet_latex(with_problems(sheet.columns, sheet.groups), budget_legend(rows, test, correct))


def _lines(rows: Sequence[BudgetRow], names: Sequence[str]) -> list[list[Cell]]:
    """Give the lines of one problem, whose values are all written alike; a budget stands before its first line."""
    write = _writer(rows)
    whole = all(row.complete for row in rows)
    lines = []
    for _, of_budget in groupby(rows, key=lambda row: row.budget):
        for number, row in enumerate(of_budget):
            cells = _budget_cells(row, write, whole)
            cells["budget"] = EMPTY if number else cells["budget"]
            lines.append([cells[name] for name in names])
    return lines


def _budget_cells(row: BudgetRow, write: Callable[[float], str], whole: bool) -> dict[str, Cell]:
    median = "" if row.spread is None else write(row.spread.median)
    rank = f"{row.rank:g}" if row.rank is not None else NONE if whole else OPEN
    solved = f"{'?' if row.solved is None else row.solved}/{row.runs}"
    ert = UNKNOWN if row.solved is None else OPEN if not row.runs else NONE if row.ert is None else f"{row.ert:,.0f}"
    texts = {
        "budget": f"{row.budget:,}",
        "Algorithm": printable(row.algorithm.name),
        "popsize": "" if row.popsize is None else f"{row.popsize:,}",
        "median": median,
        "rank": rank,
        "solved": solved if row.complete else f"{solved} {OPEN}",
        "ERT": ert,
        "evaluations": _mean(row.evaluations, lambda value: f"{value:,.0f}"),
        "batches": _mean(row.batches, lambda value: f"{value:,.0f}"),
        "CPU s": _mean(row.cpu_seconds, seconds_text),
    }
    cells = {name: Cell(text=text) for name, text in texts.items()}
    cells["failed"] = Cell(text=f"{row.failed:,}" if row.failed else "", style="yellow")
    cells["mean best"] = _best_of_budget(row.best, write, complete=row.complete)
    return cells


def _overall(rows: Sequence[BudgetRow], names: Sequence[str]) -> list[list[Cell]]:
    """Give the mean rank over all problems of each algorithm, where it is known."""
    lines = []
    for budget, of_budget in mean_ranks(rows).items():
        for number, (name, rank) in enumerate(of_budget.items()):
            texts = {"budget": "" if number else f"{budget:,}", "Algorithm": printable(name), "rank": f"{rank:.3g}"}
            lines.append([Cell(text=texts.get(column, "")) for column in names])
    return lines


def _best_of_budget(best: Measure | None, write: Callable[[float], str], *, complete: bool) -> Cell:
    if best is None:
        return Cell(text=NONE if complete else OPEN)
    return Cell(text=write(best.mean), sd=write(best.sd) if math.isfinite(best.sd) else "", star=best.star)


def _mean(measure: Measure | None, write: Callable[[float], str]) -> str:
    return "" if measure is None else write(measure.mean)


def _writer(rows: Sequence[BudgetRow]) -> Callable[[float], str]:
    """Choose how values of a problem are written: with two digits of the smallest deviation, all with as many."""
    deviations = [row.best.sd for row in rows if row.best is not None and row.best.sd > 0]
    if not deviations:
        return lambda value: f"{value:.6g}"
    decimals = max(0, 1 - math.floor(math.log10(min(deviations))))
    if decimals > _MOST_DECIMALS:
        return lambda value: f"{value:.6g}"
    return lambda value: f"{value:,.{decimals}f}"


_LATEX: dict[str, str] = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "_&%#{}$"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # this and the next two come out as other signs in LaTeX's old encoding
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # or a name that begins with it would be an argument of the rule above it
    "]": "{]}",
    NONE: r"\textendash{}",
    OPEN: r"\dots{}",
    OTHER: r"\dag{}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
}
_ACCENTS = {chr(number) for number in (*range(0x300, 0x305), 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x327)}
_LETTERS = "ßæøœłıÆØŒŁ"
_LINES_OF_A_PAGE = 60
_HINT = r"% Written by daedal. \input it in a document with \usepackage{booktabs,graphicx}."


def latex(
    rows: Sequence[Row], *, published: PublishedTable | None = None, test: Test = "signed-rank", correct: bool = False
) -> str:
    r"""Write the table as LaTeX to be \input: one table*, or several where it is longer than a page.

    The paper's numbers are shown with those of the same problem and algorithm; `test` and `correct` say how the stars
    were found, for the legend.
    """
    published = of_rows(rows, published)
    caption = _escaped(" ".join(legend_of(rows, published, test, correct)))
    parts = [_HINT]
    for number, page in enumerate(_pages(side_by_side(rows, published).groups)):
        parts.append(_latex_page(page, "Continued." if number else caption))
    return "\n".join(parts) + "\n"


def _pages(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Spread problems over pages."""
    page: list[Group] = []
    for group in groups:
        if page and sum(len(one.lines) for one in (*page, group)) > _LINES_OF_A_PAGE:
            yield page
            page = []
        page.append(group)
    yield page


def _latex_page(groups: Sequence[Group], caption: str) -> str:
    across = 5 * len(LEVELS)  # a popsize, and two numbers of two columns each
    ends = range(7, 3 + across, 5)
    numbers = [False, False, *[False, True, True] * len(LEVELS)]
    titles = " & ".join(["popsize", *(rf"\multicolumn{{2}}{{c}}{{{name}}}" for name in ("evaluations", "CPU s"))])
    heading = [
        "& " + "".join(rf"& \multicolumn{{5}}{{c}}{{$\geq$ {level}\,\% of runs solved}} " for level in LEVELS) + r"\\",
        "".join(rf"\cmidrule(lr){{{end - 4}-{end}}}" for end in ends),
        " & ".join(["Problem", "Algorithm", *[titles] * len(LEVELS)]) + r" \\",
    ]
    return _latex_table(f"ll{'rr@{}lr@{}l' * len(LEVELS)}", heading, groups, numbers, caption)


def sheet_latex(sheet: Sheet, legend: Sequence[str]) -> str:
    r"""Write a sheet with a column of problems as LaTeX to be \input, with its legend as caption."""
    cells = zip(*(line for group in sheet.groups for line in group.lines), strict=True)
    numbers = [any(cell.sd for cell in column) for column in cells] or [False] * len(sheet.columns)
    widths = zip(sheet.columns, numbers, strict=True)
    layout = "".join("l" if column.title in LEFT else "r@{}l" if two else "r" for column, two in widths)
    titles = [
        rf"\multicolumn{{2}}{{c}}{{{_escaped(column.title)}}}" if two else _escaped(column.title)
        for column, two in zip(sheet.columns, numbers, strict=True)
    ]
    heading = [" & ".join(titles) + r" \\"]
    parts = [_HINT]
    for number, page in enumerate(_pages(sheet.groups)):
        caption = "Continued." if number else _escaped(" ".join(legend))
        parts.append(_latex_table(layout, heading, page, numbers, caption))
    return "\n".join(parts) + "\n"


def _latex_table(
    layout: str, heading: Sequence[str], groups: Sequence[Group], numbers: Sequence[bool], caption: str
) -> str:
    """Put a table together; columns of numbers, see `_latex_cells`, are two in the layout."""
    body = [[" & ".join(map(_latex_cells, line, numbers)) + r" \\" for line in group.lines] for group in groups]
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\scriptsize\setlength{\tabcolsep}{2.5pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            *heading,
            *(line for lines in body for line in (r"\midrule", *lines)),
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{caption}}}",
            r"\end{table*}",
        ]
    )


def _latex_cells(cell: Cell, numbers: bool) -> str:
    """Write a cell; numbers take two columns, so that they line up at the sign between them."""
    text = _escaped(cell.text + "*" * cell.star)
    text = rf"\textbf{{{text}}}" if cell.star else text
    text = rf"\textit{{{text}}}" if text and cell.style == "dim" else text
    sd = rf"\,$\pm${_escaped(cell.sd)}" if cell.sd else ""
    return f"{text} & {sd}" if numbers else text


def _escaped(text: str) -> str:
    escaped = "".join(_LATEX.get(sign) or _known(sign) for sign in unicodedata.normalize("NFC", printable(text)))
    return re.sub("-(?=-)", "-{}", escaped)  # or two would become a dash


def _known(sign: str) -> str:
    """Give a sign that LaTeX knows without further packages: ASCII, Latin letters with accents, or else its number."""
    apart = unicodedata.normalize("NFD", sign)
    is_latin = apart[0].isascii() and {*apart[1:]} <= _ACCENTS
    if is_latin or sign in _LETTERS:
        return sign
    return rf"\texttt{{U+{ord(sign):04X}}}"


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


_STYLE = (
    ".daedal-study table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".daedal-study .scroll{overflow:auto;max-height:32em}"
    ".daedal-study th,.daedal-study td{padding:2px 9px;text-align:left;white-space:nowrap}"
    ".daedal-study tbody{border-top:1px solid #8886}"
    ".daedal-study .number{text-align:right}.daedal-study th[scope=colgroup]{text-align:center}"
    ".daedal-study .soft{opacity:.7}.daedal-study .bad{color:#a06000}.daedal-study .strong{font-weight:600}"
    ".daedal-study p{margin:2px 9px;font-size:.85em}"
)
_KINDS = {"bold": "strong", "dim": "soft", "yellow": "bad"}


def sheet_markup(sheet: Sheet) -> str:
    """Write a sheet as a table, one body for each problem; titles stand above their group where it wants that."""
    left = [column.title in LEFT for column in sheet.columns]
    over = ""
    if any(column.over for column in sheet.columns):
        spans = [(name, len(list(of_name))) for name, of_name in groupby(sheet.columns, key=lambda column: column.over)]
        over = "".join(f'<th colspan="{count}" scope="colgroup">{escaped(name)}</th>' for name, count in spans)
    titles = "".join(
        f"<th scope=col{_class('' if names else 'number')}>{escaped(column.title)}</th>"
        for column, names in zip(sheet.columns, left, strict=True)
    )
    head = f"<thead>{f'<tr>{over}</tr>' if over else ''}<tr>{titles}</tr></thead>"
    bodies = []
    for group in sheet.groups:
        lines = [
            "".join(_html_cell(cell, is_name) for cell, is_name in zip(line, left, strict=True)) for line in group.lines
        ]
        title = " ".join(filter(None, group.title))
        above = f'<tr><th colspan="{len(left)}" scope="rowgroup">{escaped(title)}</th></tr>' if sheet.headed else ""
        bodies.append(f"<tbody>{above}{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>")
    return f'<div class="scroll" tabindex="0"><table class="study">{head}{"".join(bodies)}</table></div>'


def _html_cell(cell: Cell, is_name: bool) -> str:
    text = f"<strong>{escaped(cell.text)}</strong>*" if cell.star else escaped(cell.text)
    text += f" <small>± {escaped(cell.sd)}</small>" if cell.sd else ""
    kinds = [*([] if is_name else ["number"]), *([_KINDS[cell.style]] if cell.style in _KINDS else [])]
    return f"<td{_class(' '.join(kinds))}>{text}</td>"


def _class(kinds: str) -> str:
    return f' class="{kinds}"' if kinds else ""


def sheet_html(sheet: Sheet, legend: Sequence[str]) -> str:
    """Write a sheet as a table that needs no other page's style, and its legend below."""
    notes = "".join(f'<p class="soft">{escaped(sentence)}</p>' for sentence in legend)
    return f'<div class="daedal-study"><style>{_STYLE}</style>{sheet_markup(sheet)}{notes}</div>'


def escaped(text: str) -> str:
    """Write a text of a user so that a browser shows it, and obeys nothing in it."""
    return html.escape(printable(text))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyTable:
    """The table of a study: the sizes that solve 50 and 90 % of the runs, or what each budget buys.

    Parameters
    ----------
    study, runs
        What is compared, and the runs of a store.
    confirm
        How many fresh seeds confirm each choice.
    test, holm
        Which test decides about the stars, and whether it is corrected for the number of pairs.
    sizes
        Whether each population size has a line instead.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(StudyTable(study=study, runs={}).markdown().splitlines()[2])
    | onemax:n=20 | umda | … | … | … | … | … | … |
    """

    study: Study
    runs: Runs
    confirm: int = 0
    test: Test = "signed-rank"
    holm: bool = False
    sizes: bool = False

    def __post_init__(self) -> None:
        if self.sizes and self.study.budgets:
            raise ValueError("expected a study that looks for population sizes with --sizes, got one with budgets")

    @cached_property
    def rows(self) -> list[Row]:
        """The lines of a study that looks for population sizes."""
        return analyse(self.study, self.runs, test=self.test, correct=self.holm, confirm=self.confirm)

    @cached_property
    def budget_rows(self) -> list[BudgetRow]:
        """The lines of a study with budgets."""
        return analyse_budgets(self.study, self.runs, test=self.test, correct=self.holm)

    @property
    def failed(self) -> int:
        """How many runs have failed."""
        return sum(row.failed for row in (self.budget_rows if self.study.budgets else self.rows))

    @property
    def unjudged(self) -> list[str]:
        """The problems of which nobody can tell whether a run solved them, where the table should say so."""
        if self.study.budgets or self.sizes:
            return []
        return list(dict.fromkeys(row.problem.name for row in self.rows if not row.judged))

    def markdown(self) -> str:
        """Give the table as Markdown."""
        if self.study.budgets:
            return budget_markdown(self.budget_rows, test=self.test, correct=self.holm)
        if self.sizes:
            return sizes_markdown(self.study, self.runs)
        return markdown(self.rows, published=published(), test=self.test, correct=self.holm)

    def latex(self) -> str:
        r"""Give the table as LaTeX to be \input."""
        if self.study.budgets:
            return budget_latex(self.budget_rows, test=self.test, correct=self.holm)
        if self.sizes:
            raise ValueError("expected --sizes with --format rich, markdown, csv or json, got --format latex")
        return latex(self.rows, published=published(), test=self.test, correct=self.holm)

    def html(self) -> str:
        """Give the table as HTML, with its legend; names in it are shown as they are and never obeyed."""
        if self.study.budgets:
            sheet = budget_sheet(self.budget_rows)
            legend = budget_legend(self.budget_rows, self.test, self.holm)
            return sheet_html(with_problems(sheet.columns, sheet.groups), legend)
        if self.sizes:
            return sheet_html(self._size_sheet(), [])
        known = of_rows(self.rows, published())
        sheet = side_by_side(self.rows, known, beside=known is not None)
        return sheet_html(sheet, legend_of(self.rows, known, self.test, self.holm))

    def csv(self) -> str:
        """Give the table as CSV: one row for each problem, algorithm and level, size or budget."""
        return b"".join(self.exported("csv")).decode()

    def json(self) -> str:
        """Give the same as JSON: an array of objects."""
        return b"".join(self.exported("json")).decode()

    def frame(self) -> DataFrame:
        """Give the same as a pandas data frame."""
        return frame_of(*self._flat())

    def exported(self, form: str) -> Iterator[bytes]:
        """Give the same in a format of `export`, piece by piece."""
        rows, columns = self._flat()
        return export(rows, form, columns)

    def _flat(self) -> tuple[list[dict[str, Any]], Mapping[str, type]]:
        if self.study.budgets:
            return flat_budgets(self.budget_rows), BUDGET_COLUMNS
        if self.sizes:
            return flat_sizes(self.study, self.runs), SIZE_COLUMNS
        return flat_rows(self.rows, published=published()), ROW_COLUMNS

    def _size_sheet(self) -> Sheet:
        names, found = size_lines(self.study, self.runs)
        groups = [Group(problem_title(problem), with_names(lines)) for problem, lines in found.items()]
        return with_problems([Column(name) for name in ("Algorithm", *names)], groups)
