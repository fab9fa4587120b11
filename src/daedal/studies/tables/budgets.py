"""The table of a study with budgets: what is in it, the same for each format."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby

from daedal.settings.checks import counted, printable
from daedal.studies.analysis import Measure
from daedal.studies.budgets import BudgetRow, mean_ranks
from daedal.studies.rank_tests import Test
from daedal.studies.statistics import can_be_significant
from daedal.studies.tables.content import EMPTY, NONE, OPEN, UNKNOWN, Cell, problem_title, seconds_text
from daedal.studies.tables.latex import sheet_latex
from daedal.studies.tables.legend import test_words
from daedal.studies.tables.markdown import sheet_markdown
from daedal.studies.tables.sheets import Column, Group, Sheet, with_problems

ALL_PROBLEMS = "all problems"
_COLUMNS = (
    "budget", "Algorithm", "popsize", "mean best", "median", "rank", "solved", "failed", "ERT", "CPU s", "calls",
    "batches",
)  # fmt: skip
DISPENSABLE = ("popsize", "batches", "calls", "CPU s", "median")
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
        "Mean ± standard deviation, and median, of the best value that a run of so many calls of the objective finds, "
        f"over {counted(runs, 'run')}.": runs > 0,
        "rank: the place of the mean among the algorithms.": rivals > 1 and complete,
        f"* significantly better than every other algorithm with this budget ({how}).": any(
            row.best is not None and row.best.star for row in rows
        ),
        f"With {counted(fewest, 'run')} no difference can be significant ({how}).": rivals > 1
        and complete
        and fewest > 0
        and not possible,
        "ERT: expected running time, the calls of all runs over the number of solved runs.": judged,
        "CPU seconds, calls and batches are means over whole runs.": runs > 0,
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
            cells = _cells(row, write, whole)
            cells["budget"] = EMPTY if number else cells["budget"]
            lines.append([cells[name] for name in names])
    return lines


def _cells(row: BudgetRow, write: Callable[[float], str], whole: bool) -> dict[str, Cell]:
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
        "calls": _mean(row.calls, lambda value: f"{value:,.0f}"),
        "batches": _mean(row.batches, lambda value: f"{value:,.0f}"),
        "CPU s": _mean(row.seconds, seconds_text),
    }
    cells = {name: Cell(text=text) for name, text in texts.items()}
    cells["failed"] = Cell(text=f"{row.failed:,}" if row.failed else "", style="yellow")
    cells["mean best"] = _best(row.best, write, complete=row.complete)
    return cells


def _overall(rows: Sequence[BudgetRow], names: Sequence[str]) -> list[list[Cell]]:
    """Give the mean rank over all problems of each algorithm, where it is known."""
    lines = []
    for budget, of_budget in mean_ranks(rows).items():
        for number, (name, rank) in enumerate(of_budget.items()):
            texts = {"budget": "" if number else f"{budget:,}", "Algorithm": printable(name), "rank": f"{rank:.3g}"}
            lines.append([Cell(text=texts.get(column, "")) for column in names])
    return lines


def _best(best: Measure | None, write: Callable[[float], str], *, complete: bool) -> Cell:
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
