"""Tables for other programs: rows of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from daedal.objectives.spec import without_folder
from daedal.studies.analysis import Effort, Row, Runs, efforts
from daedal.studies.budgets import BudgetRow
from daedal.studies.plan import LEVELS, Settled, Unsettled
from daedal.studies.published import Published, PublishedTable, is_theirs
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem

_MEASURED: dict[str, type] = {"": float, "_sd": float}
_JUDGED: dict[str, type] = {**_MEASURED, "_star": bool, "_p": float}
_PUBLISHED: dict[str, type] = {**_MEASURED, "_star": bool}
_COMPARED = ("evaluations", "seconds")
_COUNTS = ("runs", "solved", "failed", "complete")


def _columns(prefix: str, names: Sequence[str], parts: dict[str, type]) -> dict[str, type]:
    return {f"{prefix}{name}{part}": kind for name in names for part, kind in parts.items()}


SIZE_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("problem", "spec", "algorithm"), str),
    **dict.fromkeys(("popsize", "runs", "solved", "failed"), int),
    "complete": bool,
    **_columns("", ("best", "evaluations", "seconds", "batches"), _MEASURED),
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
    **_columns("", ("calls", "batches"), _MEASURED),
    "ert": float,
    **_columns("", ("seconds",), _MEASURED),
}
"""What `flat_budgets` gives."""


def flat_budgets(rows: Sequence[BudgetRow]) -> list[dict[str, object]]:
    """Give the table of a study with budgets for other programs: one dictionary for each problem, budget, algorithm."""
    return [
        {
            **_names(row.problem, row.algorithm),
            "budget": row.budget,
            "popsize": row.popsize,
            **{name: getattr(row, name) for name in _COUNTS},
            **_measures("", ("best",), _MEASURED, row),
            **{f"best_{name}": getattr(row.spread, name, None) for name in ("median", "q1", "q3")},
            **_measures("", ("best",), ("_star", "_p"), row),
            "rank": row.rank,
            **_measures("", ("calls", "batches"), _MEASURED, row),
            "ert": row.ert,
            **_measures("", ("seconds",), _MEASURED, row),
        }
        for row in rows
    ]


def flat_sizes(study: Study, runs: Runs) -> list[dict[str, object]]:
    """Give each population size that has runs, for other programs; `batches` are those of whole runs."""
    return [
        _names(*pair)
        | {name: getattr(effort, name) for name in ("popsize", *_COUNTS)}
        | ({} if effort.judged else {"solved": None})
        | _measures("", ("best", "evaluations", "seconds", "batches"), _MEASURED, effort)
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
        **_names(row.problem, row.algorithm),
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
    ours, theirs = flat["evaluations"], flat["published_evaluations"]
    if is_theirs(row.problem) and isinstance(ours, float) and isinstance(theirs, float):
        return flat | {"ratio": ours / theirs}
    return flat | {"ratio": None}


def _names(problem: StudyProblem, algorithm: StudyAlgorithm) -> dict[str, object]:
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
