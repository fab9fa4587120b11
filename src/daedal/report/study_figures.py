"""The figures of a study's page, one of each kind for each problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.report.figures import COLOURS, DASHES, axis, band, level, line, log_axis, numbers
from daedal.report.markup import escaped, paragraph
from daedal.report.page import Figure, Part, Row
from daedal.settings.checks import counted
from daedal.studies.budgets import BudgetRow, analyse_budgets
from daedal.studies.snapshot import (
    AnytimeCurve,
    RuntimeCurve,
    SizeCurve,
    Snapshot,
    anytime_curves,
    first_evaluations,
    known_optimum,
    runtime_curves,
    shown_cells,
    size_curves,
)
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.tables import problem_title
from daedal.types import Json

_MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")

_LABELS = 70  # pixels beside a figure of a row

_OfCurve: TypeAlias = Callable[[SizeCurve], NDArray[np.float64]]


def size_figures(snapshot: Snapshot) -> list[Part]:
    """Draw success, evaluations and CPU seconds against the population size."""
    parts: list[Part] = []
    for number, problem in enumerate(snapshot.study.problems):
        curves = [one for one in size_curves(snapshot) if one.problem == problem]
        if curves:
            parts += [*_heading(snapshot.study, problem), _size_row(number, snapshot.study, curves)]
    return parts


def _size_row(number: int, study: Study, curves: Sequence[SizeCurve]) -> Row:
    sizes = sorted({size for one in curves for size in one.popsizes.tolist() if not math.isnan(size)})
    panels: list[tuple[str, str, _OfCurve, _OfCurve | None]] = [
        ("solved", "runs solved (%)", lambda one: 100 * one.solved, None),
        ("evaluations", "evaluations to the best", lambda one: one.evaluations, lambda one: one.evaluations_sd),
        ("seconds", "CPU seconds to the best", lambda one: one.seconds, lambda one: one.seconds_sd),
    ]
    figures = []
    for name, title, of_curve, spread in panels:
        data: list[dict[str, Json]] = []
        reached: list[float] = []
        for one in curves:
            values = of_curve(one).tolist()
            x: list[float] = one.popsizes.tolist()
            error = None if spread is None else spread(one).tolist()
            if math.isnan(x[0]):  # without a population it is the same at every size
                x = [sizes[0], sizes[-1]] if sizes else [1.0]
                values, error = values[:1] * len(x), None
            data.append(_points(study, one.algorithm, x, values, error))
            reached += _reached(values, error)
        y_axis = _shares(title) if spread is None else log_axis(title, reached)
        x_axis = log_axis("population size", sizes, at=sizes) if sizes else axis("", showticklabels=False)
        figures.append(Figure(name=f"{name}-{number}", data=data, layout=_panel(x_axis, y_axis)))
    return Row(figures)


def _reached(values: Sequence[float], bars: Sequence[float] | None) -> list[float]:
    """Give values and the ends of their bars; one that leads to nothing is followed for a decade."""
    pairs = zip(values, bars or [0.0] * len(values), strict=True)
    return [end for value, bar in pairs for end in (max(value - bar, 0.1 * value), value, value + bar)]


def _points(
    study: Study,
    algorithm: StudyAlgorithm,
    x: Sequence[float],
    y: Sequence[float],
    error: Sequence[float] | None = None,
) -> dict[str, Json]:
    place = study.algorithms.index(algorithm)
    more: dict[str, Json] = {} if error is None else {"error_y": {"array": numbers(error), "thickness": 1, "width": 3}}
    return line(
        numbers(x),
        numbers(y),
        algorithm.name,
        COLOURS[place % len(COLOURS)],
        mode="lines+markers",
        line={"dash": DASHES[place % len(DASHES)], "width": 1.6},
        marker={"size": 7, "symbol": _MARKERS[place % len(_MARKERS)]},
        **more,
    )


def budget_figures(snapshot: Snapshot) -> list[Part]:
    """Draw success, the best value and CPU seconds against the budget."""
    parts: list[Part] = []
    rows = analyse_budgets(snapshot.study, snapshot.runs)
    for number, (problem, of_problem) in enumerate(groupby(rows, key=lambda row: row.problem)):
        found = [row for row in of_problem if row.runs]
        if found:
            parts += [*_heading(snapshot.study, problem), _budget_row(number, snapshot.study, found)]
    return parts


def _budget_row(number: int, study: Study, rows: Sequence[BudgetRow]) -> Row:
    def solved(row: BudgetRow) -> float:
        return math.nan if row.solved is None else 100 * row.solved / row.runs

    panels: list[tuple[str, str, Callable[[BudgetRow], float]]] = [
        ("solved", "runs solved (%)", solved),
        ("best", "median of the best value", lambda row: math.nan if row.spread is None else row.spread.median),
        ("seconds", "CPU seconds", lambda row: math.nan if row.cpu_seconds is None else row.cpu_seconds.mean),
    ]
    algorithms = [one for one in study.algorithms if any(row.algorithm == one for row in rows)]
    figures = []
    for name, title, value in panels:
        data = [
            _points(study, one, [row.budget for row in rows if row.algorithm == one],
                    [value(row) for row in rows if row.algorithm == one])
            for one in algorithms
        ]  # fmt: skip
        x_axis = log_axis("budget: evaluations", study.budgets, at=study.budgets)
        y_axis = (
            _shares(title) if name == "solved" else axis(title) if name == "best" else log_axis(title, map(value, rows))
        )
        figures.append(Figure(name=f"{name}-{number}", data=data, layout=_panel(x_axis, y_axis)))
    return Row(figures)


def runtime_figures(snapshot: Snapshot) -> list[Part]:
    """Draw the share of runs that are solved against evaluations, for the population size that stands for each."""
    keys = {cell.key for cell in shown_cells(snapshot.study, snapshot.runs)}
    curves = [
        one
        for one in runtime_curves(snapshot)
        if snapshot.study.cell(one.problem, one.algorithm, one.popsize, one.budget).key in keys
    ]
    parts: list[Part] = []
    grown = anytime_curves(snapshot)
    for number, problem in enumerate(snapshot.study.problems):
        if found := [one for one in curves if one.problem == problem]:
            begin = first_evaluations(grown, [problem])
            parts += [*_heading(snapshot.study, problem), _runtime(number, snapshot, problem, found, begin)]
    return parts


def _runtime(
    number: int, snapshot: Snapshot, problem: StudyProblem, curves: Sequence[RuntimeCurve], begin: int | None
) -> Part:
    """Draw the curves of a problem, from where its runs have their first values on, or say that none has solved it."""
    if not any(len(one.evaluations) for one in curves):
        return paragraph("No run has solved it.")
    ends = [end for one in curves for end in (*one.evaluations.tolist()[:1], max(1, one.longest))]
    first = min(ends if begin is None else [begin, *ends])
    data = [line for one in curves for line in _steps(snapshot.study, one, first)]
    x_axis = log_axis("evaluations", [first, *ends])
    layout = _layout(x_axis, _shares("runs solved (%)"), height=360, hovermode="x unified")
    return Figure(name=f"runtime-{number}", data=data, layout=layout)


def _steps(study: Study, curve: RuntimeCurve, first: int) -> list[dict[str, Json]]:
    """Give a line that rises where a run was solved, up to the end of the longest, and a marker there."""
    place = study.algorithms.index(curve.algorithm)
    colour = COLOURS[place % len(COLOURS)]
    x, y = curve.evaluations.tolist(), (100 * curve.share).tolist()
    x, y = [first, *x, max(curve.longest, *x, first)], [0.0, *y, y[-1] if y else 0.0]
    look: dict[str, Json] = {"shape": "hv", "dash": DASHES[place % len(DASHES)]}
    return [line(numbers(x), numbers(y), _named(curve), colour, line=look), _end(place, x[-1], y[-1])]


def _end(place: int, x: float, y: float) -> dict[str, Json]:
    """Give the marker at the end of an algorithm's line: lines may lie on each other, or be upright there."""
    colour, symbol = COLOURS[place % len(COLOURS)], _MARKERS[place % len(_MARKERS)]
    marker: dict[str, Json] = {"size": 7, "symbol": symbol}
    more: dict[str, Json] = {"showlegend": False, "hoverinfo": "skip", "cliponaxis": False, "marker": marker}
    return line(numbers([x]), numbers([y]), "", colour, mode="markers", **more)


def _named(curve: RuntimeCurve | AnytimeCurve) -> str:
    """Name a curve after its algorithm, and the size or budget whose runs it shows."""
    size = ""
    if curve.budget is not None:
        size = f", budget {curve.budget:,}"
    elif curve.popsize is not None:
        size = f", popsize {curve.popsize:,}"
    runs = "" if curve.complete else f", {counted(curve.runs, 'run')}"
    return f"{curve.algorithm.name}{size}{runs}"


def anytime_figures(snapshot: Snapshot) -> list[Part]:
    """Draw the median of the best values, and the quartiles, against evaluations."""
    parts: list[Part] = []
    curves = anytime_curves(snapshot)
    for number, problem in enumerate(snapshot.study.problems):
        found = [one for one in curves if one.problem == problem]
        if not found:
            continue
        data: list[dict[str, Json]] = []
        for one in found:
            data += _anytime_lines(snapshot.study, one)
        better = " (smaller is better)" if problem.minimize else ""
        x_axis = log_axis("evaluations", [end for one in found for end in one.evaluations[[0, -1]].tolist()])
        layout = _layout(x_axis, axis(f"best value{better}"), height=360, hovermode="x unified")
        goal = known_optimum(snapshot, problem)
        goal, name = (problem.target, "target") if goal is None else (goal, "optimum")
        if goal is not None and math.isfinite(goal):
            shape, note = level(goal, name)
            layout |= {"shapes": [shape], "annotations": [note]}
        parts += [*_heading(snapshot.study, problem), Figure(name=f"anytime-{number}", data=data, layout=layout)]
    return parts


def _anytime_lines(study: Study, curve: AnytimeCurve) -> list[dict[str, Json]]:
    place = study.algorithms.index(curve.algorithm)
    colour = COLOURS[place % len(COLOURS)]
    x = numbers(curve.evaluations.tolist())
    low, median, high = (numbers(one.tolist()) for one in (curve.q1, curve.median, curve.q3))
    name = f"{_named(curve)}: median" if not curve.complete else f"{_named(curve)}: median of {curve.runs}"
    middle = line(x, median, name, colour, line={"dash": DASHES[place % len(DASHES)]})
    return [*band(x, low, high, "", colour), middle, _end(place, curve.evaluations[-1], curve.median[-1])]


def _heading(study: Study, problem: StudyProblem) -> list[Part]:
    """Name the problem, with what it is."""
    return [f"<h3>{escaped(' '.join(filter(None, problem_title(problem))))}</h3>"]


def _layout(x: dict[str, Json], y: dict[str, Json], *, height: int = 320, **more: Json) -> dict[str, Json]:
    return {"height": height, "showlegend": True, "xaxis": x, "yaxis": y, **more}


def _panel(x: dict[str, Json], y: dict[str, Json]) -> dict[str, Json]:
    """Lay out one figure of a row: all leave the same room for labels, so that their legends break alike."""
    return _layout(x, {**y, "automargin": False}, margin={"l": _LABELS})


def _shares(title: str) -> dict[str, Json]:
    return axis(title, range=[-4, 104], tickvals=[0, 25, 50, 75, 100])
