"""Lines of a study's runs against evaluations: the best value that they had, and how many were solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.plot.style import COLOURS, GREY, LINES, MARKERS, draw_goal, log_axis, shortened
from daedal.settings.checks import counted
from daedal.studies.snapshot import (
    AnytimeCurve,
    RuntimeCurve,
    Snapshot,
    anytime_curves,
    first_evaluations,
    known_optimum,
    runtime_curves,
    shown_cell,
)
from daedal.studies.spec import StudyProblem

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def draw_anytime(axes: Axes, snapshot: Snapshot, problem: StudyProblem) -> dict[Artist, str]:
    """Draw the median of the best values against evaluations, the quartiles as a band; give the lines and their names.

    Each algorithm has the population size, or budget, that stands for it: see `shown_cells`.
    """
    lines: dict[Artist, str] = {}
    for curve in anytime_curves(snapshot):
        if curve.problem == problem:
            look = line_look(snapshot, curve.algorithm.name)
            median, q1, q3 = (np.where(np.isfinite(one), one, np.nan) for one in (curve.median, curve.q1, curve.q3))
            # A value is reached at one moment, and held until the next.
            (line,) = axes.step(curve.evaluations, median, where="post", linewidth=1.5, **look)
            axes.fill_between(curve.evaluations, q1, q3, step="post", color=look["color"], alpha=0.15, linewidth=0)
            axes.plot(curve.evaluations[-1:], median[-1:], **_end_look(snapshot, curve.algorithm.name))
            lines[line] = curve_name(curve)
    draw_goal(axes, known_optimum(snapshot, problem), problem.target, minimize=problem.minimize)
    axes.set_xlabel("Evaluations")
    axes.set_ylabel("Best value" + (" (smaller is better)" if problem.minimize else ""))
    axes.set_title("median and quartiles", loc="right", fontsize=8, color=GREY)
    log_axis(axes)
    return lines


def draw_runtime(axes: Axes, snapshot: Snapshot, problems: Sequence[StudyProblem]) -> dict[Artist, str]:
    """Draw the share of runs that are solved against evaluations, of several problems together; give lines and names.

    Lines begin where runs have their first values; a line ends, with its marker, at the most evaluations that any run
    took.
    """
    lines: dict[Artist, str] = {}
    curves = runtime_curves(snapshot)
    begin, any_solved = first_evaluations(anytime_curves(snapshot), problems), False
    for algorithm in snapshot.study.algorithms:
        cells = [shown_cell(snapshot.study, snapshot.runs, problem, algorithm) for problem in problems]
        wanted = {(cell.problem, cell.popsize, cell.budget) for cell in cells if cell is not None}
        found = [
            curve
            for curve in curves
            if curve.algorithm == algorithm and (curve.problem, curve.popsize, curve.budget) in wanted
        ]
        if not found:
            continue
        solved = np.sort(np.concatenate([curve.evaluations for curve in found]))
        any_solved |= len(solved) > 0
        share = np.arange(1, len(solved) + 1) / sum(curve.runs for curve in found)
        end = max(curve.longest for curve in found)
        known = [end, *solved[:1].tolist(), *([] if begin is None else [begin])]
        first = max(1, min(known))
        x = np.concatenate([[first], solved, [max(end, first)]])
        y = np.concatenate([[0.0], share, share[-1:] if len(share) else [0.0]])
        look = line_look(snapshot, algorithm.name)
        (line,) = axes.step(x, y, where="post", linewidth=1.5, **look)
        axes.plot(x[-1:], y[-1:], clip_on=False, **_end_look(snapshot, algorithm.name))
        same = len({(curve.popsize, curve.budget) for curve in found}) == 1
        lines[line] = curve_name(found[0]) if same else algorithm.name
    if lines and not any_solved:
        said = f"no run has solved {'it' if len(problems) == 1 else 'any of them'}"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color=GREY)
    axes.set_xlabel("Evaluations")
    axes.set_ylabel("Share of runs solved")
    log_axis(axes)
    axes.set_ylim(-0.02, 1.04)
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    return lines


def curve_name(curve: AnytimeCurve | RuntimeCurve) -> str:
    """Call a curve by its algorithm, its population size or budget, and how many runs it has where some are missing."""
    size = f"popsize {curve.popsize:,}" if curve.popsize is not None and curve.budget is None else ""
    budget = f"budget {curve.budget:,}" if curve.budget is not None else ""
    missing = "" if curve.complete else counted(curve.runs, "run")
    words = ", ".join(filter(None, (size, budget, missing)))
    return f"{shortened(curve.algorithm.name, 44 - len(words) - 3)} ({words})" if words else curve.algorithm.name


def line_look(snapshot: Snapshot, algorithm: str) -> dict[str, Any]:
    """Give colour and dashes of an algorithm, which are the same in all figures of its study."""
    number = _number(snapshot, algorithm)
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)]}


def _end_look(snapshot: Snapshot, algorithm: str) -> dict[str, Any]:
    number = _number(snapshot, algorithm)
    look = {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)]}
    return {**look, "markersize": 5.0, "linestyle": "none", "label": "_end", "zorder": 3}


def _number(snapshot: Snapshot, algorithm: str) -> int:
    return [one.name for one in snapshot.study.algorithms].index(algorithm)
