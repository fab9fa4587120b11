"""Numbers beside points: as many as there is room for, so that none lies on another."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 6.5  # points, of a letter
_WIDE, _HIGH = 0.66, 1.15  # of a letter, in its size
_AROUND = 4.0  # points from the middle of a marker to its edge
_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""

Segment = tuple[float, float, float, float]
"""From x and y, to x and y, in points."""


@dataclass(frozen=True)
class Label:
    """A text for a point, its colour, and how much it matters that it is there: 0 is most."""

    x: float
    y: float
    text: str
    colour: str
    rank: int


def draw_labels(axes: Axes, labels: Sequence[Label]) -> None:
    """Write labels beside their points, the important ones first, each on the first side where there is room.

    A side that no line runs through comes before one that some do. The limits of the axes, and the layout of the
    figure, have to be final.
    """
    effects = importlib.import_module("matplotlib.patheffects")
    halo = [effects.withStroke(linewidth=2.0, foreground="white", alpha=0.8)]  # a line may run through it
    scale = 72.0 / axes.figure.dpi
    spots = [axes.transData.transform((label.x, label.y)) * scale for label in labels]
    taken: list[Box] = [(x - _AROUND, y - _AROUND, x + _AROUND, y + _AROUND) for x, y in spots]
    window = axes.get_window_extent()
    room: Box = (window.x0 * scale, window.y0 * scale, window.x1 * scale, window.y1 * scale)
    for text in axes.texts:  # what there is to reach has a name
        found = text.get_window_extent()
        taken.append((found.x0 * scale, found.y0 * scale, found.x1 * scale, found.y1 * scale))
    lines = _segments(axes, scale)
    for place in sorted(range(len(labels)), key=lambda k: (labels[k].rank, k)):
        label, (x, y) = labels[place], spots[place]
        if not label.text or not (math.isfinite(x) and math.isfinite(y)):
            continue
        width, height = _SIZE * _WIDE * len(label.text), _SIZE * _HIGH
        free: list[tuple[int, tuple[float, float], Box]] = []
        for right, up in _SIDES:
            away = (right * (_AROUND + 1 + width / 2), up * (_AROUND + 0.5 + height / 2))
            centre = (x + away[0], y + away[1])
            box = (centre[0] - width / 2, centre[1] - height / 2, centre[0] + width / 2, centre[1] + height / 2)
            if _inside(box, room) and not any(_overlap(box, other) for other in taken):
                free.append((sum(_crosses(line, box) for line in lines), away, box))
        if not free:
            continue
        _, away, box = min(free, key=lambda one: one[0])
        taken.append(box)
        axes.annotate(
            label.text,
            (label.x, label.y),
            xytext=away,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_SIZE,
            color=label.colour,
            gid="popsize",
            path_effects=halo,
            zorder=4,
        )


def _segments(axes: Axes, scale: float) -> list[Segment]:
    """Give the pieces of all lines of some axes, in points."""
    found: list[Segment] = []
    for line in axes.get_lines():
        if line.get_linestyle() not in ("None", "none", ""):
            corners = (line.get_transform().transform(line.get_xydata()) * scale).tolist()
            found += [(*start, *end) for start, end in pairwise(corners) if all(map(math.isfinite, (*start, *end)))]
    return found


def _crosses(line: Segment, box: Box) -> bool:
    """Whether a piece of a line runs through a box: whether any of it is left once it is cut at all four sides."""
    x, y, x_end, y_end = line
    first, last = 0.0, 1.0  # what is left, as shares of its length
    for start, step, low, high in ((x, x_end - x, box[0], box[2]), (y, y_end - y, box[1], box[3])):
        if step == 0:
            if not low < start < high:
                return False
            continue
        cuts = sorted(((low - start) / step, (high - start) / step))
        first, last = max(first, cuts[0]), min(last, cuts[1])
    return first < last


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(box: Box, room: Box) -> bool:
    return box[0] >= room[0] and box[1] >= room[1] and box[2] <= room[2] and box[3] <= room[3]
