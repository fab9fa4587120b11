"""Pictures of one run."""

from __future__ import annotations

import importlib
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from daedal.plot.style import COLOURS, GREY, axes_to_draw_on, draw_axes_legend, draw_goal, plain_text, shortened
from daedal.result import Result, Trace
from daedal.result.trace import best_curve, best_found
from daedal.result.variables import Linkage, learned_linkage, losses, ranked, variables_of
from daedal.result.wording import problem_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 40
_MOST_LABELS = 40  # of variables beside a heat map
_MOST_SHARP = 200
_MAP = 3.3  # inches, the least side of a map of pairs
_LETTER_WIDTH, _LINE_HEIGHT = 0.6, 1.25  # of a letter, in its size
_GAP = 0.06  # between two populations, of the width of one


def convergence(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the best and the mean value against evaluations, with a band of one standard deviation around the mean.

    Parameters
    ----------
    result
        What `maximize`, `minimize` or `resume` gave.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("onemax:n=30", algorithm="umda", popsize=100, seed=1)
    >>> daedal.plot.convergence(result).get_ylabel()
    'Value'
    """
    if not result.history:
        raise ValueError("expected a result with a history, got one without any generation")
    evaluations = np.array([record.evaluations for record in result.history])
    mean, sd = (_column(result, name) for name in ("mean", "sd"))
    at, best = np.array(best_curve(result, result.history)).T
    best = np.where(np.isfinite(best), best, np.nan)
    with axes_to_draw_on(ax) as axes:
        before = axes.get_legend_handles_labels()[0]
        if np.isfinite(sd).any():
            band: dict[str, Any] = {
                "color": COLOURS[2],
                "alpha": 0.2,
                "linewidth": 0.0,
                "label": "± standard deviation",
            }
            axes.fill_between(evaluations, mean - sd, mean + sd, **band)
        alone = "o" if len(evaluations) == 1 else None  # or one generation would not be seen
        axes.plot(evaluations, mean, color=COLOURS[2], linewidth=1.4, marker=alone, label="mean of a generation")
        axes.step(at, best, where="post", color=COLOURS[0], linewidth=1.8, marker=alone, label="best so far")
        if (found := best_found(result, result.history)) is not None:  # the last step may be at the very end
            axes.plot(*found, color=COLOURS[0], marker="o", markersize=5.0, clip_on=False, zorder=3, label="_found")
        draw_goal(axes, result.optimum, result.limits.target, minimize=result.minimize)
        axes.set_xlabel("Evaluations")
        axes.set_ylabel("Value" + (" (smaller is better)" if result.minimize else ""))
        axes.set_title(plain_text(_title(result)), loc="left")
        axes.margins(x=0.02, y=0.08)
        handles, names = axes.get_legend_handles_labels()
        named = dict(zip(handles[::-1], names[::-1], strict=True))
        draw_axes_legend(axes, named, own=ax is None, kept=before)
    return axes


def linkage(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw how much pairs of variables depend on each other, ordered so that those that hang together are neighbours.

    Groups that hang together have a frame.

    Parameters
    ----------
    result
        What a run gave; it has to have learned something of pairs.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> daedal.plot.linkage(result).images[0].get_array().shape
    (16, 16)
    """
    variables = variables_of(result)
    found = learned_linkage(result, variables)
    if found is None:
        raise ValueError(
            f"expected a run that has found out which variables depend on each other, got one of {result.algorithm} "
            "that has not kept anything of the kind (result.trace.linkage)"
        )
    order = found.order
    names = [shortened(variables.labels[i]) for i in order] if len(order) <= _MOST_LABELS else []
    letter = 6 if len(order) > 30 else 8
    with axes_to_draw_on(ax, _map_size(names, letter), layout="compressed") as axes:
        strength = found.strength[np.ix_(order, order)]
        np.fill_diagonal(strength, 1.0)  # so that a group is a whole square
        image = axes.imshow(strength, cmap="Blues", vmin=0.0, vmax=1.0)
        _frame_groups(axes, found)
        axes.grid(visible=False)
        step = 1 if ax is None else _every(axes, len(names), letter)
        labels = [plain_text(name) for name in names[::step]]
        axes.set_xticks(range(0, len(names), step), labels, rotation=90, fontsize=letter)
        axes.set_yticks(range(0, len(names), step), labels, fontsize=letter)
        if not names:
            axes.set_xlabel(f"{len(order):,} variables, those that hang together side by side")
        axes.figure.colorbar(image, ax=axes, label="dependence, 1 is the strongest", shrink=0.8)
        words = f"{_title(result)}: linkage", f"from {found.source}"
        axes.set_title(plain_text(words[0]), loc="left", fontsize=9)
        title = [plain_text(one) for text in words for one in textwrap.wrap(text, _letters_above(axes, own=ax is None))]
        axes.set_title("\n".join(title), loc="left", fontsize=9)
    return axes


def _map_size(names: Sequence[str], letter: int) -> tuple[float, float]:
    """Give the inches that a map of pairs takes, so that no name touches the next; the names stand on two sides."""
    side = max(_MAP, len(names) * _LINE_HEIGHT * letter / 72)
    beside = _LETTER_WIDTH * letter / 72 * max(map(len, names), default=0)
    return side + beside + 1.6, side + beside + 1.0


def _every(axes: Axes, names: int, letter: int) -> int:
    """Say which of the names along a map's side have room, in axes that are as large as they are."""
    box = axes.get_window_extent()
    points = 72 / axes.figure.dpi * min(box.width, box.height)
    return max(1, math.ceil(names * _LINE_HEIGHT * letter / max(points, 1.0)))


def _letters_above(axes: Axes, *, own: bool) -> int:
    """Say how many letters of a title fit between the left of the axes and the right of their figure, or of them."""
    figure = cast("Figure", axes.figure)
    if own:
        figure.draw_without_rendering()  # which lays it out: then it is known where the axes are
    box = axes.get_window_extent()
    width = (figure.bbox.x1 if own else box.x1) - box.x0
    return max(20, int(width * 72 / figure.dpi / (_LETTER_WIDTH * 9)))


def population(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw rows of the population at the start, in the middle and at the end, the best on top; dark is 1.

    Parameters
    ----------
    result
        What a run gave.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> len(daedal.plot.population(result).images)
    3
    """
    trace = _trace(result)
    looks = trace.shown_looks()
    with axes_to_draw_on(ax, (2.6 * len(looks) + 0.6, 3.4)) as axes:
        step = result.n * (1 + _GAP)
        sharp = "nearest" if result.n <= _MOST_SHARP else "auto"  # beyond, a variable is narrower than a dot
        colours = importlib.import_module("matplotlib.colors").ListedColormap(["#e9edf1", COLOURS[0]])
        for place, look in enumerate(looks):
            rows, fitness = trace.population(look)
            ordered = rows[np.argsort(fitness if result.minimize else -fitness, kind="stable")]
            left = place * step
            extent = (left, left + result.n, 1.0, 0.0)
            axes.imshow(ordered, cmap=colours, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation=sharp)
            first = f"generation {trace.generations[look]:,}"
            words = f"{first}\n{_span(fitness)}" if len(fitness) else first
            axes.text(left + result.n / 2, -0.02, words, ha="center", va="bottom", fontsize=8)
        axes.set_xlim(0, (len(looks) - 1) * step + result.n)
        axes.set_ylim(1.0, 0.0)
        bits = "variables" if result.space is None else "bits"
        axes.set(xticks=[], yticks=[], xlabel=f"{result.n:,} {bits}", ylabel="rows, the best on top")
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(plain_text(_title(result)), loc="left", pad=34)
    return axes


def importance(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw by how much the best value gets worse where a variable is another, the 40 that matter most.

    A full bar: the variable alone was changed. A hollow one: nobody has tried that, and it is the best of all rows seen
    in which the variable is another. All of it is from evaluations that were made anyway.

    Parameters
    ----------
    result
        What a run gave.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> daedal.plot.importance(result).get_ylabel()
    'the value gets worse by'
    """
    _trace(result)
    variables = variables_of(result)
    loss, exact = losses(result, variables) or (np.empty(0), np.empty(0, np.bool_))
    known = ranked(loss)
    if not len(known):
        raise ValueError("expected a run that saw other values of some variables, got one that saw none")
    chosen = known[:_MOST_BARS]
    with axes_to_draw_on(ax, (max(4.0, 0.17 * len(chosen) + 1.5), 3.6)) as axes:
        for full, name in ((True, "it alone was changed"), (False, "best row seen in which it is another")):
            places = np.flatnonzero(exact[chosen] == full)
            if len(places):
                fill: dict[str, Any] = {"color": COLOURS[0]} if full else {"facecolor": "none", "edgecolor": COLOURS[0]}
                axes.bar(places, loss[chosen[places]], width=0.7, label=name, **fill)
        labels = [plain_text(shortened(variables.labels[i])) for i in chosen]
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7 if len(labels) > 20 else 8)
        axes.axhline(0.0, color=GREY, linewidth=0.8)
        axes.grid(visible=False, axis="x")
        axes.margins(x=0.01, y=0.2)  # room for the legend
        axes.set_ylabel("the value gets worse by")
        some = f": {len(chosen)} of {len(loss):,} variables" if len(chosen) < len(loss) else ""
        axes.set_title(plain_text(_title(result) + some), loc="left")
        axes.legend(frameon=False, fontsize=8)
    return axes


def _title(result: Result) -> str:
    name = f"{shortened(problem_text(result))}, " if result.problem else ""
    return f"{name}{result.algorithm}"


def _trace(result: Result) -> Trace:
    if result.trace is None or not len(result.trace.generations):
        raise ValueError(
            "expected a result that has kept what the search looked like on the way, got result.trace=None: nothing of "
            "it was written down for this run"
        )
    return result.trace


def _column(result: Result, name: str) -> NDArray[np.float64]:
    """Give a column of the history, nan for what is not known or infinite."""
    values = [getattr(record, name) for record in result.history]
    found = np.array([np.nan if value is None else value for value in values], np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def _span(fitness: NDArray[np.float64]) -> str:
    low, high = f"{fitness.min():.6g}", f"{fitness.max():.6g}"
    return f"value {low}" if low == high else f"values {low} to {high}"


def _frame_groups(axes: Axes, found: Linkage) -> None:
    """Draw a frame around each group whose variables are neighbours."""
    place = np.empty(len(found.order), np.intp)
    place[found.order] = np.arange(len(found.order))
    rectangle = importlib.import_module("matplotlib.patches").Rectangle
    for group in found.groups:
        places = place[list(group)]
        first, last = int(places.min()), int(places.max())
        if last - first + 1 == len(group):
            corner = (first - 0.5, first - 0.5)
            axes.add_patch(rectangle(corner, len(group), len(group), fill=False, color=COLOURS[1], linewidth=1.0))
