"""The figure of a study with budgets: the best value against the evaluations that it takes, one panel a problem."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from daedal.plot.style import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    draw_goal,
    draw_legend,
    plain_text,
    styled,
)
from daedal.result.wording import short_number
from daedal.studies.budgets import BudgetRow
from daedal.studies.spec import StudyProblem
from daedal.studies.tables import problem_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_PANEL = (3.9, 3.0)  # inches
_LEGEND = 0.7  # inches below the panels
_MOST_ACROSS = 3
_APART = 0.018  # of the axis: how far the bars of two algorithms are from each other, where there is room
_SHARE = 0.6  # of the gap between two budgets that bars may take
_LONGEST_TITLE = 38  # letters
_LABELS_APART = 0.16  # of the axis


def draw_budgets(rows: Sequence[BudgetRow], names: Sequence[str] = ()) -> Figure:
    """Draw the median of the best values at each budget, and the quartiles as a bar; lines join the medians.

    The panels are those of the problems that are named, or of all. A budget with runs still missing has an open marker,
    one without runs has none. The bars of several algorithms stand beside each other, around their budget.
    """
    panels = [list(one) for _, one in groupby(rows, key=lambda row: row.problem)]
    panels = [one for one in panels if not names or one[0].problem.name in names]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(row.algorithm.name for row in rows))}
    across = len(panels) if len(panels) <= _MOST_ACROSS else 2 if len(panels) == 4 else _MOST_ACROSS
    down = math.ceil(len(panels) / across)
    with styled():
        size = (max(across * _PANEL[0], 5.0), down * _PANEL[1] + _LEGEND)
        figure: Figure = importlib.import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
        grid = figure.subplots(down, across, squeeze=False).ravel().tolist()
        lines: dict[Artist, str] = {}
        for place, (axes, panel) in enumerate(zip(grid, panels, strict=False)):
            drawn = _draw_panel(axes, panel, numbers)
            lines = lines or {line: name for name, line in drawn.items()}
            if place % across == 0:
                axes.set_ylabel("Best value, median and quartiles")
            if place + across >= len(panels):
                axes.set_xlabel("Budget: evaluations")
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        if any(not row.complete for panel in panels for row in panel):
            line2d = importlib.import_module("matplotlib.lines").Line2D
            hollow = line2d([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="white")
            lines[hollow] = "not all runs made"
        draw_legend(figure, lines)
    return figure


def _draw_panel(axes: Axes, rows: Sequence[BudgetRow], numbers: Mapping[str, int]) -> dict[str, Line2D]:
    """Draw the lines of one problem, and give them by algorithm."""
    problem = rows[0].problem
    budgets = sorted({row.budget for row in rows})
    width = math.log(budgets[-1] / budgets[0]) if len(budgets) > 1 else 1.0
    gaps = [math.log(after / before) for before, after in pairwise(budgets)]
    apart = min(_APART * width, _SHARE * min(gaps, default=1.0) / len(numbers))
    drawn = {}
    for name, number in numbers.items():
        aside = math.exp((number - (len(numbers) - 1) / 2) * apart)
        drawn[name] = _draw_line(axes, [row for row in rows if row.algorithm.name == name], number, aside)
    optimum = next((row.optimum for row in rows if row.optimum is not None), None)
    draw_goal(axes, optimum, problem.target, minimize=problem.minimize)
    _draw_title(axes, problem)
    _scale(axes, budgets, width)
    return drawn


def _draw_title(axes: Axes, problem: StudyProblem) -> None:
    """Write a problem's name, and behind it, or below where it is long, what it is."""
    name, spec = problem_title(problem)
    beside = " ".join(filter(None, (spec, "smaller is better" if problem.minimize else "")))
    below = bool(beside) and len(name) + len(beside) > _LONGEST_TITLE
    if len(name) > _LONGEST_TITLE:
        name = f"{name[: _LONGEST_TITLE - 1]}…"
    axes.set_title(plain_text(name), loc="left", fontsize=10, fontweight="bold", pad=17 if below else None)
    place = (0.0, "left") if below else (1.0, "right")
    small: dict[str, Any] = {"fontsize": 8, "color": GREY, "va": "bottom", "ha": place[1]}
    axes.annotate(
        plain_text(beside),
        (place[0], 1.0),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        **small,
    )


def _draw_line(axes: Axes, rows: Sequence[BudgetRow], number: int, aside: float) -> Line2D:
    marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
    look: dict[str, Any] = {"marker": marker, "markersize": 5.0, "color": colour, "zorder": 3}
    style = LINES[number % len(LINES)]
    shown = [(row, row.spread) for row in rows if row.spread is not None and math.isfinite(row.spread.median)]
    x = [row.budget * aside for row, _ in shown]
    (line,) = axes.plot(x, [one.median for _, one in shown], linestyle=style, linewidth=1.3, **look)
    for place, (_, one) in zip(x, shown, strict=True):
        if math.isfinite(one.q1) and math.isfinite(one.q3):
            axes.plot([place] * 2, [one.q1, one.q3], color=colour, linewidth=3.2, alpha=0.35, solid_capstyle="butt")
    partial = [(place, one.median) for place, (row, one) in zip(x, shown, strict=True) if not row.complete]
    if partial:
        axes.plot(*zip(*partial, strict=True), linestyle="none", markerfacecolor="white", **look)
    return line


def _scale(axes: Axes, budgets: Sequence[int], width: float) -> None:
    """Make the horizontal axis logarithmic, with labels at the budgets, as far as there is room."""
    ticker = importlib.import_module("matplotlib.ticker")
    axes.set_xscale("log")
    axes.margins(y=0.12)
    axes.set_xlim(budgets[0] * math.exp(-0.1 * width), budgets[-1] * math.exp(0.1 * width))
    labelled: list[int] = []
    for budget in budgets:
        if not labelled or math.log(budget / labelled[-1]) >= _LABELS_APART * width:
            labelled.append(budget)
    axes.xaxis.set_major_locator(ticker.FixedLocator(labelled))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short_number(value)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
