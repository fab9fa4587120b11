"""The paper's figures: what each population size reaches on average, and what it costs."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daedal.plot.point_labels import Label, draw_labels
from daedal.plot.style import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    draw_goal,
    draw_legend,
    log_axis,
    plain_text,
    shortened,
    styled,
)
from daedal.result.wording import short_number
from daedal.studies.analysis import Effort, efforts
from daedal.studies.plan import Runs
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, Run
from daedal.studies.tables import problem_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def draw_sizes(study: Study, runs: Runs, problem: StudyProblem) -> Figure:
    """Draw average best fitness against average evaluations and CPU seconds, one point per population size.

    Numbers say which size a point is, as far as there is room, and thin bars are one standard deviation of both. Lines
    join adjacent sizes, as long as the larger one takes more: they never turn back. A size with runs still missing has
    an open marker; one without runs has none. The optimum, where the runs know it, or else the target is a dashed line.
    """
    found = {algorithm: _sizes(study, runs, problem, algorithm) for algorithm in study.algorithms}
    known = (run.optimum for sizes in found.values() for size in sizes for run in size.done)
    optimum = next((value for value in known if value is not None), None)
    with styled():
        figure: Figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.0, 4.2), layout="constrained")
        name, spec = problem_title(problem)
        figure.suptitle(plain_text(shortened(name, 90)), fontsize=12, fontweight="bold")
        left, right = figure.subplots(1, 2, sharey=True)
        lines: dict[Artist, str] = {}
        for axes, measure in ((left, "evaluations_to_best"), (right, "cpu_seconds_to_best")):
            drawn = [_draw_sizes(axes, one, found[one], measure, number) for number, one in enumerate(found)]
            lines = {line: one.name for line, one in zip(drawn, found, strict=True) if found[one]}
            draw_goal(axes, optimum, problem.target, minimize=problem.minimize)
            log_axis(axes)
        left.set_title(plain_text(shortened(spec)), loc="left", fontsize=8, color=GREY)
        right.set_title("numbers: population size; bars: ± standard deviation", loc="right", fontsize=8, color=GREY)
        left.set_xlabel("Average evaluations until the best")
        right.set_xlabel("Average CPU seconds until the best")
        left.set_ylabel("Average best fitness" + (" (smaller is better)" if problem.minimize else ""))
        if any(not size.effort.complete for sizes in found.values() for size in sizes):
            line2d = importlib.import_module("matplotlib.lines").Line2D
            hollow = line2d([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="white")
            lines[hollow] = "not all runs made"
        draw_legend(figure, lines)
        figure.draw_without_rendering()  # which lays it out: then it is known where there is room
        for axes, measure in ((left, "evaluations_to_best"), (right, "cpu_seconds_to_best")):
            draw_labels(axes, _labels(found, measure))
    return figure


@dataclass(frozen=True)
class _Size:
    """What the runs of a population size came to, and those of them that ended well."""

    effort: Effort
    done: list[Run]

    def point(self, measure: str) -> tuple[float, float] | None:
        """Give the place of the means, or None where a logarithmic axis has none for it."""
        value, best = getattr(self.effort, measure), self.effort.best
        if value is None or value.mean <= 0 or best is None or not math.isfinite(best.mean):
            return None
        return value.mean, best.mean

    def span(self, measure: str) -> tuple[float, float] | None:
        """Give the mean of a measure less and plus its standard deviation, as far as any run has reached.

        So no bar leads beyond the optimum, or to no cost at all. None where it cannot be drawn.
        """
        found, known = getattr(self.effort, measure), [getattr(run, measure) for run in self.done]
        values = [value for value in known if value is not None]
        if found is None or len(values) < 2 or not math.isfinite(found.sd):
            return None
        return max(found.mean - found.sd, min(values)), min(found.mean + found.sd, max(values))


def _sizes(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[_Size]:
    """Give the population sizes that have runs."""
    found = []
    for effort in efforts(study, runs, problem, algorithm):
        made = runs[study.cell(problem, algorithm, effort.popsize).key]
        found.append(_Size(effort, [made[seed] for seed in study.seeds if seed in made and made[seed].status == DONE]))
    return found


def _draw_sizes(axes: Axes, algorithm: StudyAlgorithm, sizes: Sequence[_Size], measure: str, number: int) -> Line2D:
    """Draw the line of an algorithm, and give it back for the legend."""
    points = {size.effort.popsize: point for size in sizes if (point := size.point(measure)) is not None}
    missing = (math.nan, math.nan)  # breaks the line
    path: list[tuple[float, float]] = []
    for popsize in algorithm.popsizes:
        point = points.get(popsize, missing)
        if path and point[0] < path[-1][0]:  # the larger size takes less: a line would turn back
            path.append(missing)
        path.append(point)
    marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
    look: dict[str, Any] = {"marker": marker, "markersize": 5.0, "color": colour, "zorder": 3}
    style = LINES[number % len(LINES)]
    (line,) = axes.plot(*zip(*path, strict=True), linestyle=style, linewidth=1.3, label=algorithm.name, **look)
    bar: dict[str, Any] = {"color": colour, "alpha": 0.35, "linewidth": 1.6, "solid_capstyle": "butt", "label": "_bar"}
    for size in sizes:
        if (place := points.get(size.effort.popsize)) is None:
            continue
        if (best := size.span("best")) is not None:
            axes.plot([place[0]] * 2, best, **bar)
        if (cost := size.span(measure)) is not None and cost[0] > 0:
            axes.plot(cost, [place[1]] * 2, **bar)
    unfinished = [size.effort.popsize for size in sizes if not size.effort.complete]
    partial = [points[popsize] for popsize in unfinished if popsize in points]
    if partial:
        axes.plot(*zip(*partial, strict=True), linestyle="none", markerfacecolor="white", label="_partial", **look)
    return line


def _labels(found: Mapping[StudyAlgorithm, Sequence[_Size]], measure: str) -> list[Label]:
    """Say which size each point is; the first and the last of an algorithm matter most, then every second."""
    labels = []
    for number, sizes in enumerate(found.values()):
        shown = [(size.effort.popsize, point) for size in sizes if (point := size.point(measure)) is not None]
        for place, (popsize, (x, y)) in enumerate(shown):
            rank = 0 if place in (0, len(shown) - 1) else 1 + place % 2
            text = "" if popsize is None else short_number(popsize)
            labels.append(Label(x, y, text, COLOURS[number % len(COLOURS)], rank))
    return labels
