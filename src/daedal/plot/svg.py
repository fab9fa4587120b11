"""Draws figures as SVG: for reports, for notebooks, and for files."""

from __future__ import annotations

import base64
import html
import math
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.plot.figure import Axis, Bars, Cells, Figure, Line, Mark, Panel
from daedal.settings.checks import printable

COLORS = ("#3f7fbd", "#d9822b", "#2a9d8f", "#c8553d", "#8a6bbd", "#7a9a2e", "#c76a9d")
"""Colors that differ from white paper and from black, and mostly from each other."""

STYLE = "".join(
    [
        "text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#1c2430}.small{font-size:10.5px}.tiny{font-size:9.5px}",
        ".head{font-size:14px;font-weight:bold}.soft{fill:#5d6878}.own{fill:currentColor;paint-order:stroke;stroke:#fff;stroke-width:2px}.grid{stroke:#e3e7ec}",
        ".level{stroke:#8a94a3;stroke-width:1.2;stroke-dasharray:5 4}.paper{fill:#ffffff}",
        "image{image-rendering:pixelated}",
        *(f".k{number}{{color:{color}}}" for number, color in enumerate(COLORS)),
    ]
)
"""The style of a figure that stands alone."""

_DASHES = ("", "8 4", "2 3", "8 3 2 3")
_MARKERS = (  # in units of their radius, around 0
    "M-1 0A1 1 0 1 1 1 0 1 1 0 1 1-1 0Z",
    "M-.9-.9H.9V.9H-.9Z",
    "M0-1.1 1.1.9H-1.1Z",
    "M0-1.2 1.2 0 0 1.2-1.2 0Z",
    "M0 1.1 1.1-.9H-1.1Z",
    "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-1-.5-.5-1 0-.5.5-1 1-.5.5 0 1 .5.5 1 0 .5-.5 1-1 .5-.5 0Z",
)
_RADIUS = 3.6
_SIZE, _SMALL, _TINY = 12, 10.5, 9.5  # of letters, in pixels, as in the style
_LINE = 18  # height of a line of text
_LONGEST_NAME = 24  # letters of a name at an axis
_LONGEST_LEGEND = 44  # letters of a name in a legend
_SCALE = 52  # pixels that the scale of a heat map takes
_GAP = 28  # between panels
_ACROSS = 3  # panels in a row
_INK = bytes.fromhex(COLORS[0][1:])  # of heat maps: the color of 100%
_SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1), (1, 0), (-1, 0), (0, -1), (0, 1))


# ---------------------------------------------------------------- text


def escaped(value: object, most: int | None = None) -> str:
    """Return a text in one line as markup that shows it as it is, cut after `most` letters.

    Examples
    --------
    >>> escaped("<b>&", most=3)
    '&lt;b…'
    """
    text = printable(str(value))
    return html.escape(text if most is None or len(text) <= most else f"{text[: most - 1]}…")


def _width(text: str, size: float = _SIZE) -> float:
    """Return about how many pixels a text takes, rather too many than too few."""
    return size * sum(
        1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.36 if letter in "il.,:;|'!()[]" else 0.66
        for letter in text
    )  # fmt: skip


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "", turned: bool = False) -> str:
    """Return a text; `kind` are its classes of the style, and a turned one reads upwards."""
    look = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{look}{turn}>{escaped(text)}</text>'


# ---------------------------------------------------------------- panels


Area: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


@dataclass(frozen=True)
class Box:
    """The plotted part of a panel, in pixels, and its axes."""

    left: float
    top: float
    right: float
    bottom: float
    x_axis: Axis
    y_axis: Axis

    def x(self, value: float) -> float:
        """Return where a value is from the left; nan if it has no place."""
        return self.left + (self.right - self.left) * self.x_axis.share(value)

    def y(self, value: float) -> float:
        """Return where a value is from the top; nan if it has no place."""
        return self.bottom - (self.bottom - self.top) * self.y_axis.share(value)


def draw_panel(panel: Panel, width: int, series: Sequence[str] = ()) -> tuple[str, float, Box]:
    """Return a panel as SVG elements, its height, and the box of its marks; `series` are the names of the legend."""
    y_names = [(place, _cut(text, _LONGEST_NAME)) for place, text in panel.y.ticks]
    x_names = [(place, _cut(text, _LONGEST_NAME)) for place, text in panel.x.ticks]
    cells = next((mark for mark in panel.marks if isinstance(mark, Cells)), None)
    left = max((_width(text, _SMALL) for _, text in y_names), default=0.0) + 8 + (_LINE if panel.y.title else 0)
    right = width - (_SCALE if cells is not None and cells.has_scale else 10)
    longest = max((_width(text, _SMALL) for _, text in x_names), default=0.0)
    is_upright = bool(panel.x.names) and longest > (right - left) / max(1, len(x_names)) and longest > 26
    below = (longest + 8 if is_upright else _LINE if x_names else 4) + (_LINE if panel.x.title else 0)
    top = 10 + (_LINE if panel.title else 0)
    height = top + (right - left) + below if panel.is_square else float(panel.height)
    box = Box(left, top, right, height - below, panel.x, panel.y)
    parts = [_text(box.left, 13, panel.title)] if panel.title else []
    parts += _y_axis(box, y_names, bare=cells is not None) + _x_axis(box, x_names, height, is_upright, cells is None)
    for mark in panel.marks:
        group = f' data-series="{series.index(mark.name)}"' if mark.name in series else ""
        drawn = _line(box, mark) if isinstance(mark, Line) else _bars(box, mark) if isinstance(mark, Bars) else None
        parts.append(_cells(box, mark) if isinstance(mark, Cells) else f"<g{group}{drawn}</g>")
    levels, taken = _levels(box, panel.levels)
    parts += levels + _frames(box, panel.frames)
    parts += _labels(box, [mark for mark in panel.marks if isinstance(mark, Line)], taken)
    return "".join(parts), height, box


def _y_axis(box: Box, names: Sequence[tuple[float, str]], bare: bool) -> list[str]:
    parts = []
    if not bare and not box.y_axis.names:
        parts = [f'<path class="grid" d="M{box.left:.1f} {box.y(place):.1f}H{box.right:.1f}"/>' for place, _ in names]
    for place, text in _thinned(names, [box.y(place) for place, _ in names], [_SMALL + 1] * len(names)):
        parts.append(_text(box.left - 6, box.y(place) + 3.8, text, "small soft", anchor="end"))
    if box.y_axis.title:
        parts.append(_text(12, (box.top + box.bottom) / 2, box.y_axis.title, "soft", anchor="middle", turned=True))
    return parts


def _x_axis(box: Box, names: Sequence[tuple[float, str]], height: float, is_upright: bool, has_line: bool) -> list[str]:
    parts = [f'<path class="grid" d="M{box.left:.1f} {box.bottom:.1f}H{box.right:.1f}"/>'] if has_line else []
    places = [box.x(place) for place, _ in names]
    if has_line and not box.x_axis.names:
        parts += [f'<path class="grid" d="M{x:.1f} {box.top:.1f}V{box.bottom:.1f}"/>' for x in places]
    room = [_SMALL + 1 if is_upright else _width(text, _SMALL) + 6 for _, text in names]
    for place, text in _thinned(names, places, room):
        x = box.x(place)
        if is_upright:
            parts.append(_text(x + 3.8, box.bottom + 6, text, "small soft", anchor="end", turned=True))
        else:
            x = min(x, box.right + 10 - _width(text, _SMALL) / 2)  # the last label stays inside of the image
            parts.append(_text(x, box.bottom + 14, text, "small soft", anchor="middle"))
    if box.x_axis.title:
        parts.append(_text((box.left + box.right) / 2, height - 4, box.x_axis.title, "soft", anchor="middle"))
    return parts


def _thinned(
    names: Sequence[tuple[float, str]], places: Sequence[float], room: Sequence[float]
) -> Sequence[tuple[float, str]]:
    """Return every label, or every second, fifth, tenth, ..., so that each has the room that it needs."""
    for step in (factor * 10**power for power in range(6) for factor in (1, 2, 5)):
        kept = range(0, len(names), step)
        if all(abs(places[b] - places[a]) >= (room[a] + room[b]) / 2 for a, b in pairwise(kept)):
            return [names[k] for k in kept]
    return names[:1]


def _line(box: Box, line: Line) -> str:
    """Return the rest of a group: its attributes and what it holds."""
    points = [(box.x(x), box.y(y)) for x, y in zip(line.x, line.y, strict=True)]
    parts = []
    if line.low and line.has_bars:
        for (x, _), low, high in zip(points, map(box.y, line.low), map(box.y, line.high), strict=True):
            if math.isfinite(x + low + high):
                parts.append(f'<path stroke-width="1.6" opacity=".5" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
    elif line.low:
        edges = [(x, box.y(low), box.y(high)) for (x, _), low, high in zip(points, line.low, line.high, strict=True)]
        known = [edge for edge in edges if math.isfinite(sum(edge))]
        up = _path([(x, low) for x, low, _ in known], line.is_step)
        down = _path([(x, high) for x, _, high in known[::-1]], line.is_step, backwards=True)
        if len(known) > 1:
            parts.append(f'<path fill="currentColor" stroke="none" opacity=".18" d="{up}{down.replace("M", "L")}Z"/>')
    dash = f' stroke-dasharray="{_DASHES[line.dash % 4]}"' if line.dash % 4 else ""
    if len(points) > 1:
        parts.append(f'<path stroke-width="1.9"{dash} d="{_path(points, line.is_step)}"/>')
    shown = [k for k in line.marked if math.isfinite(sum(points[k]))]
    parts += [_marker(*points[k], line.marker, hollow=k in line.hollow) for k in shown]
    faint = f' opacity="{line.opacity:g}"' if line.opacity < 1 else ""
    return f' class="k{line.color}" fill="none" stroke="currentColor"{faint}>{"".join(parts)}'


def _path(points: Iterable[tuple[float, float]], is_step: bool, *, backwards: bool = False) -> str:
    """Return the path through points, broken where one has no place."""
    parts, is_open = list[str](), False
    for x, y in points:
        if not math.isfinite(x + y):
            is_open = False
        elif not is_open:
            parts.append(f"M{x:.1f} {y:.1f}")
            is_open = True
        elif is_step:
            parts.append(f"V{y:.1f}H{x:.1f}" if backwards else f"H{x:.1f}V{y:.1f}")
        else:
            parts.append(f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def _marker(x: float, y: float, kind: int, *, hollow: bool = False) -> str:
    look = f'class="paper" stroke-width="{1.5 / _RADIUS:.2f}"' if hollow else 'fill="currentColor" stroke="none"'
    shape = _MARKERS[kind % len(_MARKERS)]
    return f'<path transform="translate({x:.1f} {y:.1f})scale({_RADIUS})" d="{shape}" {look}/>'


def _bars(box: Box, bars: Bars) -> str:
    half = 0.4 if len(box.x_axis.names) + len(box.y_axis.names) < 80 else 0.5
    parts = []
    for place, start, end in zip(bars.at, bars.base or [0.0] * len(bars.at), bars.ends, strict=True):
        if bars.is_lying:
            x1, x2, y1, y2 = box.x(start), box.x(end), box.y(place - half), box.y(place + half)
        else:
            x1, x2, y1, y2 = box.x(place - half), box.x(place + half), box.y(start), box.y(end)
        if math.isfinite(x1 + x2 + y1 + y2):
            size = f'width="{abs(x2 - x1):.1f}" height="{abs(y2 - y1):.1f}"'
            parts.append(f'<rect x="{min(x1, x2):.1f}" y="{min(y1, y2):.1f}" {size}/>')
    look = 'fill="none" stroke="currentColor" stroke-width="1.2"' if bars.is_hollow else 'fill="currentColor"'
    return f' class="k{bars.color}" {look}>{"".join(parts)}'


def _levels(box: Box, levels: Sequence[tuple[float, str]]) -> tuple[list[str], list[Area]]:
    """Return dashed lines and their names, which never share a place, and the areas of the names."""
    parts, areas = [], []
    for k, (value, name) in enumerate(levels[:2]):
        y, wide = box.y(value), _width(name, _SMALL)
        left = box.left + 4 if k == 0 else box.right - 4 - wide
        base = y - 4 if y > box.top + 14 else y + 13
        parts.append(f'<path class="level" d="M{box.left:.1f} {y:.1f}H{box.right:.1f}"/>')
        parts.append(_text(left, base, name, "small soft"))
        areas.append((left, base - _SMALL, left + wide, base + 2))
    return parts, areas


def _frames(box: Box, frames: Sequence[tuple[float, float]]) -> list[str]:
    parts = []
    for first, last in frames:
        x1, x2 = box.x(first - 0.5), box.x(last + 0.5)
        y1, y2 = sorted((box.y(first - 0.5), box.y(last + 0.5)))
        size = f'width="{x2 - x1:.1f}" height="{y2 - y1:.1f}"'
        parts.append(f'<rect class="k1" fill="none" stroke="currentColor" x="{x1:.1f}" y="{y1:.1f}" {size}/>')
    return parts


# ---------------------------------------------------------------- heat maps


def _cells(box: Box, cells: Cells) -> str:
    place = (
        f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.right - box.left:.1f}" height="{box.bottom - box.top:.1f}"'
    )
    picture = base64.b64encode(_png(cells.percent)).decode()
    image = f'<image {place} preserveAspectRatio="none" href="data:image/png;base64,{picture}"/>'
    edge = f'<rect {place} class="grid" fill="none"/>'
    return edge + image + ("".join(_scale(box)) if cells.has_scale else "")


def _scale(box: Box) -> list[str]:
    """Draw what the colors of a heat map mean."""
    left, high, steps = box.right + 10, min(box.bottom - box.top, 160.0), 24
    parts = []
    for k in range(steps):
        y = box.top + high * (1 - (k + 1) / steps)
        look = f'fill="{COLORS[0]}" fill-opacity="{k / (steps - 1):.2f}"'
        parts.append(f'<rect x="{left:.1f}" y="{y:.2f}" width="8" height="{high / steps + 0.3:.2f}" {look}/>')
    for text, y in (("100%", box.top + 8), ("0%", box.top + high)):
        parts.append(_text(left + 11, y, text, "tiny soft"))
    return parts


def _png(percent: NDArray[np.uint8]) -> bytes:
    """Return a heat map as PNG: all of it is of one color, and percentages are opacities, so that any paper will do."""
    rows, columns = percent.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each line begins with a 0: it is not filtered
    lines[:, 1:] = percent
    chunks = [
        png_chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        png_chunk(b"PLTE", _INK * 101),
        png_chunk(b"tRNS", bytes(round(2.55 * share) for share in range(101))),
        png_chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        png_chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a part of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


# ---------------------------------------------------------------- labels of points


def _labels(box: Box, lines: Sequence[Line], taken: list[Area]) -> list[str]:
    """Return texts next to points, each on the first side where it covers no other text and no marker."""
    spots = [
        (box.x(x), box.y(y), text, line.color, rank)
        for line in lines
        if line.labels
        for k, (x, y, text) in enumerate(zip(line.x, line.y, line.labels, strict=True))
        for rank in [0 if k in (0, len(line.x) - 1) else 1 + k % 2]  # the ends of a line matter most
    ]
    spots = [spot for spot in spots if math.isfinite(spot[0] + spot[1])]
    if not spots:
        return []
    around = _RADIUS + 0.5
    taken += [(x - around, y - around, x + around, y + around) for x, y, *_ in spots]
    parts = []
    for x, y, text, color, _ in sorted(spots, key=lambda spot: spot[4]):
        wide, high = _width(text, _TINY), _TINY
        for right, down in _SIDES:
            middle, base = x + right * (around + 2 + wide / 2), y + down * (around + 1 + high / 2)
            area = (middle - wide / 2, base - high / 2, middle + wide / 2, base + high / 2)
            is_inside = area[0] >= box.left and area[2] <= box.right and area[1] >= box.top and area[3] <= box.bottom
            if is_inside and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                parts.append(_text(middle, base + 3.4, text, f"tiny own k{color}", anchor="middle"))
                break
    return parts


def _overlap(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


# ---------------------------------------------------------------- whole figures


def swatch(mark: Mark) -> str:
    """Return what stands before a name in the legend, 28 pixels wide and 12 high."""
    box = Box(0, 0, 28, 12, Axis(), Axis())
    if isinstance(mark, Bars):
        return f"<g{_bars(box, replace(mark, at=[0.5], base=[0.1], ends=[0.9], is_lying=False))}</g>"
    if not isinstance(mark, Line):
        return ""
    marked = [1] if mark.marked else []
    one = replace(mark, x=[0, 0.5, 1], y=[0.5] * 3, low=(), high=(), labels=(), marked=marked, hollow=())
    return f"<g{_line(box, one)}</g>"


def draw_figure(figure: Figure, width: int) -> str:
    """Return a figure as an SVG image that stands alone, on white paper."""
    across = min(_ACROSS, len(figure.panels))
    each = max(160, (width - 24 - _GAP * (across - 1)) // across)
    parts, y = [], 12.0
    if figure.title:
        title = _cut(figure.title, int(width / 8.5))
        parts.append(_text(12, y + 14, title, "head"))
        y += 26
    entries = figure.legend()
    if len(entries) > 1:
        x = 12.0
        for name, mark in entries.items():
            text = _cut(name, _LONGEST_LEGEND)
            if x > 12 and x + 50 + _width(text, _SMALL) > width:
                x, y = 12.0, y + _LINE
            parts.append(f'<g transform="translate({x:.1f} {y + 2:.1f})">{swatch(mark)}</g>')
            parts.append(_text(x + 34, y + 12, text, "small"))
            x += 50 + _width(text, _SMALL)
        y += _LINE + 6
    for first in range(0, len(figure.panels), across):
        drawings = [draw_panel(panel, each) for panel in figure.panels[first : first + across]]
        for k, (markup, _, _) in enumerate(drawings):
            parts.append(f'<g transform="translate({12 + k * (each + _GAP)} {y:.1f})">{markup}</g>')
        y += max(height for _, height, _ in drawings) + 12
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!-- A figure, written by daedal. -->\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y:.0f}" viewBox="0 0 {width} {y:.0f}">'
        f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )
