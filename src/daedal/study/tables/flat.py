"""Tables for other programs: rows of plain values."""

from __future__ import annotations

from collections.abc import Sequence

from daedal.objectives.spec import without_folder
from daedal.study.analysis import Effort, Row, Runs, efforts, outcomes
from daedal.study.plan import LEVELS, Choice, Settled, Unsettled
from daedal.study.published import Published, PublishedTable, is_theirs
from daedal.study.spec import Study

_MEASURED: dict[str, type] = {"": float, "_sd": float}
_JUDGED: dict[str, type] = {**_MEASURED, "_star": bool, "_p": float}
_PUBLISHED: dict[str, type] = {**_MEASURED, "_star": bool}


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
    **_columns("", ("evaluations", "seconds"), _JUDGED),
    **dict.fromkeys(("confirmed_runs", "confirmed_solved", "confirmed_failed"), int),
    "confirmed_complete": bool,
    **_columns("confirmed_", ("evaluations", "seconds"), _MEASURED),
    **_columns("published_", ("evaluations", "seconds"), _PUBLISHED),
    "ratio": float,
}
"""What `flat_rows` gives."""


def flat_sizes(study: Study, runs: Runs) -> list[dict[str, object]]:
    """Give each population size that has runs, for other programs; `batches` are those of whole runs.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> flat_sizes(study, {})
    []
    """
    flat = []
    for problem, algorithm in study.pairs():
        known = outcomes(study, runs, problem, algorithm)
        for effort in efforts(study, runs, problem, algorithm):
            judged = None not in known[effort.popsize].values()
            flat.append(
                {
                    "problem": problem.name,
                    "spec": without_folder(problem.problem),
                    "algorithm": algorithm.name,
                    "popsize": effort.popsize,
                    "runs": effort.runs,
                    "solved": effort.solved if judged else None,
                    "failed": effort.failed,
                    "complete": effort.complete,
                    **_flat_measures("", effort, ("mean", "sd"), ("best", "evaluations", "seconds", "batches")),
                }
            )
    return flat


def flat_rows(rows: Sequence[Row], *, published: PublishedTable | None = None) -> list[dict[str, object]]:
    """Give the table for other programs: one dictionary for each problem, algorithm and level.

    Where the level is not reached, `unsettled` says why. popsize is None there, and for algorithms without a
    population. `ratio` is our evaluations over the paper's, where the problem is the same.

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> row = flat_rows(analyse(study, {}))[0]
    >>> row["problem"], row["level"], row["popsize"], row["unsettled"]
    ('onemax:n=20', 50, None, 'not known yet')
    """
    return [_flat(row, level, published) for row in rows for level in LEVELS]


def _flat(row: Row, level: int, published: PublishedTable | None) -> dict[str, object]:
    entry = row.entries[level]
    paper = None if published is None else published.get((row.problem.name, row.algorithm.name), {}).get(level)
    effort, again = entry.effort, entry.confirmed
    flat = {
        "problem": row.problem.name,
        "spec": without_folder(row.problem.problem),
        "algorithm": row.algorithm.name,
        "level": level,
        "popsize": entry.choice.popsize if isinstance(entry.choice, Settled) else None,
        "unsettled": _unsettled(row, entry.choice),
        **{name: getattr(effort, name, None) for name in ("runs", "solved", "failed", "complete")},
        "failed_at_any_size": row.failed,
        **_flat_measures("", effort, ("mean", "sd", "star", "p")),
        **{f"confirmed_{name}": getattr(again, name, None) for name in ("runs", "solved", "failed", "complete")},
        **_flat_measures("confirmed_", again, ("mean", "sd")),
        **_flat_measures("published_", paper, ("mean", "sd", "star")),
    }
    ours, theirs = flat["evaluations"], flat["published_evaluations"]
    if not is_theirs(row.problem) or not isinstance(ours, float) or not isinstance(theirs, float):
        return flat | {"ratio": None}
    return flat | {"ratio": ours / theirs}


def _unsettled(row: Row, choice: Choice) -> str | None:
    if isinstance(choice, Settled):
        return None
    return "no optimum or target is known" if not row.judged and choice is Unsettled.NONE else choice.value


def _flat_measures(
    prefix: str,
    of: Effort | Published | None,
    parts: Sequence[str],
    names: Sequence[str] = ("evaluations", "seconds"),
) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name in names:
        measure = getattr(of, name, None)
        flat |= {
            f"{prefix}{name}{'' if part == 'mean' else f'_{part}'}": getattr(measure, part, None) for part in parts
        }
    return flat
