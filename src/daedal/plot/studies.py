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

from daedal.plot.figure import FIGURES, Axis, Figure, Line, Panel, can_save_png, linear, logarithmic, percentages
from daedal.result.wording import short_number
from daedal.settings.checks import counted
from daedal.storage.files import check_place
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

_SPREAD = "best value, median and quartiles"
_COLORS, _DASHES = 7, 4  # without a common divisor: 28 algorithms look different


@runtime_checkable
class HasSnapshot(Protocol):
    """An object that returns a study and its runs as of one moment, such as that of `daedal.study`."""

    def snapshot(self) -> Snapshot:
        """Return them."""


AnyStore: TypeAlias = str | os.PathLike[str] | Store | Snapshot | HasSnapshot
"""Path of a store, a store, or a study of `daedal.study`."""


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
    if isinstance(store, HasSnapshot):
        return store.snapshot()
    if isinstance(store, Store | str | os.PathLike):
        return read_store(store.path if isinstance(store, Store) else store)
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
    values = [value for mark in marks for value in mark.values()]
    return Panel(
        x=logarithmic("evaluations", [value for mark in marks for value in mark.x]),
        y=linear(_value_title(problem, _SPREAD), [*values, *(one for one, _ in levels)]),
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


def _rows(snapshot: Snapshot, problem: StudyProblem) -> list[Row]:
    """Return the population sizes, or budgets, of each algorithm that have runs."""
    rows = (analyse if snapshot.study.budgets else size_rows)(snapshot.study, snapshot.runs)
    return [row for row in rows if row.problem == problem and row.runs]


def _value(row: Row, what: str) -> tuple[float, float, float]:
    """Return a value of a row, and the ends of its spread: quartiles or a standard deviation; nan if not known."""
    if what == "solved":
        return math.nan if row.solved is None else 100 * row.solved / row.runs, math.nan, math.nan
    if what == "median":
        low, middle, high = (math.nan if one is None else one for one in (row.q1, row.median, row.q3))
        return middle, low, high
    measure = getattr(row, what)
    if measure is None:
        return math.nan, math.nan, math.nan
    # Evaluations and seconds are drawn on a logarithmic axis, which has no 0.
    least = -math.inf if what == "best" else 0.1 * measure.mean
    return measure.mean, max(measure.mean - measure.sd, least), measure.mean + measure.sd


def _line(study: Study, rows: Sequence[Row], x: Sequence[float], what: str) -> Line:
    """Return the line of an algorithm, with an open marker if runs are missing."""
    y, low, high = map(list, zip(*(_value(row, what) for row in rows), strict=True))
    hollow = [place for place, row in enumerate(rows) if not row.complete]
    spread: dict[str, Any] = {} if what == "solved" else {"low": low, "high": high}
    name, look = rows[0].algorithm.name, _look(study, rows[0].algorithm)
    return Line(name=name, x=x, y=y, **spread, has_bars=True, marked=range(len(x)), hollow=hollow, **look)


def _over(snapshot: Snapshot, problem: StudyProblem, what: str, title: str) -> Panel:
    """Return a panel of a value over population sizes or budgets."""
    study, rows, lines = snapshot.study, _rows(snapshot, problem), []
    places = sorted({float(size) for row in rows if (size := row.budget or row.popsize)}) or [1.0]
    width = math.log(places[-1] / places[0])
    for number, algorithm in enumerate(study.algorithms):
        own = [row for row in rows if row.algorithm == algorithm]
        if own and not (own[0].budget or own[0].popsize):  # without a population, it is the same at every size
            own = own * 2
            lines.append(_line(study, own, [places[0], places[-1]], what))
        elif own:  # bars of several algorithms at one budget are side by side
            aside = math.exp((number - (len(study.algorithms) - 1) / 2) * 0.012 * width) if what == "median" else 1.0
            lines.append(_line(study, own, [aside * (row.budget or row.popsize or 1) for row in own], what))
    x_axis = logarithmic("budget: evaluations" if study.budgets else "population size", places, at=places)
    values = [value for line in lines for value in line.values()]
    if what == "solved":
        return Panel(x=x_axis, y=percentages(title), marks=lines, height=300)
    if what == "median":
        levels = _levels(snapshot, problem)
        y_axis = linear(_value_title(problem, title), [*values, *(value for value, _ in levels)])
        return Panel(x=x_axis, y=y_axis, marks=lines, levels=levels, height=300)
    return Panel(x=x_axis, y=logarithmic(title, values), marks=lines, height=300)


def sizes(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return a figure of solved runs, cost and CPU seconds over population sizes, or of the best value over budgets."""
    if snapshot.study.budgets:
        titles = {"solved": "runs solved", "median": _SPREAD, "cpu_seconds": "CPU seconds"}
    else:
        titles = {"solved": "runs solved", "evaluations_to_best": "evaluations to the best"}
        titles["cpu_seconds_to_best"] = "CPU seconds to the best"
    panels = [_over(snapshot, problem, what, title) for what, title in titles.items()]
    return Figure(name="sizes", panels=panels, title=_title(problem)) if _rows(snapshot, problem) else None


def all_budgets(snapshot: Snapshot, problems: Sequence[str] = ()) -> Figure:
    """Return a figure of the best value over budgets with a panel for each problem, or for those that are named."""
    chosen = [problem for problem in snapshot.study.problems if not problems or problem.name in problems]
    panels = [replace(_over(snapshot, one, "median", _SPREAD), title=_title(one)) for one in chosen]
    return Figure(name="anytime", panels=panels)


def costs(snapshot: Snapshot, problem: StudyProblem) -> Figure | None:
    """Return the paper's figure: the mean best value over the mean evaluations and CPU seconds until the best.

    There is a point for each population size, with its number. A size with missing runs has an open marker.
    """
    rows, levels, panels = _rows(snapshot, problem), _levels(snapshot, problem), []
    optimum = next((value for value, name in levels if name == "optimum"), math.nan)
    for what, title in (("evaluations_to_best", "evaluations"), ("cpu_seconds_to_best", "CPU seconds")):
        lines = []
        for _, of_one in groupby(rows, key=lambda row: row.algorithm):
            own = list(of_one)
            line = _line(snapshot.study, own, [_value(row, what)[0] for row in own], "best")
            # No bar leads beyond the optimum; fmax and fmin ignore an optimum that is not known.
            low = np.fmax(line.low, optimum) if problem.minimize else np.array(line.low)
            high = np.array(line.high) if problem.minimize else np.fmin(line.high, optimum)
            names = ["" if row.popsize is None else short_number(row.popsize) for row in own]
            lines.append(replace(line, low=low.tolist(), high=high.tolist(), labels=names))
        values = [value for line in lines for value in line.values()]
        y_axis = linear(_value_title(problem, "mean best value"), [*values, *(value for value, _ in levels)])
        x_axis = logarithmic(f"mean {title} to the best", [value for line in lines for value in line.x])
        panels.append(Panel(x=x_axis, y=y_axis, marks=lines, levels=levels, height=380))
    return Figure(name="costs", panels=panels, title=_title(problem)) if rows else None


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
    for name in problems:
        snapshot.problem(name)  # which refuses an unknown one
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
