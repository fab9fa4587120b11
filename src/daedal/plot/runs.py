"""Figures of one run: its values, its effort, its populations, and what it learned about its variables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daedal.plot.figure import (
    BLUE,
    MOST_CELLS,
    ORANGE,
    TEAL,
    Bars,
    Cells,
    Figure,
    Line,
    Panel,
    bin_names,
    bins,
    categories,
    linear,
    percent,
    thinned,
)
from daedal.result import Result, Trace
from daedal.result.trace import best_curve, best_found
from daedal.result.variables import Linkage, Variables, learned_linkage, losses, ranked, variables_of
from daedal.result.wording import problem_text

MOST_BARS = 60
_MOST_GENERATIONS = 200  # of a bar chart; more of them share bars
_MOST_CURVES = 8
_MOST_FRAMES = 80
_SHORT = 0.1  # seconds below which milliseconds are easier to read
_SHORT_NAME = 5  # letters of a name below its bar; with longer ones, bars lie, and names are beside them
_BAR = 18  # pixels of a bar that lies


# ---------------------------------------------------------------- progress


def convergence(result: Result) -> Figure:
    """Return a figure of the best value over evaluations, and the mean of each generation with its standard deviation.

    Parameters
    ----------
    result
        Result of a run.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("onemax:n=30", algorithm="umda", popsize=100, seed=1)
    >>> [line.name for line in daedal.plot.convergence(result).panels[0].marks]
    ['mean of the generation, ± standard deviation', 'best so far']
    """
    if not result.history:
        raise ValueError("the result has no history: its run ended before the first generation did")
    records = [result.history[i] for i in thinned(len(result.history)).tolist()]
    alone = [0] if len(records) == 1 else []  # or one generation would not be seen
    x = [record.evaluations for record in records]
    mean = [record.mean for record in records]
    spread = [math.nan if record.sd is None else record.sd for record in records]
    low, high = ([m + side * s for m, s in zip(mean, spread, strict=True)] for side in (-1, 1))
    known = any(map(math.isfinite, low))
    points = best_curve(result, records)
    at, best = [point[0] for point in points], [point[1] for point in points]
    found = best_found(result, records)
    marks = [
        Line(
            name="mean of the generation" + (", ± standard deviation" if known else ""),
            x=x, y=mean, low=low if known else (), high=high if known else (), has_bars=bool(alone),
            color=ORANGE, marked=alone,
        ),
        Line(
            name="best so far", x=at, y=best, is_step=True, marked=alone if found is None else [points.index(found)]
        ),
    ]  # fmt: skip
    levels = _levels(result)
    title = "value" + (" (smaller is better)" if result.minimize else "")
    panel = Panel(
        x=linear("evaluations", [0.0, *at], from_zero=True),
        y=linear(title, [*mean, *best, *low, *high, *(value for value, _ in levels)]),
        marks=marks,
        levels=levels,
        height=380,
    )
    return Figure(name="progress", panels=[panel], title=_title(result))


def _levels(result: Result) -> list[tuple[float, str]]:
    """Return the values to reach, as far as they are known."""
    known = {"target": result.limits.target, "optimum": result.optimum}
    levels = {value: name for name, value in known.items() if value is not None and math.isfinite(value)}
    return list(levels.items())


def _title(result: Result) -> str:
    return ", ".join(filter(None, (problem_text(result), result.algorithm)))


def effort(result: Result) -> Figure | None:
    """Return a figure of the evaluations per batch, and of the seconds that each generation took; None if unknown."""
    history = result.history
    if not history:
        return None
    starts = np.arange(0, len(history), -(-len(history) // _MOST_GENERATIONS))

    def gained(name: str) -> NDArray[np.float64]:
        return np.add.reduceat(np.diff([float(getattr(record, name)) for record in history], prepend=0), starts)

    seconds, objective = gained("seconds"), gained("objective_seconds")
    unit, size = ("seconds", 1.0) if seconds.max() >= _SHORT else ("milliseconds", 1e3)
    each = "generation" if len(starts) == len(history) else f"{starts[1]:,} generations"
    per_batch = gained("evaluations") / np.maximum(gained("batches"), 1)
    parts = [("objective", size * objective, BLUE), ("search", size * np.maximum(seconds - objective, 0.0), ORANGE)]
    wanted = [("evaluations per batch", [("", per_batch, TEAL)])] if history[-1].batches else []
    wanted += [(f"{unit} per {each}", parts)] if history[-1].seconds > 0 else []
    names, at, panels = [f"{history[i].generation:,}" for i in starts.tolist()], range(len(starts)), []
    for title, stacked in wanted:
        marks, base = [], np.zeros(len(starts))
        for name, values, color in stacked:
            marks.append(Bars(name=name, at=at, base=base.tolist(), ends=(base + values).tolist(), color=color))
            base = base + values
        y = linear(title, [0.0, *base.tolist()], from_zero=True)
        panels.append(Panel(x=categories(names, "generation"), y=y, marks=marks, height=280))
    return Figure(name="effort", panels=panels, title=_title(result)) if panels else None


def training(result: Result) -> Figure | None:
    """Return a figure of how a network learned: its training errors and epochs; None if none was trained."""
    panels = []
    if curves := () if result.trace is None else result.trace.curves:
        chosen = [curves[i] for i in thinned(len(curves), _MOST_CURVES).tolist()]
        marks = []
        for number, curve in enumerate(chosen):
            part = thinned(len(curve.epochs), 400)
            x, y = curve.epochs[part].tolist(), curve.errors[part].tolist()
            opacity = 0.25 + 0.75 * number / max(1, len(chosen) - 1)
            marks.append(Line(name=f"generation {curve.generation}", x=x, y=y, opacity=opacity))
        x_axis = linear("epoch", [0, *(value for mark in marks for value in mark.x)], from_zero=True)
        y_axis = linear("training error", [value for mark in marks for value in mark.y])
        panels.append(Panel(x=x_axis, y=y_axis, marks=marks, height=300))
    records = [record for record in result.history if "epochs" in record.info]
    records = [records[i] for i in thinned(len(records), 400).tolist()] if records else []
    x = [record.generation for record in records]
    for name, title in (("epochs", "epochs"), ("error", "error at the end")):
        y = [float(record.info.get(name, math.nan)) for record in records]
        if any(map(math.isfinite, y)):
            line = Line(name="", x=x, y=y, color=TEAL, marked=range(len(x)) if len(x) < 60 else ())
            y_axis = linear(title, [0.0, *y], from_zero=True)
            panels.append(Panel(x=linear("generation", x), y=y_axis, marks=[line], height=300))
    return Figure(name="training", panels=panels, title=_title(result)) if panels else None


# ---------------------------------------------------------------- populations


def bit_order(linkage: Linkage | None, variables: Variables) -> NDArray[np.intp]:
    """Return the bits in an order in which those of interacting variables are neighbors."""
    if linkage is None:
        return np.arange(len(variables.of_bit))
    place = np.empty(len(variables.labels), np.intp)
    place[linkage.order] = np.arange(len(linkage.order))
    return np.argsort(place[variables.of_bit], kind="stable")


def decisions(trace: Trace, variables: Variables, order: NDArray[np.intp]) -> Figure:
    """Return a figure of the entropy of each variable over the generations."""
    looks = thinned(len(trace.generations), MOST_CELLS)
    starts = bins(len(order))
    shares = _means(trace.entropy()[looks][:, order], starts)
    names = bin_names([variables.bit_labels[i] for i in order.tolist()], starts)
    panel = Panel(
        x=categories([f"{one:,}" for one in trace.generations[looks].tolist()], "generation"),
        y=categories(names, is_flipped=True),
        marks=[Cells(percent=percent(shares.T))],
        height=int(min(620, max(220, 70 + 12 * len(names)))),
    )
    return Figure(name="decisions", panels=[panel])


def _means(values: NDArray[np.floating], starts: NDArray[np.intp]) -> NDArray[np.floating]:
    """Return the means of columns that share a bin."""
    return np.add.reduceat(values, starts, axis=1) / np.diff(np.append(starts, values.shape[1]))


def population(result: Result, *, order: NDArray[np.intp] | None = None) -> Figure:
    """Return a figure of the candidates in the population at the start, in the middle and at the end, best on top.

    Parameters
    ----------
    result
        Result of a run.
    order
        Order of the bits, shape (n,). Default: bits of interacting variables are neighbors.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> len(daedal.plot.population(result).panels)
    3
    """
    trace, variables = _trace(result), variables_of(result)
    if order is None:
        order = bit_order(learned_linkage(result, variables), variables)
    starts = bins(len(order))
    names = bin_names([variables.bit_labels[i] for i in order.tolist()], starts)
    panels = []
    for look in trace.shown_looks():
        rows, values = trace.population(look)
        if len(rows):
            shares = _means(rows[:, order].astype(np.float32), starts)
            labels = [f"candidate {k} ({value:.7g})" for k, value in enumerate(values.tolist(), start=1)]
            panels.append(
                Panel(
                    x=categories(names, is_labeled=False),
                    y=categories(labels, is_flipped=True, is_labeled=False),
                    marks=[Cells(percent=percent(shares), has_scale=False)],
                    title=f"Generation {trace.generations[look]:,}, best {values[0]:.7g}",
                    height=300,
                )
            )
    if not panels:
        raise ValueError("the trace of the result has no population yet; wait for the end of a generation")
    return Figure(name="population", panels=panels, title=_title(result))


def _trace(result: Result) -> Trace:
    if result.trace is None:
        raise ValueError("the result has no trace: this run did not record its populations")
    return result.trace


# ---------------------------------------------------------------- variables


def linkage(result: Result) -> Figure:
    """Return a figure of how strongly pairs of variables interact; interacting ones are neighbors, groups have a frame.

    Parameters
    ----------
    result
        Result of a run that evaluated enough candidates to tell.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> daedal.plot.linkage(result).panels[0].marks[0].percent.shape
    (16, 16)
    """
    variables = variables_of(result)
    found = learned_linkage(result, variables)
    if found is None:
        raise ValueError(
            f"the run evaluated too few candidates to tell which variables interact, and {result.algorithm} does not "
            "model interactions; evaluate more of them"
        )
    panel = linkage_panel(found, found.order, variables, "Strength of interactions")
    return Figure(name="linkage", panels=[panel], title=_title(result))


def linkage_panel(linkage: Linkage, order: NDArray[np.intp], variables: Variables, title: str = "") -> Panel:
    """Return a panel with the strength of each pair."""
    starts = bins(len(order))
    strength = linkage.strength[np.ix_(order, order)]
    np.fill_diagonal(strength, 1.0)  # so that a group is a whole square
    binned = np.maximum.reduceat(np.maximum.reduceat(strength, starts, axis=0), starts, axis=1)
    names = bin_names([variables.labels[i] for i in order.tolist()], starts)
    return Panel(
        x=categories(names),
        y=categories(names, is_flipped=True),
        marks=[Cells(percent=percent(binned))],
        title=title,
        frames=_frames(linkage.groups, order, starts),
        is_square=True,
    )


def _frames(
    groups: Sequence[tuple[int, ...]], order: NDArray[np.intp], starts: NDArray[np.intp]
) -> list[tuple[float, float]]:
    """Return the first and the last place of each group whose variables are neighbors."""
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    frames = []
    for group in groups[:_MOST_FRAMES]:
        first, last = (np.searchsorted(starts, np.sort(place[list(group)])[[0, -1]], side="right") - 1).tolist()
        if len(starts) < len(place) or last - first == len(group) - 1:
            frames.append((float(first), float(last)))
    return frames


def importance(result: Result) -> Figure:
    """Return a figure of how much worse the best value gets if a variable changes, for the most important variables.

    A solid bar is exact: only this variable changes. A hollow bar is a bound from the best candidate that differs in
    this variable. No candidate is evaluated for it.

    Parameters
    ----------
    result
        Result of a run.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=500, seed=1)
    >>> daedal.plot.importance(result).panels[0].y.title
    'worse by'
    """
    _trace(result)
    variables = variables_of(result)
    found = losses(result, variables)
    if found is None or not len(known := ranked(found[0])):
        raise ValueError("the run evaluated no candidate that differs from the best one; evaluate more of them")
    loss, exact = found
    chosen = known[:MOST_BARS]
    names = [variables.labels[i] for i in chosen.tolist()]
    is_lying = max(map(len, names)) > _SHORT_NAME
    marks = []
    for is_exact, name in ((True, "only this variable changes"), (False, "best candidate that differs in it")):
        at = np.flatnonzero(exact[chosen] == is_exact)
        if len(at):
            ends = loss[chosen[at]].tolist()
            marks.append(Bars(name=name, at=at.tolist(), ends=ends, is_hollow=not is_exact, is_lying=is_lying))
    named, worse = categories(names, is_flipped=is_lying), linear("worse by", [0.0, *loss[chosen]], from_zero=True)
    panel = Panel(
        x=worse if is_lying else named,
        y=named if is_lying else worse,
        marks=marks,
        height=70 + _BAR * len(names) if is_lying else 280,
    )
    return Figure(name="importance", panels=[panel], title=_title(result))
