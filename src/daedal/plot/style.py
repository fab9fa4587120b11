"""How all figures look, and how they are written to files."""

from __future__ import annotations

import importlib
import io
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from daedal.result.wording import short_number
from daedal.settings.checks import printable
from daedal.settings.lazy import missing_extra
from daedal.storage.atomic import replace_file
from daedal.studies.tables import FIGURES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Seven and four have no common divisor: 28 algorithms differ without colours. The colours differ in lightness, too.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")
COLOURS = ("#10223f", "#a3262a", "#2b93a7", "#e8a531", "#5b2a86", "#4a7d2f", "#c58fb5")

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same letters everywhere
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,  # "99.2", not "+9.9e1"
    "svg.hashsalt": "daedal",  # or the names inside an SVG would be drawn at random
}
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None, "Creator": "daedal"}, "png": {"Software": "daedal"}}
GREY = "#555555"
_MOST_INSIDE = 6  # lines that a legend inside of the axes names
_MOST_COLUMNS = 5  # of a legend
_LINE = 0.18  # inches, of a legend
_BELOW = 0.5  # inches from the axes to a legend below them: tick labels and the axis' own are in between
_BESIDE = 0.8  # inches that labels take beside the axes


@contextmanager
def styled() -> Iterator[None]:
    """Draw in daedal's style; no setting stays changed.

    A letter that the font does not have is a box in the figure, and not a warning for each time it is drawn.
    """
    with find_matplotlib().rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def figure_files(path_without_suffix: Path) -> dict[str, Path]:
    """Give the files of a figure by format."""
    # Not with_suffix: "nk_n=30,k=4.1" has a dot of its own.
    return {form: path_without_suffix.with_name(f"{path_without_suffix.name}.{form}") for form in FIGURES}


def save(figure: Figure, path_without_suffix: Path, *, formats: Sequence[str] = tuple(FIGURES)) -> list[Path]:
    """Write a figure in several formats, and give the files; the same figure gives the same bytes."""
    files = figure_files(path_without_suffix)
    with styled():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it stays as it is: what fits depends on the dots an inch of the format before
    for form in formats:
        drawn = io.BytesIO()
        with styled():
            figure.savefig(drawn, format=form, dpi=200, metadata=_METADATA[form])
        replace_file(files[form], partial(_write, drawn.getvalue()), kind=FIGURES[form])
    return [files[form] for form in formats]


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def find_matplotlib() -> Any:
    """Give matplotlib, or say how to install it."""
    try:
        return importlib.import_module("matplotlib")
    except ImportError as error:
        raise missing_extra("figures need matplotlib", "plot") from error


def draw_goal(axes: Axes, optimum: float | None, target: float | None, *, minimize: bool) -> None:
    """Draw what there is to reach, if it is known."""
    name, value = ("target", target) if optimum is None else ("optimum", optimum)
    if value is None or not math.isfinite(value):
        return
    axes.axhline(value, linestyle=(0, (5, 3)), linewidth=0.9, color=GREY, zorder=1, label="_optimum")
    # No point is beyond the optimum: on that side of the line there is room.
    axes.annotate(
        name,
        (0.0, value),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, -3 if minimize else 3),
        textcoords="offset points",
        va="top" if minimize else "bottom",
        fontsize=8,
        color=GREY,
    )


def log_axis(axes: Axes) -> None:
    """Make the horizontal axis logarithmic, with at least two labels, however little it spans."""
    ticker = importlib.import_module("matplotlib.ticker")
    axes.set_xscale("log")
    axes.margins(x=0.05, y=0.1)
    if not math.isfinite(axes.dataLim.minposx):
        axes.set_xlim(1, 10)  # no point at all, and a logarithmic axis cannot begin at zero
    low, high = axes.get_xlim()
    if high < 5 * low:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    else:
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,), numticks=12))
    axes.xaxis.set_minor_locator(ticker.LogLocator(subs=tuple(range(2, 10)), numticks=12))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short_number(value)))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def draw_legend(figure: Figure, lines: Mapping[Artist, str]) -> None:
    """Name the lines below the figure, which grows by what that takes."""
    if lines:
        names = [shortened(name) for name in lines.values()]
        columns = _columns(names, figure.get_figwidth())
        legend = figure.legend(
            list(lines),
            [str(number) for number in range(len(lines))],
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            handlelength=3.6,
        )
        figure.set_figheight(figure.get_figheight() + _LINE * (math.ceil(len(lines) / columns) - 1))
        _name(legend, lines)


def draw_axes_legend(axes: Axes, lines: Mapping[Artist, str], *, own: bool, kept: Collection[Artist] = ()) -> None:
    """Name the lines below their axes; in a figure of somebody else, inside, or beside where they are many.

    A figure of its own grows by what that takes. Names of the lines in `kept`, which are somebody else's, stay as they
    are.
    """
    if not lines:
        return
    look: dict[str, Any] = {"handles": list(lines), "labels": [str(number) for number in range(len(lines))]}
    look |= {"fontsize": 8, "framealpha": 0.8, "handlelength": 3.0}
    if own:
        figure = cast("Figure", axes.figure)
        columns = _columns([shortened(name) for name in lines.values()], figure.get_figwidth() - _BESIDE, size=8)
        down = importlib.import_module("matplotlib.transforms").ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
        look |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": axes.transAxes + down}
        look |= {"ncols": columns, "borderaxespad": 0.0}
        figure.set_figheight(figure.get_figheight() + _LINE * math.ceil(len(lines) / columns))
    elif len(lines) > _MOST_INSIDE:
        look |= {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    legend = axes.legend(**look)
    legend.get_frame().set_edgecolor("none")
    _name(legend, lines, kept)


def _name(legend: Legend, lines: Mapping[Artist, str], kept: Collection[Artist] = ()) -> None:
    """Write the names afterwards, because a legend leaves out what begins with an underscore."""
    for text, (line, label) in zip(legend.get_texts(), lines.items(), strict=True):
        text.set_text(label if line in kept else plain_text(shortened(label)))


def _columns(names: Sequence[str], width: float, size: float = 9.0) -> int:
    """Say in how many columns of a legend, filled one after the other, names of a size fit a width in inches."""
    for columns in range(min(len(names), _MOST_COLUMNS), 1, -1):
        deep = math.ceil(len(names) / columns)
        longest = (max(map(len, names[top : top + deep])) for top in range(0, len(names), deep))
        if size / 9 * sum(0.75 + 0.075 * letters for letters in longest) <= width:
            return columns
    return 1


def shortened(name: str, most: int = 44) -> str:
    """Cut a long name."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


@contextmanager
def axes_to_draw_on(
    ax: Axes | None, size: tuple[float, float] = (6.4, 4.0), *, layout: str = "constrained"
) -> Iterator[Axes]:
    """Give axes, or new ones in a figure of its own, to draw on in daedal's style; no setting stays changed."""
    with styled():
        if ax is None:
            ax = importlib.import_module("matplotlib.pyplot").figure(figsize=size, layout=layout).add_subplot()
        yield ax


def plain_text(text: str) -> str:
    """Keep matplotlib from reading a formula between two dollars."""
    return printable(text).replace("$", r"\$")
