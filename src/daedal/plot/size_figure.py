"""The paper's figures: what each population size reaches on average, and what it costs."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from daedal.plot.style import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    STYLE,
    draw_goal,
    draw_legend,
    find_matplotlib,
    log_axis,
    plain_text,
)
from daedal.studies.analysis import Effort, Runs, efforts
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.tables import problem_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def draw_sizes(study: Study, runs: Runs, problem: StudyProblem) -> Figure:
    """Draw average best fitness against average evaluations and CPU seconds, one point per population size.

    Lines join adjacent sizes. A size with runs still missing has an open marker; one without runs has none. The
    optimum, where the runs know it, or else the target is a dashed line.
    """
    matplotlib = find_matplotlib()
    found = {algorithm: efforts(study, runs, problem, algorithm) for algorithm in study.algorithms}
    cells = (study.cell(problem, algorithm, size) for algorithm in study.algorithms for size in algorithm.popsizes)
    known = (run.optimum for cell in cells for run in runs.get(cell.key, {}).values())
    optimum = next((value for value in known if value is not None), None)
    with matplotlib.rc_context(STYLE):
        figure: Figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.0, 4.0), layout="constrained")
        figure.suptitle(plain_text(problem_title(problem)[0]), fontsize=12, fontweight="bold")
        left, right = figure.subplots(1, 2, sharey=True)
        lines: dict[Line2D, str] = {}
        for axes, measure in ((left, "evaluations"), (right, "seconds")):
            drawn = [_draw_sizes(axes, one, found[one], measure, number) for number, one in enumerate(found)]
            lines = {line: one.name for line, one in zip(drawn, found, strict=True) if found[one]}
            draw_goal(axes, optimum, problem.target, minimize=problem.minimize)
            log_axis(axes)
        left.set_title(plain_text(problem_title(problem)[1]), loc="left", fontsize=8, color=GREY)
        left.set_xlabel("Average evaluations until the best")
        right.set_xlabel("Average CPU seconds until the best")
        left.set_ylabel("Average best fitness" + (" (smaller is better)" if problem.minimize else ""))
        if any(not effort.complete for sizes in found.values() for effort in sizes):
            line2d = importlib.import_module("matplotlib.lines").Line2D
            hollow = line2d([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="white")
            lines[hollow] = "not all runs made"
        draw_legend(figure, lines)
    return figure


def _draw_sizes(axes: Axes, algorithm: StudyAlgorithm, sizes: Sequence[Effort], measure: str, number: int) -> Line2D:
    """Draw the line of an algorithm, and give it back for the legend."""
    points = {effort.popsize: point for effort in sizes if (point := _point(effort, measure)) is not None}
    missing = (math.nan, math.nan)  # breaks the line
    x, y = zip(*(points.get(popsize, missing) for popsize in algorithm.popsizes), strict=True)
    marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
    look: dict[str, Any] = {"marker": marker, "markersize": 5.5, "color": colour, "zorder": 3}
    (line,) = axes.plot(x, y, linestyle=LINES[number % len(LINES)], linewidth=1.4, label=algorithm.name, **look)
    partial = [points[effort.popsize] for effort in sizes if effort.popsize in points and not effort.complete]
    if partial:
        axes.plot(*zip(*partial, strict=True), linestyle="none", markerfacecolor="white", label="_partial", **look)
    return line


def _point(effort: Effort, measure: str) -> tuple[float, float] | None:
    """Give the place of a size, or None where a logarithmic axis has none for it."""
    value = getattr(effort, measure)
    if value is None or value.mean <= 0 or effort.best is None or not math.isfinite(effort.best.mean):
        return None
    return value.mean, effort.best.mean
