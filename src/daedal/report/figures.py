"""What figures are made of: axes, lines, and heat maps whose cells are bytes, so that pages stay small."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from daedal.report.markup import drawn
from daedal.result.wording import short_number
from daedal.types import Json

BLUE, ORANGE, TEAL, RED, VIOLET, GREEN, PINK, GREY = (
    "#3f7fbd", "#d9822b", "#2a9d8f", "#c8553d", "#8a6bbd", "#7a9a2e", "#c76a9d", "#8a94a3",
)  # fmt: skip
"""Colours that can be told from white paper and from black, and mostly from each other."""

COLOURS = (BLUE, ORANGE, TEAL, RED, VIOLET, GREEN, PINK)
DASHES = ("solid", "dash", "dot", "dashdot")
MOST_POINTS = 2000  # of a line: more than a screen has columns
_MOST_TICKS = 8
_FEW_DECADES = 2.2  # there is room for labels in between
LONGEST_LABEL = 24  # letters beside an axis: the figure needs the room
MOST_CELLS = 500  # of a heat map, in each direction


def numbers(values: Iterable[float | None]) -> list[Json]:
    """Give numbers as JSON has them, to seven digits: null for what is not finite, and no -0."""
    return [None if value is None or not math.isfinite(value) else float(f"{value:.7g}") + 0.0 for value in values]


def axis(title: str, **more: Json) -> dict[str, Json]:
    """Give an axis with a title."""
    return {"title": {"text": drawn(title), "standoff": 8}, **more}


def log_axis(title: str, values: Iterable[float], *, at: Sequence[float] | None = None) -> dict[str, Json]:
    """Give a logarithmic axis around some values, with labels that can be read: 200, 500, 1k; or at places given."""
    positive = [value for value in values if math.isfinite(value) and value > 0] or [1.0, 10.0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    room = max(0.05 * (high - low), 0.02)
    shown = _log_ticks(low - room, high + room) if at is None else at
    shown = [value for value in shown if low - room <= math.log10(value) <= high + room]
    if len(shown) < 2:
        shown = [10**low] if low == high else [10**low, 10**high]
    return axis(
        f"{title} (log)",
        type="log",
        range=[low - room, high + room],
        tickvals=numbers(shown),
        ticktext=[short_number(value, 3) for value in shown],
    )


def _log_ticks(low: float, high: float) -> list[float]:
    """Give round numbers between two powers of ten: ever more of them, until there are two."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    if high - low > _FEW_DECADES:
        return [10.0**power for power in powers[:: max(1, len(powers) // _MOST_TICKS)]]
    shown: list[float] = []
    for steps in ((1, 2, 5), range(1, 10), range(10, 100)):
        # Read from text: 3 * 10.0**-3 is not 0.003.
        values = sorted({float(f"{step}e{power}") for power in powers for step in steps})
        shown = [value for value in values if low <= math.log10(value) <= high]
        if len(shown) >= 2:
            break
    return shown[:: -(-len(shown) // _MOST_TICKS) or 1]


def line(x: Sequence[Json], y: Sequence[Json], name: str, colour: str, **more: Json) -> dict[str, Json]:
    """Give a line of a figure; its name may be anybody's text."""
    given: dict[str, Json] = {
        "type": "scatter",
        "mode": "lines",
        "name": drawn(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2},
    }
    for key, value in more.items():
        kept = given.get(key)
        given[key] = {**kept, **value} if isinstance(kept, dict) and isinstance(value, dict) else value
    return given


def band(x: Sequence[Json], low: Sequence[Json], high: Sequence[Json], name: str, colour: str) -> list[dict[str, Json]]:
    """Give what lies between two lines, as a wash of a colour."""
    plain: dict[str, Json] = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    washed: dict[str, Json] = {"fill": "tonexty", "fillcolor": f"{colour}2e", "showlegend": bool(name)}
    return [line(x, low, "", colour, **plain), line(x, high, name, colour, **{**plain, **washed})]


def level(value: float, text: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """Give a dashed line across the figure at a value, and the text that stands above it at its left end."""
    shape: dict[str, Json] = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": value, "y1": value,
        "line": {"color": GREY, "width": 1.2, "dash": "dash"},
    }  # fmt: skip
    note: dict[str, Json] = {
        "xref": "paper", "x": 0.005, "xanchor": "left", "yref": "y", "y": value, "yanchor": "bottom",
        "text": drawn(text), "showarrow": False, "font": {"size": 11, "color": GREY},
    }  # fmt: skip
    return shape, note


def heat_map(
    cells: NDArray[np.uint8], *, x: Sequence[Json], y: Sequence[Json], hover: str, scale: str = "amount", top: int = 100
) -> dict[str, Json]:
    """Give a heat map of bytes from 0 to `top`, shape (rows, columns), the first row on top where axes say so."""
    rows, columns = cells.shape
    return {
        "type": "heatmap",
        "z": {
            "dtype": "u1",
            "bdata": base64.b64encode(np.ascontiguousarray(cells).tobytes()).decode(),
            "shape": f"{rows}, {columns}",
        },
        "x": list(x),
        "y": list(y),
        "zmin": 0,
        "zmax": top,
        "meta": {"scale": scale},  # the page has colours for dark and for light paper
        "hovertemplate": f"{hover}<extra></extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0, "ticksuffix": " %", "tickfont": {"size": 11}},
    }


def percent(shares: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Give shares from 0 to 1 as whole percents; what is no number counts as none."""
    found: NDArray[np.uint8] = np.rint(100 * np.clip(np.nan_to_num(shares), 0.0, 1.0)).astype(np.uint8)
    return found


def thinned(points: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Give the places of at most so many of some points, evenly, with the first and the last."""
    return np.unique(np.linspace(0, points - 1, min(points, most)).round().astype(np.intp))


def bins(columns: int, most: int = MOST_CELLS) -> NDArray[np.intp]:
    """Give where at most so many bins of equal width begin, shape (bins,)."""
    return np.arange(0, columns, -(-columns // most))


def bin_labels(labels: Sequence[str], starts: NDArray[np.intp]) -> list[Json]:
    """Name bins of labels after their first and last; each name is there once, and can be shown."""
    ends = [*starts[1:].tolist(), len(labels)]
    named = [
        labels[first] if end == first + 1 else f"{labels[first]} to {labels[end - 1]}"
        for first, end in zip(starts.tolist(), ends, strict=True)
    ]
    return [*distinct([drawn(name, LONGEST_LABEL) for name in named])]


def distinct(names: Sequence[str]) -> list[str]:
    """Give names with numbers behind those that come again: an axis has each of them once.

    Examples
    --------
    >>> distinct(["a", "a", "a (2)"])
    ['a', 'a (2)', 'a (2) (2)']
    """
    found: dict[str, None] = {}
    for name in names:
        candidates = chain([name], (f"{name} ({number})" for number in count(2)))
        found[next(one for one in candidates if one not in found)] = None
    return list(found)
