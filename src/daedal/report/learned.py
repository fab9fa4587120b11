"""What a run has learned of its problem: which variables are decided, which hang together, which matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daedal.report.figures import (
    BLUE,
    LONGEST_LABEL,
    MOST_CELLS,
    axis,
    bin_labels,
    bins,
    distinct,
    heat_map,
    numbers,
    percent,
    thinned,
)
from daedal.report.markup import bullets, drawn, escaped, paragraph
from daedal.report.page import Figure, Part, Row, Section
from daedal.result import Result, Trace
from daedal.result.variables import Linkage, Variables, losses, ranked
from daedal.types import Json

_MOST_BARS = 60
_LONGEST_BELOW = 5  # letters of a name below its bar; beyond, bars lie, and names stand before them
_BAR = 18  # pixels, of a bar that lies
_OPENED = 0.1  # more entropy than a generation before, of all variables in the mean: they are others
_MOST_OUTLINES = 80
_SOURCES = {"linkage": "Read off from ", "belief": "What the search itself believed: "}
_BARE: dict[str, Json] = {"showgrid": False, "zeroline": False, "ticks": "", "ticklen": 0}


def bit_order(linkage: Linkage | None, variables: Variables) -> NDArray[np.intp]:
    """Give the bits in an order in which those of variables that hang together stand side by side."""
    if linkage is None:
        return np.arange(len(variables.of_bit))
    place = np.empty(len(variables.labels), np.intp)
    place[linkage.order] = np.arange(len(linkage.order))
    return np.argsort(place[variables.of_bit], kind="stable")


def entropy(result: Result, variables: Variables, order: NDArray[np.intp]) -> Section | None:
    """Show when each variable was decided."""
    trace = result.trace
    if trace is None or not len(trace.generations):
        return None
    looks = thinned(len(trace.generations), MOST_CELLS)
    starts = bins(result.n)
    shares = np.add.reduceat(trace.entropy()[looks][:, order], starts, axis=1) / _widths(starts, result.n)
    cells = percent(shares.T)
    generations: list[Json] = trace.generations[looks].tolist()
    names = bin_labels([variables.bit_labels[i] for i in order.tolist()], starts)
    data = heat_map(cells, x=generations, y=names, hover="%{y}, generation %{x}: %{z} %")
    layout: dict[str, Json] = {
        "height": int(min(620, max(220, 90 + 9 * len(names)))),
        "xaxis": axis("generation", **_BARE, **({"dtick": 1} if len(looks) < 12 else {})),
        "yaxis": axis("", type="category", autorange="reversed", **_BARE),
        "margin": {"t": 12},
    }
    decided = int((trace.entropy()[-1] < 0.05).sum())
    said = (
        "Entropy of each variable in the population: 100 % is open, as many ones as zeros; 0 % is decided. "
        f"At the end {decided:,} of {result.n:,} {'bits' if result.space is not None else 'variables'} were decided."
        f"{_begun_anew(trace)}"
    )
    parts: list[Part] = [paragraph(said), Figure(name="entropy", data=[data], layout=layout)]
    return Section("entropy", "When variables were decided", [*parts, *_binned(result.n, starts)])


def _begun_anew(trace: Trace) -> str:
    """Say why variables are open again, where they are."""
    if np.diff(trace.entropy().mean(axis=1)).max(initial=0.0) < _OPENED:
        return ""
    return (
        " Where they are open again, the search has begun a new population; the last one need not hold the best "
        "solution."
    )


def _widths(starts: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    return np.diff(np.append(starts, n))


def _binned(n: int, starts: NDArray[np.intp]) -> list[Part]:
    """Say that neighbours share a line, where they do."""
    if len(starts) == n:
        return []
    return [
        paragraph(f"{n:,} are too many to be drawn: each line stands for {starts[1]:,} neighbours.", kind="soft small")
    ]


def population(result: Result, variables: Variables, order: NDArray[np.intp]) -> Section | None:
    """Show the population at the start, in the middle and at the end."""
    trace = result.trace
    if trace is None or not len(trace.rows):
        return None
    starts = bins(result.n)
    names = bin_labels([variables.bit_labels[i] for i in order.tolist()], starts)
    figures = [
        _rows(trace, look, order, starts, names) for look in trace.shown_looks() if len(trace.population(look)[0])
    ]
    ordered = not np.array_equal(order, np.arange(len(order)))
    beside = " Columns of variables that hang together stand side by side." if ordered else ""
    said = f"Rows of the population, best on top; blue is a one.{beside}{_without_best(result, trace)}"
    return Section("population", "The population", [paragraph(said), Row(figures), *_binned(result.n, starts)])


def _without_best(result: Result, trace: Trace) -> str:
    """Say why the last population is worse than the answer, and than means of generations, where it is."""
    values = trace.population(-1)[1]
    if not len(values) or not (values.min() > result.fitness if result.minimize else values.max() < result.fitness):
        return ""
    return (
        " These are the rows that the search keeps; the mean of a generation is that of the rows evaluated in it. "
        "Where the search has begun a new population, the last one need not hold the best solution."
    )


def _rows(trace: Trace, look: int, order: NDArray[np.intp], starts: NDArray[np.intp], names: Sequence[Json]) -> Figure:
    rows, values = trace.population(look)
    shares = np.add.reduceat(rows[:, order].astype(np.float32), starts, axis=1) / _widths(starts, len(order))
    y: list[Json] = [f"row {row} ({value:.7g})" for row, value in enumerate(values.tolist(), start=1)]
    data = heat_map(percent(shares), x=names, y=y, hover="%{y}<br>%{x}: %{z} %", scale="bits")
    data["showscale"] = False
    layout: dict[str, Json] = {
        "height": 300,
        "xaxis": axis("", type="category", showticklabels=False, automargin=False, **_BARE),
        "yaxis": axis("", type="category", autorange="reversed", showticklabels=False, automargin=False, **_BARE),
        "margin": {"l": 0, "r": 0, "t": 4, "b": 8},
    }
    caption = f"Generation {trace.generations[look]:,}: {len(rows):,} rows, best {values[0]:.7g}"
    return Figure(name=f"population-{look}", data=[data], layout=layout, caption=escaped(caption))


def linkage_section(
    result: Result, linkage: Linkage | None, believed: Linkage | None, variables: Variables
) -> Section | None:
    """Show which variables hang together, and say it; beside it what the search itself believed."""
    title = "What hangs together"
    if linkage is None:
        said = "Too little was evaluated to tell."
        return None if result.trace is None else Section("linkage", title, [paragraph(said)])
    words = linkage.sentences(variables.labels)
    if not linkage.groups:  # what is left is chance, and would look like more on a map
        source = paragraph(f"{_SOURCES['linkage']}{linkage.source}.", kind="soft small")
        return Section("linkage", title, [paragraph(words[0]), source])
    shown = {"linkage": linkage}
    if believed is not None and believed.source != linkage.source and believed.strength.any():
        shown["belief"] = believed
    figures = [_linkage_map(name, one, linkage.order, variables) for name, one in shown.items()]
    order = paragraph("Variables that hang together stand side by side; 100 % is the strongest pair.", kind="soft")
    maps = Row(figures) if len(figures) > 1 else figures[0]
    return Section(
        "linkage", title, [bullets(words), order, maps, *_binned(len(linkage.order), bins(len(linkage.order)))]
    )


def _linkage_map(name: str, linkage: Linkage, order: NDArray[np.intp], variables: Variables) -> Figure:
    starts = bins(len(order))
    strength = linkage.strength[np.ix_(order, order)]
    np.fill_diagonal(strength, 1.0)  # so that a group is a whole square
    binned = np.maximum.reduceat(np.maximum.reduceat(strength, starts, axis=0), starts, axis=1)
    names = bin_labels([variables.labels[i] for i in order.tolist()], starts)
    data = heat_map(percent(binned), x=names, y=names, hover="%{x} and %{y}: %{z} %")
    layout: dict[str, Json] = {
        "height": 640,
        "meta": {"square": True},
        "xaxis": axis("", type="category", constrain="domain", **_BARE),
        "yaxis": axis("", type="category", autorange="reversed", scaleanchor="x", constrain="domain", **_BARE),
        "shapes": _outlines(linkage.groups, order, starts),
        "margin": {"t": 12},
    }
    return Figure(name=name, data=[data], layout=layout, caption=escaped(f"{_SOURCES[name]}{linkage.source}."))


def _outlines(groups: Sequence[tuple[int, ...]], order: NDArray[np.intp], starts: NDArray[np.intp]) -> list[Json]:
    """Draw a square around each group, as far as its variables stand side by side."""
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    shapes: list[Json] = []
    for group in groups[:_MOST_OUTLINES]:
        ends = np.searchsorted(starts, np.sort(place[list(group)])[[0, -1]], side="right") - 1
        if len(starts) == len(place) and ends[1] - ends[0] != len(group) - 1:
            continue
        low, high = float(ends[0]) - 0.5, float(ends[1]) + 0.5
        shapes.append(
            {"type": "rect", "x0": low, "x1": high, "y0": low, "y1": high, "line": {"color": "#d9822b", "width": 1.5}}
        )
    return shapes


def importance(result: Result, variables: Variables) -> Section | None:
    """Show how much worse the best value gets where a variable is another."""
    found = losses(result, variables)
    if found is None:
        return None
    loss, exact = found
    known = ranked(loss)
    parts: list[Part] = []
    if len(known):
        chosen = known[:_MOST_BARS]
        parts = [
            paragraph(_importance_words(exact[chosen], len(known))),
            _importance_bars(loss, exact, chosen, variables),
        ]
    if len(hard := np.flatnonzero(np.isposinf(loss))):
        names = ", ".join(variables.labels[i] for i in hard[:20].tolist()) + (", ..." if len(hard) > 20 else "")
        parts.append(paragraph(f"Nothing feasible was seen with another value of {names}."))
    return Section("importance", "What matters to the best value", parts) if parts else None


def _importance_words(exact: NDArray[np.bool_], known: int) -> str:
    full = (
        "A full bar: the variable alone was changed, and the value got so much worse, or would have, says a model that "
        "explains all rows evaluated."
    )
    hollow = (
        "A hollow bar: the best solution seen in which the variable has another value is so much worse; one that "
        "nobody has seen may be better."
    )
    some = f" These are the strongest {len(exact)} of {known:,}." if known > len(exact) else ""
    kinds = [text for text, there in ((full, exact.any()), (hollow, not exact.all())) if there]
    return f"{' '.join(kinds)} All of it is from evaluations that were made anyway.{some}"


def _importance_bars(
    loss: NDArray[np.float64], exact: NDArray[np.bool_], chosen: NDArray[np.intp], variables: Variables
) -> Figure:
    labels = [variables.labels[i] for i in chosen.tolist()]
    names = distinct([drawn(label, LONGEST_LABEL) for label in labels])
    lying = max(map(len, distinct(labels))) > _LONGEST_BELOW
    along, across = ("y", "x") if lying else ("x", "y")
    data: list[dict[str, Json]] = []
    for is_exact, name in ((True, "changed alone"), (False, "best with another value")):
        part = exact[chosen] == is_exact
        if not part.any():
            continue
        data.append(
            {
                "type": "bar",
                "name": name,
                "orientation": "h" if lying else "v",
                along: [one for one, there in zip(names, part.tolist(), strict=True) if there],
                across: numbers(loss[chosen[part]].tolist()),
                "marker": {"color": BLUE if is_exact else "rgba(0,0,0,0)", "line": {"color": BLUE, "width": 1.2}},
                "hovertemplate": f"%{{{along}}}: %{{{across}}} worse<extra></extra>",
            }
        )
    named = axis("", type="category", categoryorder="array", categoryarray=[*names], showgrid=False)
    if lying:
        named |= {"autorange": "reversed", "dtick": 1}  # the first on top, and each with its name
    layout: dict[str, Json] = {
        "height": 90 + _BAR * len(names) if lying else 300 + 6 * max(map(len, names)),
        "bargap": 0.25,
        "showlegend": len(data) > 1,
        f"{along}axis": named,
        f"{across}axis": axis("worse by"),
    }
    return Figure(name="importance", data=data, layout=layout)
