"""Numbers beside points: as many as there is room for, so that none lies on another."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 6.5  # points, of a letter
_WIDE, _HIGH = 0.66, 1.15  # of a letter, in its size
_AROUND = 4.0  # points from the middle of a marker to its edge
_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


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

    The limits of the axes, and the layout of the figure, have to be final.
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
    for place in sorted(range(len(labels)), key=lambda k: (labels[k].rank, k)):
        label, (x, y) = labels[place], spots[place]
        if not label.text or not (math.isfinite(x) and math.isfinite(y)):
            continue
        width, height = _SIZE * _WIDE * len(label.text), _SIZE * _HIGH
        for right, up in _SIDES:
            away = (right * (_AROUND + 1 + width / 2), up * (_AROUND + 0.5 + height / 2))
            centre = (x + away[0], y + away[1])
            box = (centre[0] - width / 2, centre[1] - height / 2, centre[0] + width / 2, centre[1] + height / 2)
            if _inside(box, room) and not any(_overlap(box, other) for other in taken):
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
                break


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(box: Box, room: Box) -> bool:
    return box[0] >= room[0] and box[1] >= room[1] and box[2] <= room[2] and box[3] <= room[3]
