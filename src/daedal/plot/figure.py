"""Figures as data: lines, bars and heat maps on axes. `daedal.plot.svg` draws them, and reports show them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.result.wording import short_number
from daedal.settings.lazy import missing_extra
from daedal.storage.files import Kind, replace_file

BLUE, ORANGE, TEAL, RED, VIOLET, GREEN, PINK = range(7)
"""Numbers of the colors: see `COLORS` of `daedal.plot.svg`, and style.css for dark pages."""

FIGURES = {
    "svg": Kind("a figure", re.compile(rb"<\?xml [^\n]{0,200}\n<!-- A figure, written by daedal")),
    "png": Kind("a figure", re.compile(rb"\x89PNG.{0,200}Software\0daedal", re.DOTALL)),
}
"""Kinds of files that figures are saved as, by suffix."""

MOST_POINTS = 2000  # of a line: more than a screen has columns
MOST_CELLS = 500  # of a heat map, in each direction
_TICKS = 5
_MOST_LOG_TICKS = 8
_FEW_DECADES = 2.2  # with so few, there is room for labels between powers of ten
_PNG_ZOOM = 2.0  # pixels per unit of the drawing


# ---------------------------------------------------------------- axes


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a panel: its title, range, ticks and scale. A drawing leaves out ticks that have no room."""

    title: str = ""
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[tuple[float, str], ...] = ()  # places and their labels
    is_log: bool = False
    names: tuple[str, ...] = ()  # of the places 0, 1, 2, ... of an axis of categories
    is_flipped: bool = False  # begins at the top, or at the right

    def share(self, value: float) -> float:
        """Return where a value is, from 0 to 1; nan if the axis has no place for it."""
        low, high = self.low, self.high
        if self.is_log:
            value, low, high = (math.log10(one) if one > 0 else math.nan for one in (value, low, high))
        place = (value - low) / (high - low) if math.isfinite(value) else math.nan
        return 1.0 - place if self.is_flipped else place


def number_text(value: float) -> str:
    """Return a number for an axis.

    Examples
    --------
    >>> [number_text(value) for value in (0.1 + 0.2, -1500, 2_500_000)]
    ['0.3', '-1,500', '2.5M']
    """
    if abs(value) < 1e5:
        return f"{float(f'{value:.10g}') + 0.0:,.10g}"
    return f"{'-' if value < 0 else ''}{short_number(abs(value))}"


def linear(title: str, values: Iterable[float | None], *, room: float = 0.04, from_zero: bool = False) -> Axis:
    """Return an axis around values, with round numbers as ticks."""
    known = [value for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        spare = 0.5 if abs(low) < 1e3 else 1e-3 * abs(low)
        low, high = (low if from_zero else low - spare), high + spare
    span = high - low
    step = _round_step(span / _TICKS)
    low, high = low - (0.0 if from_zero and low == 0 else room * span), high + room * span
    places = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return Axis(title=title, low=low, high=high, ticks=tuple((place, number_text(place)) for place in places))


def _round_step(least: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, ... that is not below a number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least * (1 - 1e-9))


def logarithmic(title: str, values: Iterable[float], *, at: Sequence[float] | None = None) -> Axis:
    """Return a logarithmic axis around values, with labels such as 200, 500, 1k, or labels at given places."""
    positive = [value for value in values if math.isfinite(value) and value > 0] or [1.0, 10.0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    room = max(0.05 * (high - low), 0.02)
    shown = _log_ticks(low - room, high + room) if at is None else list(at)
    shown = [value for value in shown if low - room <= math.log10(value) <= high + room]
    if len(shown) < 2:
        shown = [10**low] if low == high else [10**low, 10**high]
    ticks = tuple((value, short_number(value, 3)) for value in shown)
    return Axis(title=title, low=10 ** (low - room), high=10 ** (high + room), ticks=ticks, is_log=True)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two powers of ten; more and more of them, until there are two."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    if high - low > _FEW_DECADES:
        return [10.0**power for power in powers[:: max(1, len(powers) // _MOST_LOG_TICKS)]]
    shown: list[float] = []
    for steps in ((1, 2, 5), range(1, 10), range(10, 100)):
        # Read from text, because 3 * 10.0**-3 is not 0.003.
        values = sorted({float(f"{step}e{power}") for power in powers for step in steps})
        shown = [value for value in values if low <= math.log10(value) <= high]
        if len(shown) >= 2:
            break
    return shown[:: -(-len(shown) // _MOST_LOG_TICKS) or 1]


def categories(names: Sequence[str], title: str = "", *, is_flipped: bool = False, is_labeled: bool = True) -> Axis:
    """Return an axis with a place for each name."""
    ticks = tuple(enumerate(names)) if is_labeled else ()
    high = len(names) - 0.5
    return Axis(title=title, low=-0.5, high=high, ticks=ticks, names=tuple(names), is_flipped=is_flipped)


def percentages(title: str) -> Axis:
    """Return an axis from 0 to 100%."""
    return Axis(title=title, low=-4.0, high=104.0, ticks=tuple((float(k), f"{k}%") for k in (0, 25, 50, 75, 100)))


# ---------------------------------------------------------------- marks


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line through points; it breaks where a value is not finite."""

    name: str  # in the legend; "" for none
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()  # ends of a spread around each y, which is a band, or bars
    high: Sequence[float] = ()
    has_bars: bool = False
    color: int = BLUE
    dash: int = 0
    marker: int = 0
    opacity: float = 1.0
    is_step: bool = False  # a value holds until the next point
    marked: Sequence[int] = ()  # points that have a marker
    hollow: Sequence[int] = ()  # points whose marker is open
    labels: Sequence[str] = ()  # texts next to points, as far as there is room

    def values(self) -> list[float]:
        """Return all values that have to be on the axis of y."""
        return [*self.y, *self.low, *self.high]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars from `base`, or from 0, to `ends` at the places `at` of an axis; lying ones begin at the left."""

    name: str
    at: Sequence[float]
    ends: Sequence[float]
    base: Sequence[float] = ()
    color: int = BLUE
    is_hollow: bool = False
    is_lying: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A heat map of percentages from 0 to 100, shape (rows, columns), the first row on top."""

    percent: NDArray[np.uint8]
    has_scale: bool = True
    name: str = ""


Mark: TypeAlias = Line | Bars | Cells


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Marks on a pair of axes, drawn from back to front."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""
    levels: Sequence[tuple[float, str]] = ()  # values of y with a dashed line across, and their names
    frames: Sequence[tuple[float, float]] = ()  # first and last place of squares on a heat map
    height: int = 340
    is_square: bool = False  # as high as wide, whatever the height


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a run or a study: one or more panels side by side.

    In a notebook, a figure shows itself. It looks as it does in a report.

    Attributes
    ----------
    name
        A short name that differs from those of other figures in the same report.
    panels
        Its panels.
    title
        The line above it, if it stands alone.

    Examples
    --------
    >>> import daedal
    >>> figure = daedal.plot.convergence(daedal.maximize("onemax:n=30", algorithm="umda", popsize=100, seed=1))
    >>> figure.title, len(figure.panels)
    ('onemax:n=30, umda', 1)
    """

    name: str
    panels: Sequence[Panel] = field(repr=False)
    title: str = ""

    def legend(self) -> dict[str, Mark]:
        """Return the named lines and bars, each name once."""
        named = {mark.name: mark for panel in self.panels for mark in reversed(panel.marks) if mark.name}
        first = [mark.name for panel in self.panels for mark in panel.marks if mark.name]
        return {name: named[name] for name in dict.fromkeys(first)}

    def svg(self, width: int | None = None) -> str:
        """Return the figure as an SVG image.

        Parameters
        ----------
        width
            Its width in pixels. Default: 640 for one panel, 960 for several.
        """
        from daedal.plot.svg import draw_figure  # here, because it needs these classes

        return draw_figure(self, width or (640 if len(self.panels) == 1 else 960))

    def save(self, path: str | os.PathLike[str], *, width: int | None = None) -> None:
        """Write the figure to a file that ends in .svg or .png; PNG needs the extra `plot`.

        A figure that daedal has written is replaced, any other file is left alone.

        Parameters
        ----------
        path
            The file.
        width
            Its width in pixels; a PNG has twice as many. Default: 640 for one panel, 960 for several.
        """
        form = Path(path).suffix.lower().removeprefix(".")
        if form not in FIGURES:
            raise ValueError(f"figures are saved as .svg or .png, got {os.fspath(path)!r}; choose one of these")
        drawn = self.svg(width)
        content = drawn.encode() if form == "svg" else _png(drawn)
        replace_file(path, lambda file: file.write(content), kind=FIGURES[form])

    def _repr_svg_(self) -> str:
        return self.svg()


def can_save_png() -> bool:
    """Return whether the package that PNG files need is installed."""
    return find_spec("resvg_py") is not None


def _png(drawn: str) -> bytes:
    """Return an SVG image as a PNG that says who has written it."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise missing_extra("figures as PNG need resvg", "plot") from error
    from daedal.plot.svg import png_chunk

    content = bytes(svg_to_bytes(svg_string=drawn, zoom=_PNG_ZOOM))
    end_of_header = 8 + 25  # the signature and the first chunk
    return content[:end_of_header] + png_chunk(b"tEXt", b"Software\0daedal") + content[end_of_header:]


# ---------------------------------------------------------------- helpers of those who make figures


def percent(shares: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return shares from 0 to 1 as whole percentages; nan counts as 0."""
    found: NDArray[np.uint8] = np.rint(100 * np.clip(np.nan_to_num(shares), 0.0, 1.0)).astype(np.uint8)
    return found


def thinned(points: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Return the places of at most `most` points, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, points - 1, min(points, most)).round().astype(np.intp))


def bins(columns: int, most: int = MOST_CELLS) -> NDArray[np.intp]:
    """Return the starts of at most `most` bins of equal width, shape (bins,)."""
    return np.arange(0, columns, -(-columns // most))


def bin_names(names: Sequence[str], starts: NDArray[np.intp]) -> list[str]:
    """Return the names of bins: that of their only member, or those of the first and the last."""
    ends = zip(starts.tolist(), [*starts[1:].tolist(), len(names)], strict=True)
    return [names[i] if end == i + 1 else f"{names[i]} to {names[end - 1]}" for i, end in ends]
