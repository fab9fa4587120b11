"""How a run went: its values generation by generation, what it evaluated, where the time went, how networks learned."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daedal.report.answer import seconds
from daedal.report.figures import BLUE, COLOURS, ORANGE, TEAL, axis, band, level, line, numbers, thinned
from daedal.report.markup import paragraph
from daedal.report.page import Figure, Part, Row, Section
from daedal.result import Result
from daedal.result.trace import best_curve, best_found
from daedal.types import Json

_MOST_BARS = 200
_MOST_CURVES = 8
_SHORT = 0.1  # seconds, below which milliseconds are easier to read
_ROOM = 1.03  # of the evaluations made: the last step, which may be the one to the optimum, is seen


def progress(result: Result) -> Section | None:
    """Show best, mean and spread of each generation."""
    if not result.history:
        return None
    records = [result.history[i] for i in thinned(len(result.history)).tolist()]
    x = numbers(record.evaluations for record in records)
    mean = [record.mean for record in records]
    spread = [math.nan if record.sd is None else record.sd for record in records]
    low, high = (numbers(m + side * s for m, s in zip(mean, spread, strict=True)) for side in (-1, 1))
    data: list[dict[str, Json]] = []
    known = any(value is not None for value in low)
    marks: dict[str, Json] = {"mode": "lines" if len(records) > 1 else "lines+markers"}
    bar: dict[str, Json] = {}
    if known and len(records) > 1:
        data += band(x, low, high, "mean ± sd", ORANGE)
    elif known:  # a band of one generation would not be seen
        bar = {"error_y": {"array": numbers(spread), "thickness": 1.2, "width": 4}}
    data.append(line(x, numbers(mean), "mean of the generation", ORANGE, line={"width": 1.5}, **marks, **bar))
    at, best = zip(*best_curve(result, records), strict=True)
    data.append(line(numbers(at), numbers(best), "best so far", BLUE, line={"shape": "hv"}, **marks))
    if len(records) > 1 and (found := best_found(result, records)) is not None:
        there: dict[str, Json] = {"mode": "markers", "marker": {"size": 8}, "cliponaxis": False}
        data.append(line([found[0]], numbers([found[1]]), "", BLUE, showlegend=False, hoverinfo="skip", **there))
    shapes, notes = _goals(result)
    worse = " (smaller is better)" if result.minimize else ""
    layout: dict[str, Json] = {
        "height": 380,
        "hovermode": "x unified",
        "legend": {"traceorder": "reversed"},
        "xaxis": axis("evaluations", range=[0, _ROOM * max(at)]),
        "yaxis": axis(f"value{worse}"),
        "shapes": shapes,
        "annotations": notes,
    }
    parts: list[Part] = [Figure(name="progress", data=data, layout=layout)]
    if not any(map(math.isfinite, best)):
        parts.insert(0, paragraph("No generation has found anything feasible, so there is nothing to draw."))
    return Section("progress", "How the values rose" if not result.minimize else "How the values fell", parts)


def _goals(result: Result) -> tuple[list[Json], list[Json]]:
    goals = {"target": result.limits.target, "optimum": result.optimum}
    found = [level(value, name) for name, value in goals.items() if value is not None and math.isfinite(value)]
    return [shape for shape, _ in found], [note for _, note in found]


def effort(result: Result) -> Section | None:
    """Show how many evaluations a batch has, and where the time of each generation goes."""
    history = result.history
    if not history:
        return None
    gained = {
        name: np.diff([getattr(record, name) for record in history], prepend=0)
        for name in ("evaluations", "batches", "seconds", "objective_seconds")
    }
    starts = np.arange(0, len(history), -(-len(history) // _MOST_BARS))
    summed = {name: np.add.reduceat(values, starts) for name, values in gained.items()}
    x: list[Json] = [history[i].generation for i in starts.tolist()]
    wide = -(-len(history) // _MOST_BARS)
    each = "generation" if wide == 1 else f"{wide:,} generations"
    figures: list[Figure] = []
    if history[-1].batches:
        rows = summed["evaluations"] / np.maximum(summed["batches"], 1)
        figures.append(_bars("batches", x, {"evaluations per batch": (rows, TEAL)}, "evaluations per batch"))
    total, called = history[-1].seconds, history[-1].objective_seconds
    if total > 0:
        unit, size = ("seconds", 1.0) if summed["seconds"].max() >= _SHORT else ("milliseconds", 1e3)
        both = {
            "objective": (size * summed["objective_seconds"], BLUE),
            "search": (size * np.maximum(summed["seconds"] - summed["objective_seconds"], 0.0), ORANGE),
        }
        figures.append(_bars("time", x, both, f"{unit} per {each}"))
    if not figures:
        return None
    return Section("effort", "Where the time goes", [*_time_words(result, total, called), Row(figures)])


def _time_words(result: Result, total: float, called: float) -> list[Part]:
    if total <= 0:
        return []
    share = min(1.0, called / total)
    took = f"{_percent(share)} of {seconds(total)} ({seconds(called / max(1, result.evaluations))} a row)"
    advice = " More workers or `asynchronous=True` may help." if share > 0.5 and total > 10 else ""
    return [paragraph(f"The objective took {took}, the search {_percent(1 - share)}.{advice}")]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if not 0 < share < 0.01 else "less than 1 %"


def _bars(name: str, x: Sequence[Json], series: dict[str, tuple[NDArray[np.floating], str]], title: str) -> Figure:
    data: list[dict[str, Json]] = [
        {"type": "bar", "name": label, "x": list(x), "y": numbers(values.tolist()), "marker": {"color": colour}}
        for label, (values, colour) in series.items()
    ]
    layout: dict[str, Json] = {
        "height": 280,
        "barmode": "stack",
        "bargap": 0.15 if len(x) < 60 else 0,
        "hovermode": "x unified",
        "showlegend": len(series) > 1,
        "xaxis": axis("generation", **({"dtick": 1} if len(x) < 12 else {})),
        "yaxis": axis(title, rangemode="tozero"),
        "margin": {"t": 32 if len(series) > 1 else 12},
    }
    return Figure(name=name, data=data, layout=layout)


def training(result: Result) -> Section | None:
    """Show how networks learned, where any was trained."""
    figures = [one for one in (_curves(result), _epochs(result)) if one is not None]
    if not figures:
        return None
    said = paragraph("A network is trained in every generation: its error while it learned, and how long it did.")
    return Section("training", "How the network learned", [said, Row(figures)])


def _curves(result: Result) -> Figure | None:
    curves = () if result.trace is None else result.trace.curves
    if not curves:
        return None
    chosen = [curves[i] for i in thinned(len(curves), _MOST_CURVES).tolist()]
    data = []
    for number, curve in enumerate(chosen):
        part = thinned(len(curve.epochs), 400)
        colour = _between(number / max(1, len(chosen) - 1))
        x, y = numbers(curve.epochs[part].tolist()), numbers(curve.errors[part].tolist())
        data.append(line(x, y, f"generation {curve.generation}", colour, line={"width": 1.6}))
    layout: dict[str, Json] = {
        "height": 340,
        "xaxis": axis("epoch", rangemode="tozero"),
        "yaxis": axis("training error"),
    }
    return Figure(name="curves", data=data, layout=layout)


def _between(share: float) -> str:
    """Give a colour on the way from grey, for the first generation, to blue, for the last one."""
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in ("#c3ccd6", COLOURS[0])]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def _epochs(result: Result) -> Figure | None:
    records = [record for record in result.history if "epochs" in record.info]
    if not records:
        return None
    records = [records[i] for i in thinned(len(records), 400).tolist()]
    x: list[Json] = [record.generation for record in records]
    data: list[dict[str, Json]] = [
        {
            "type": "bar",
            "name": "epochs",
            "x": x,
            "y": numbers(record.info["epochs"] for record in records),
            "marker": {"color": BLUE},
        }
    ]
    layout: dict[str, Json] = {
        "height": 340,
        "hovermode": "x unified",
        "bargap": 0.15 if len(x) < 60 else 0,
        "xaxis": axis("generation", **({"dtick": 1} if len(x) < 12 else {})),
        "yaxis": axis("epochs", rangemode="tozero"),
    }
    errors = numbers(record.info.get("error", math.nan) for record in records)
    if any(error is not None for error in errors):
        data.append(line(x, errors, "error at the end", ORANGE, yaxis="y2", mode="lines+markers", marker={"size": 4}))
        layout["yaxis2"] = axis(
            "error", overlaying="y", side="right", rangemode="tozero", showgrid=False, tickmode="auto"
        )
        layout["margin"] = {"r": 56}
    return Figure(name="epochs", data=data, layout=layout)
