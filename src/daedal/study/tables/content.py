"""What a table has to say, the same for each format.

Everything shown is first put into lines of cells (`Line`): a chosen size and its effort, below it what the paper has,
what fresh seeds say, and how many runs failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daedal.objectives.spec import without_folder
from daedal.study.analysis import Effort, Measure, Row, Runs, efforts, outcomes
from daedal.study.plan import LEVELS, Unsettled
from daedal.study.published import Published, PublishedTable, is_theirs
from daedal.study.rank_tests import Test
from daedal.study.spec import Study, StudyProblem
from daedal.study.statistics import LEVEL, can_be_significant
from daedal.study.wording import counted

NONE = "\N{EN DASH}"
OPEN = "…"
_UNKNOWN = "n/a"
OTHER = "†"
_TESTS: dict[Test, str] = {"signed-rank": "Wilcoxon signed-rank", "mann-whitney": "Mann-Whitney"}


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

    Examples
    --------
    >>> problem_title(StudyProblem(name="nk:n=30,k=4,i=2", problem="nk:n=30,k=4,seed=2"))
    ('nk:n=30,k=4,i=2', '(nk:n=30,k=4,seed=2)')
    >>> problem_title(StudyProblem(name="trap:k=5,n=50", problem="trap:k=5,n=50"))
    ('trap:k=5,n=50', '')
    """
    name, spec = one_line(problem.name), one_line(without_folder(problem.problem))
    return name, "" if without_folder(name) == spec else f"({spec})"


def marked_title(problem: StudyProblem, published: PublishedTable | None) -> tuple[str, str]:
    """Give the title of a problem, with a mark where the paper's numbers are of another one."""
    name, spec = problem_title(problem)
    return name, f"{spec}{OTHER}" if _is_another(problem, published) else spec


def _is_another(problem: StudyProblem, published: PublishedTable | None) -> bool:
    return not is_theirs(problem) and any(name == problem.name for name, _ in published or ())


def block_of(row: Row, level: int, published: PublishedTable | None) -> Block:
    """Give the lines of a row's entry."""
    entry = row.entries[level]
    known = None if published is None else published.get((row.problem.name, row.algorithm.name))
    paper = None if known is None else _paper_line(known.get(level))
    if entry.effort is None:
        return Block(ours=_lines_without_size(row, entry.choice is Unsettled.OPEN), paper=paper, again=[])
    again = []
    if entry.confirmed is not None:
        label = f"again {entry.confirmed.solved}/{entry.confirmed.runs}" if entry.confirmed.runs else "again"
        again = effort_lines(entry.confirmed, label, style="dim")
    return Block(ours=effort_lines(entry.effort, f"{entry.effort.popsize:,}"), paper=paper, again=again)


def _lines_without_size(row: Row, is_open: bool) -> list[Line]:
    """Say why there is no population size; of one that is still tried, how many runs solved the problem so far."""
    sign = Cell(text=OPEN if is_open else NONE if row.judged else _UNKNOWN)
    so_far = sign
    if is_open and row.judged and row.under_way is not None:
        so_far = Cell(text=f"{row.under_way.solved}/{row.under_way.runs} at {row.under_way.popsize:,}", style="dim")
    failed = [Line(label=Cell(text=f"{row.failed:,} failed", style="yellow"))] if row.failed else []
    return [Line(label=sign, evaluations=so_far, seconds=sign), *failed]


def _paper_line(numbers: Published | None) -> Line:
    label = Cell(text="paper", style="dim")
    if numbers is None:
        return Line(label=label, evaluations=Cell(text=NONE, style="dim"), seconds=Cell(text=NONE, style="dim"))
    return Line(
        label=label,
        evaluations=_measured(numbers.evaluations, _evaluations, style="dim"),
        seconds=_measured(numbers.seconds, _seconds, style="dim"),
    )


def effort_lines(effort: Effort, label: str, *, style: str = "") -> list[Line]:
    """Give the line of an effort, and below it one for runs that failed."""
    line = Line(
        label=Cell(text=label, style=style),
        evaluations=_measured(effort.evaluations, _evaluations, complete=effort.complete, style=style),
        seconds=_measured(effort.seconds, _seconds, complete=effort.complete, style=style),
    )
    failed = Line(label=Cell(text=f"{effort.failed:,} failed", style="yellow"))
    return [line, failed] if effort.failed else [line]


def _measured(
    measure: Measure | None, write: Callable[[float], str], *, complete: bool = True, style: str = ""
) -> Cell:
    if measure is None:
        return Cell(text=NONE if complete else OPEN, style=style)
    sd = write(measure.sd) if complete else f"{write(measure.sd)} {OPEN}"
    return Cell(text=write(measure.mean), sd=sd, star=measure.star, style=style)


def _evaluations(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
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


def legend_of(rows: Sequence[Row], published: PublishedTable | None, test: Test, correct: bool) -> list[str]:
    """Explain what is shown, and the signs that are there."""
    lines = [line for row in rows for level in LEVELS for line in block_of(row, level, published).lines()]
    texts = [(line.label.text, line.evaluations.text, line.evaluations.sd) for line in lines]
    signs = {word for text in texts for word in " ".join(text).split()}
    found = [entry.effort for row in rows for entry in row.entries.values() if entry.effort is not None]
    runs = max((effort.runs for effort in found), default=0)
    is_theirs_only = published is None or not any(_is_another(row.problem, published) for row in rows)
    sentences = {
        f"Mean ± standard deviation of {counted(runs, 'run')} up to the best solution, at the smallest population size "
        "that solves that share of them.": runs > 0,
        **_star_sentences(rows, lines, test, correct),
        "CPU seconds of different kinds of processors are not compared.": any(map(_of_two_machines, found)),
        f"{NONE} none of the sizes that were tried reaches the level.": any(
            entry.choice is Unsettled.NONE and row.judged for row in rows for entry in row.entries.values()
        ),
        f"{OPEN} not all runs are made yet; 3/7 at 500: of 7 runs with popsize 500, 3 have solved it.": OPEN in signs,
        f"{_UNKNOWN} no optimum or target is known, so nobody can tell what is solved; see --sizes.": _UNKNOWN in signs,
        "failed: these runs ended with an error; they count as not solved and are left out of the means.": any(
            row.failed for row in rows
        ),
        "again: the same size with fresh seeds, solved/runs.": any(
            entry.confirmed for row in rows for entry in row.entries.values()
        ),
        "paper: as published, measured with Octave on another machine in 2015.": published is not None,
        f"{OTHER} not the paper's landscape, but another of the same n and k: the paper's numbers are of "
        "theirs.": not is_theirs_only,
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def _of_two_machines(effort: Effort) -> bool:
    """Whether evaluations were compared with those of rivals, and seconds were not."""
    evaluations, seconds = effort.evaluations, effort.seconds
    return evaluations is not None and seconds is not None and evaluations.p is not None and seconds.p is None


def _star_sentences(rows: Sequence[Row], lines: Sequence[Line], test: Test, correct: bool) -> dict[str, bool]:
    """Explain the star, and why there can be none."""
    groups: dict[tuple[str, int], list[int]] = {}  # how many runs count, of each rival
    for row in rows:
        for level, entry in row.entries.items():
            if entry.effort is not None:
                well = entry.effort.runs - entry.effort.failed
                groups.setdefault((row.problem.name, level), []).append(well)
    possible = not groups or any(
        can_be_significant(min(of_group), test=test, pairs=math.comb(len(of_group), 2) if correct else 1)
        for of_group in groups.values()
    )
    runs = max((count for of_group in groups.values() for count in of_group), default=0)
    holm = ", corrected by Holm's method" if correct else ""
    how = f"pairwise {_TESTS[test]} tests, p < {LEVEL}{holm}"
    return {
        f"* significantly smaller than all others of the problem that reach the level ({how}).": possible
        or any(line.evaluations.star or line.seconds.star for line in lines),
        f"With {counted(runs, 'run')} no difference can be significant ({how}).": runs > 0 and not possible,
    }


def size_lines(study: Study, runs: Runs) -> tuple[list[str], dict[StudyProblem, list[tuple[str, list[list[Cell]]]]]]:
    """Give the names of the columns and, by problem and algorithm, a line for each population size that has runs."""
    found = [(*pair, efforts(study, runs, *pair)) for pair in study.pairs()]
    failed = any(effort.failed for _, _, of_pair in found for effort in of_pair)
    lines: dict[StudyProblem, list[tuple[str, list[list[Cell]]]]] = {}
    for problem, algorithm, of_pair in found:
        known = outcomes(study, runs, problem, algorithm)
        cells = [_size_cells(one, known=None not in known[one.popsize].values(), failed=failed) for one in of_pair]
        if cells:
            lines.setdefault(problem, []).append((one_line(algorithm.name), cells))
    return ["popsize", "solved", *(["failed"] if failed else []), "mean best", "evaluations", "CPU s"], lines


def _size_cells(effort: Effort, *, known: bool, failed: bool) -> list[Cell]:
    return [
        Cell(text=f"{effort.popsize:,}"),
        Cell(text=f"{effort.solved if known else '?'}/{effort.runs}"),
        *([Cell(text=f"{effort.failed:,}" if effort.failed else "", style="yellow")] if failed else []),
        _best(effort.best),
        _measured(effort.evaluations, _evaluations),
        _measured(effort.seconds, _seconds),
    ]


def _best(best: Measure | None) -> Cell:
    if best is None:
        return Cell(text=NONE)
    return Cell(text=f"{best.mean:.6g}", sd=f"{best.sd:.2g}" if math.isfinite(best.sd) else "")


def one_line(text: str) -> str:
    """Put a text into one line."""
    return " ".join(text.split())
