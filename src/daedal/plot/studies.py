"""Figures of a study: what each population size or budget reaches, and how its runs went."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from daedal.plot.figure import (
    FIGURES,
    Axis,
    Figure,
    Line,
    Panel,
    can_save_png,
    linear,
    logarithmic,
    percentages,
)
from daedal.result.wording import short_number
from daedal.settings.checks import counted
from daedal.settings.parameters import unknown
from daedal.storage.kinds import check_place
from daedal.studies.analysis import Row, analyse, size_rows
from daedal.studies.snapshot import (
    AnytimeCurve,
    RuntimeCurve,
    Snapshot,
    anytime_curves,
    first_evaluations,
    known_optimum,
    read_store,
    runtime_curves,
    shown_cell,
)
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import Store
from daedal.studies.tables import problem_title

_COLORS, _DASHES = 7, 4  # without a common divisor: 28 algorithms look different


@runtime_checkable
class HasSnapshot(Protocol):
    """An object that returns a study and its runs as of one moment, such as that of `daedal.study`."""

    def snapshot(self) -> Snapshot:
        """Return them."""


AnyStore: TypeAlias = str | os.PathLike[str] | Store | Snapshot | HasSnapshot
"""The path of a store, a store, or a study of `daedal.study`."""


def runtime(store: AnyStore, *, problem: str | None = None) -> Figure:
    """Return a figure of the share of solved runs over evaluations, with a line for each algorithm.

    Each algorithm has the population size that solves 90% of the runs, or 50%, or else the most; or the largest
    budget. A line ends with a marker after the longest of its runs.

    Parameters
    ----------
    store
        Path of a store, or a study of `daedal.study`.
    problem
        Name of a problem. Default: the runs of all problems together.

    Examples
    --------
    >>> import daedal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     some = daedal.study(["onemax:n=10"], ["umda"], popsizes=[50], runs=3, store=f"{folder}/results.db")
    ...     figure = daedal.plot.runtime(some.run(workers=1))
    >>> figure.panels[0].y.title
    'runs solved'
    """
    snapshot = snapshot_of(store)
    problems = snapshot.study.problems if problem is None else (snapshot.problem(problem),)
    panel = runtime_panel(snapshot, problems)
    if panel is None:
        raise ValueError("no problem of the study has runs and a known optimum or target; run the study first")
    title = problems[0].name if len(problems) == 1 else f"{len(problems)} problems"
    return Figure(name="runtime", panels=[panel], title=title)


def anytime(store: AnyStore, *, problem: str | None = None) -> Figure:
    """Return a figure of the best value of each algorithm over evaluations: median and quartiles of its runs.

    Parameters
    ----------
    store
        Path of a store, or a study of `daedal.study`.
    problem
        Name of a problem. It can be left out if there is only one.

    Examples
    --------
    >>> import daedal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     some = daedal.study(["onemax:n=10"], ["umda"], popsizes=[50], runs=3, store=f"{folder}/results.db")
    ...     figure = daedal.plot.anytime(some.run(workers=1))
    >>> figure.panels[0].x.is_log
    True
    """
    snapshot = snapshot_of(store)
    chosen = snapshot.problem(problem)
    panel = anytime_panel(snapshot, chosen)
    if panel is None:
        raise ValueError(f"no run of {chosen.name} has a history yet; run the study first, or name another problem")
    return Figure(name="anytime", panels=[panel], title=chosen.name)


def snapshot_of(store: AnyStore) -> Snapshot:
    """Return the study and its runs as they are now."""
    if isinstance(store, Snapshot):
        return store
    if isinstance(store, Store):
        return read_store(store.path)
    if isinstance(store, str | os.PathLike):
        return read_store(store)
    if isinstance(store, HasSnapshot):
        return store.snapshot()
    raise TypeError(f"expected the path of a store, or a study of daedal.study, got {store!r:.80}")


# ---------------------------------------------------------------- panels


def _look(study: Study, algorithm: StudyAlgorithm) -> dict[str, Any]:
    """Return the color, dashes and marker of an algorithm, which are the same in all figures of a study."""
    number = study.algorithms.index(algorithm)
    return {"color": number % _COLORS, "dash": number % _DASHES, "marker": number % _COLORS}


def _levels(snapshot: Snapshot, problem: StudyProblem) -> list[tuple[float, str]]:
    """Return the optimum, or else the target, if it is known."""
    optimum = known_optimum(snapshot, problem)
    value, name = (problem.target, "target") if optimum is None else (optimum, "optimum")
    return [] if value is None or not math.isfinite(value) else [(value, name)]


def _value_title(problem: StudyProblem, what: str) -> str:
    return what + (" (smaller is better)" if problem.minimize else "")


def _curve_name(curve: AnytimeCurve | RuntimeCurve) -> str:
    """Return the name of an algorithm with the population size or budget of its runs, and their number if some lack."""
    size = "" if curve.popsize is None or curve.budget is not None else f"popsize {curve.popsize:,}"
    budget = "" if curve.budget is None else f"budget {curve.budget:,}"
    missing = "" if curve.complete else counted(curve.runs, "run")
    words = ", ".join(filter(None, (size, budget, missing)))
    return f"{curve.algorithm.name} ({words})" if words else curve.algorithm.name


def anytime_panel(snapshot: Snapshot, problem: StudyProblem) -> Panel | None:
    """Return a panel with the median of the best values and the quartiles as bands; None if no run has a history."""
    curves = [one for one in anytime_curves(snapshot) if one.problem == problem]
    if not curves:
        return None
    marks = [
        Line(
            name=_curve_name(one),
            x=one.evaluations.tolist(), y=one.median.tolist(), low=one.q1.tolist(), high=one.q3.tolist(),
            is_step=True, marked=[len(one.evaluations) - 1], **_look(snapshot.study, one.algorithm),
        )
        for one in curves
    ]  # fmt: skip
    levels = _levels(snapshot, problem)
    values = [value for mark in marks for part in (mark.y, mark.low, mark.high) for value in part]
    return Panel(
        x=logarithmic("evaluations", [value for mark in marks for value in mark.x]),
        y=linear(_value_title(problem, "best value, median and quartiles"), [*values, *(one for one, _ in levels)]),
        marks=marks,
        levels=levels,
    )


def runtime_panel(snapshot: Snapshot, problems: Sequence[StudyProblem]) -> Panel | None:
    """Return a panel with the share of solved runs of some problems together; None if it is not known."""
    begin = first_evaluations(anytime_curves(snapshot), problems)
    curves, marks, ends = runtime_curves(snapshot), [], []
    for algorithm in snapshot.study.algorithms:
        cells = [shown_cell(snapshot.study, snapshot.runs, problem, algorithm) for problem in problems]
        wanted = {(cell.problem, cell.popsize, cell.budget) for cell in cells if cell is not None}
        found = [
            one for one in curves if one.algorithm == algorithm and (one.problem, one.popsize, one.budget) in wanted
        ]
        if not found:
            continue
        solved = np.sort(np.concatenate([one.evaluations for one in found])).tolist()
        runs, end = sum(one.runs for one in found), max(1, *(one.longest for one in found), *solved)
        first = max(1, min([end, *solved[:1], *([] if begin is None else [begin])]))
        shares = [100 * k / runs for k in range(len(solved) + 1)]
        is_same = len({(one.popsize, one.budget) for one in found}) == 1
        line = Line(
            name=_curve_name(found[0]) if is_same else algorithm.name,
            x=[first, *solved, end], y=[*shares, shares[-1]],
            is_step=True, marked=[len(solved) + 1], **_look(snapshot.study, algorithm),
        )  # fmt: skip
        marks.append(line)
        ends += [first, end]
    if not marks:
        return None
    is_none = all(len(mark.x) == 2 for mark in marks)
    title = f"No run has solved {'it' if len(problems) == 1 else 'any of them'}." if is_none else ""
    return Panel(x=logarithmic("evaluations", ends), y=percentages("runs solved"), marks=marks, title=title)


# ---------------------------------------------------------------- figures of one problem


def convergence(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return a figure of how the runs of a problem went: best values, and the share of solved runs."""
    panels = [anytime_panel(snapshot, problem), runtime_panel(snapshot, [problem])]
    found = [panel for panel in panels if panel is not None]
    title = f"{_title(problem)}: convergence"
    return Figure(name="convergence", panels=found, title=title) if found else None


def _title(problem: StudyProblem) -> str:
    return " ".join(filter(None, problem_title(problem)))


def _sizes_of(snapshot: Snapshot, problem: StudyProblem) -> list[list[Row]]:
    """Return the population sizes with runs, for each algorithm that has any."""
    if snapshot.study.budgets:
        return []
    rows = [row for row in size_rows(snapshot.study, snapshot.runs) if row.problem == problem]
    return [list(of_one) for _, of_one in groupby(rows, key=lambda row: row.algorithm)]


def _means(rows: Sequence[Row], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations of a measure."""
    found = [getattr(row, name) for row in rows]
    return (
        np.array([math.nan if one is None else one.mean for one in found]),
        np.array([math.nan if one is None else one.sd for one in found]),
    )


def sizes(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return a figure of solved runs, evaluations and CPU seconds over population sizes, with standard deviations."""
    curves = _sizes_of(snapshot, problem)
    known = sorted({float(row.popsize) for rows in curves for row in rows if row.popsize is not None}) or [1.0]
    panels = []
    for title, name in (
        ("runs solved", ""),
        ("evaluations to the best", "evaluations_to_best"),
        ("CPU seconds to the best", "cpu_seconds_to_best"),
    ):
        lines = []
        for rows in curves:
            solved = np.array([math.nan if row.solved is None else 100 * row.solved / row.runs for row in rows])
            values, spread = _means(rows, name) if name else (solved, solved)
            x = np.array([math.nan if row.popsize is None else row.popsize for row in rows])
            line = _size_line(snapshot.study, rows, x, values)
            if rows[0].popsize is None:  # without a population, it is the same at every size
                line = replace(line, x=[known[0], known[-1]], y=[*line.y] * 2, marked=(0, 1))
            elif name:
                low = np.maximum(values - spread, 0.1 * values)  # a logarithmic axis has no 0
                line = replace(line, low=low.tolist(), high=(values + spread).tolist(), has_bars=True)
            lines.append(line)
        reached = [value for line in lines for part in (line.y, line.low, line.high) for value in part]
        y = logarithmic(title, reached) if name else percentages(title)
        panels.append(Panel(x=logarithmic("population size", known, at=known), y=y, marks=lines, height=300))
    return Figure(name="sizes", panels=panels, title=f"{_title(problem)}: population sizes") if curves else None


def _size_line(study: Study, rows: Sequence[Row], x: NDArray[np.float64], y: NDArray[np.float64]) -> Line:
    """Return the line of an algorithm, with a marker for each population size, which is open if runs are missing."""
    algorithm = rows[0].algorithm
    hollow = [place for place, row in enumerate(rows) if not row.complete]
    look = _look(study, algorithm)
    return Line(name=algorithm.name, x=x.tolist(), y=y.tolist(), marked=range(len(x)), hollow=hollow, **look)


def costs(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return the paper's figure: the mean best value over the mean evaluations and CPU seconds until the best.

    There is a point for each population size, with its number. A size with missing runs has an open marker.
    """
    curves = _sizes_of(snapshot, problem)
    levels, panels = _levels(snapshot, problem), []
    for title, name in (
        ("mean evaluations to the best", "evaluations_to_best"),
        ("mean CPU seconds to the best", "cpu_seconds_to_best"),
    ):
        lines = []
        for rows in curves:
            best, best_sd = _means(rows, "best")
            low, high = best - best_sd, best + best_sd
            for optimum, what in levels:  # no bar leads beyond the optimum
                if what == "optimum":
                    low, high = (
                        (np.maximum(low, optimum), high) if problem.minimize else (low, np.minimum(high, optimum))
                    )
            names = ["" if row.popsize is None else short_number(row.popsize) for row in rows]
            line = _size_line(snapshot.study, rows, _means(rows, name)[0], best)
            lines.append(replace(line, low=low.tolist(), high=high.tolist(), has_bars=True, labels=names))
        values = [value for line in lines for part in (line.y, line.low, line.high) for value in part]
        y_axis = linear(_value_title(problem, "mean best value"), [*values, *(value for value, _ in levels)])
        x_axis = logarithmic(title, [value for line in lines for value in line.x])
        panels.append(Panel(x=x_axis, y=y_axis, marks=lines, levels=levels, height=380))
    return Figure(name="costs", panels=panels, title=_title(problem)) if curves else None


def budgets(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return a figure of solved runs, the best value and CPU seconds over budgets."""
    rows = [row for row in analyse(snapshot.study, snapshot.runs) if row.problem == problem and row.runs]
    solved = _budget_panel(snapshot, rows, "solved", percentages("runs solved"))
    seconds = [row.cpu_seconds.mean for row in rows if row.cpu_seconds is not None]
    panels = [
        solved,
        best_panel(snapshot, rows),
        _budget_panel(snapshot, rows, "seconds", logarithmic("CPU seconds", seconds)),
    ]
    return Figure(name="budgets", panels=panels, title=f"{_title(problem)}: budgets") if rows else None


def all_budgets(snapshot: Snapshot, problems: Sequence[str] = ()) -> Figure:
    """Return a figure of the best value over budgets with a panel for each problem, or for those that are named."""
    rows = analyse(snapshot.study, snapshot.runs)
    panels = [
        replace(
            best_panel(snapshot, [row for row in rows if row.problem == problem]), title=_title(problem), height=300
        )
        for problem in snapshot.study.problems
        if not problems or problem.name in problems
    ]
    return Figure(name="anytime", panels=panels)


def best_panel(snapshot: Snapshot, rows: Sequence[Row]) -> Panel:
    """Return a panel with the median of the best values over budgets, and the quartiles as bars."""
    levels = _levels(snapshot, rows[0].problem) if rows else []
    known = [value for row in rows for value in (row.median, row.q1, row.q3) if value is not None]
    values = [*known, *(value for value, _ in levels)]
    title = _value_title(rows[0].problem, "best value, median and quartiles") if rows else ""
    return replace(_budget_panel(snapshot, rows, "best", linear(title, values)), levels=levels)


def _budget_panel(snapshot: Snapshot, rows: Sequence[Row], what: str, y_axis: Axis) -> Panel:
    """Return a panel over budgets; the bars of several algorithms are side by side around their budget."""
    study, marks = snapshot.study, []
    width = math.log(study.budgets[-1] / study.budgets[0]) or 1.0
    apart = min(0.018 * width, 0.6 * width / len(study.budgets) / len(study.algorithms))
    for number, algorithm in enumerate(study.algorithms):
        own = [row for row in rows if row.algorithm == algorithm]
        aside = math.exp((number - (len(study.algorithms) - 1) / 2) * apart) if what == "best" else 1.0
        spread: dict[str, Any] = {}
        if what == "solved":
            y = [math.nan if row.solved is None else 100 * row.solved / max(1, row.runs) for row in own]
        elif what == "seconds":
            y = [math.nan if row.cpu_seconds is None else row.cpu_seconds.mean for row in own]
        else:
            y, low, high = (
                [math.nan if (value := getattr(row, name)) is None else value for row in own]
                for name in ("median", "q1", "q3")
            )
            spread = {"low": low, "high": high, "has_bars": True}
        hollow = [k for k, row in enumerate(own) if not row.complete]
        x = [(row.budget or 0) * aside for row in own]
        look = _look(study, algorithm)
        marks.append(Line(name=algorithm.name, x=x, y=y, marked=range(len(x)), hollow=hollow, **spread, **look))
    ends = [one * factor for one in study.budgets for factor in (math.exp(-0.04 * width), math.exp(0.04 * width))]
    x_axis = logarithmic("budget: evaluations", ends, at=study.budgets)
    return Panel(x=x_axis, y=y_axis, marks=[mark for mark in marks if mark.x], height=300)


# ---------------------------------------------------------------- files


def figure_names(study: Study) -> dict[str, tuple[StudyProblem | None, str]]:
    """Return what the figures of a study show, by the name of their files, no two of which differ in case only.

    There is a figure for each problem, or one for all if there are budgets, and one for each problem with how its runs
    went.
    """
    found: dict[str, tuple[StudyProblem | None, str]] = {"anytime": (None, "budgets")} if study.budgets else {}
    for kind, ending in (("costs", ""), ("convergence", "-convergence"))[1 if study.budgets else 0 :]:
        for problem in study.problems:
            name, taken = f"{file_name(problem.name)}{ending}", {one.lower() for one in found}
            number = next((f"-{k}" for k in range(2, 10_000) if f"{name}-{k}".lower() not in taken), "")
            found[name + number if name.lower() in taken else name] = problem, kind
    return found


def draw_figures(snapshot: Snapshot, problems: Sequence[str] = ()) -> Iterator[tuple[str, Figure]]:
    """Return the figures of a study with the names of their files, of all problems, or of those that are named."""
    known = [problem.name for problem in snapshot.study.problems]
    for name in problems:
        if name not in known:
            raise ValueError(unknown("problem of the study", name, known))
    for name, (problem, kind) in figure_names(snapshot.study).items():
        if problem is None:
            yield name, all_budgets(snapshot, problems)
        elif not problems or problem.name in problems:
            figure = costs(snapshot, problem) if kind == "costs" else convergence(snapshot, problem)
            yield name, figure or Figure(name=kind, panels=[Panel(x=Axis(), y=Axis(), marks=[], title="no runs yet")])


def save_figures(snapshot: Snapshot, folder: Path, problems: Sequence[str] = ()) -> Iterator[tuple[Figure, list[Path]]]:
    """Write the figures of a study to a folder as SVG, and as PNG if the extra `plot` is installed."""
    check_figures(snapshot.study, folder)
    for name, figure in draw_figures(snapshot, problems):
        files = [folder / f"{name}.{form}" for form in _forms()]
        for file in files:
            figure.save(file)
        yield figure, files


def check_figures(study: Study, folder: Path, called: str | None = None) -> None:
    """Check that figures can be written to a folder, which the user calls `called`; make it if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {called or folder} cannot be made: {error.strerror}; name another one") from error
    for name in figure_names(study):
        for form in _forms():
            check_place(folder / f"{name}.{form}", FIGURES[form])


def _forms() -> list[str]:
    return ["svg", "png"] if can_save_png() else ["svg"]


def file_name(name: str) -> str:
    """Return a name that every file system takes, without an ending; a letter may take four of its 255 bytes."""
    plain = re.sub(r"[^\w.]+|_+", "-", name.replace("=", "")).strip("-.")
    return plain[:50] or "figure"
