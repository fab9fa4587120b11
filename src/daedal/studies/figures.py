"""The paper's figures: what each population size reaches on average, and what it costs."""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from daedal.settings.texts import printable
from daedal.storage.atomic import replace_file
from daedal.studies.analysis import Effort, Runs, efforts
from daedal.studies.files import FIGURES
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.tables import problem_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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


def draw(study: Study, runs: Runs, problem: StudyProblem) -> Figure:
    """Draw average best fitness against average evaluations and CPU seconds, one point per population size.

    Lines join adjacent sizes. A size with runs still missing has an open marker; one without runs has none. The
    optimum, where the runs know it, or else the target is a dashed line.
    """
    matplotlib = find_matplotlib()
    found = {algorithm: efforts(study, runs, problem, algorithm) for algorithm in study.algorithms}
    cells = (study.cell(problem, algorithm, size) for algorithm in study.algorithms for size in algorithm.popsizes)
    known = (run.optimum for cell in cells for run in runs.get(cell.key, {}).values())
    optimum = next((value for value in known if value is not None), None)
    with matplotlib.rc_context(STYLE):
        figure: Figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.0, 4.0), layout="constrained")
        figure.suptitle(plain_text(problem_title(problem)[0]), fontsize=12, fontweight="bold")
        left, right = figure.subplots(1, 2, sharey=True)
        lines: dict[Line2D, str] = {}
        for axes, measure in ((left, "evaluations"), (right, "seconds")):
            drawn = [_draw_sizes(axes, one, found[one], measure, number) for number, one in enumerate(found)]
            lines = {line: one.name for line, one in zip(drawn, found, strict=True) if found[one]}
            draw_goal(axes, problem, optimum)
            _scale(axes)
        left.set_title(plain_text(problem_title(problem)[1]), loc="left", fontsize=8, color=GREY)
        left.set_xlabel("Average evaluations until the best")
        right.set_xlabel("Average CPU seconds until the best")
        left.set_ylabel("Average best fitness" + (" (smaller is better)" if problem.minimize else ""))
        if any(not effort.complete for sizes in found.values() for effort in sizes):
            line2d = importlib.import_module("matplotlib.lines").Line2D
            hollow = line2d([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="white")
            lines[hollow] = "not all runs made"
        draw_legend(figure, lines)
    return figure


def figure_files(path_without_suffix: Path) -> dict[str, Path]:
    """Give the files of a figure by format."""
    # Not with_suffix: "nk_n=30,k=4.1" has a dot of its own.
    return {form: path_without_suffix.with_name(f"{path_without_suffix.name}.{form}") for form in FIGURES}


def save(figure: Figure, path_without_suffix: Path, *, formats: Sequence[str] = tuple(FIGURES)) -> list[Path]:
    """Write a figure in several formats, and give the files; the same figure gives the same bytes."""
    matplotlib = find_matplotlib()
    files = figure_files(path_without_suffix)
    with matplotlib.rc_context(STYLE):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it stays as it is: what fits depends on the dots an inch of the format before
    for form in formats:
        drawn = io.BytesIO()
        with matplotlib.rc_context(STYLE):
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
        raise ValueError('figures need matplotlib: pip install "daedal[plot]"') from error


def _draw_sizes(axes: Axes, algorithm: StudyAlgorithm, sizes: Sequence[Effort], measure: str, number: int) -> Line2D:
    """Draw the line of an algorithm, and give it back for the legend."""
    points = {effort.popsize: point for effort in sizes if (point := _point(effort, measure)) is not None}
    missing = (math.nan, math.nan)  # breaks the line
    x, y = zip(*(points.get(popsize, missing) for popsize in algorithm.popsizes), strict=True)
    marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
    look: dict[str, Any] = {"marker": marker, "markersize": 5.5, "color": colour, "zorder": 3}
    (line,) = axes.plot(x, y, linestyle=LINES[number % len(LINES)], linewidth=1.4, label=algorithm.name, **look)
    partial = [points[effort.popsize] for effort in sizes if effort.popsize in points and not effort.complete]
    if partial:
        axes.plot(*zip(*partial, strict=True), linestyle="none", markerfacecolor="white", label="_partial", **look)
    return line


def _point(effort: Effort, measure: str) -> tuple[float, float] | None:
    """Give the place of a size, or None where a logarithmic axis has none for it."""
    value = getattr(effort, measure)
    if value is None or value.mean <= 0 or effort.best is None or not math.isfinite(effort.best.mean):
        return None
    return value.mean, effort.best.mean


def draw_goal(axes: Axes, problem: StudyProblem, optimum: float | None) -> None:
    """Draw what there is to reach, if it is known."""
    name, value = ("target", problem.target) if optimum is None else ("optimum", optimum)
    if value is None or not math.isfinite(value):
        return
    axes.axhline(value, linestyle=(0, (5, 3)), linewidth=0.9, color=GREY, zorder=1, label="_optimum")
    # No point is beyond the optimum: on that side of the line there is room.
    axes.annotate(
        name,
        (0.0, value),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, -3 if problem.minimize else 3),
        textcoords="offset points",
        va="top" if problem.minimize else "bottom",
        fontsize=8,
        color=GREY,
    )


def _scale(axes: Axes) -> None:
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


def short_number(value: float) -> str:
    """Write the number of a tick: 0.01, 500, 10k, 2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def draw_legend(figure: Figure, lines: Mapping[Line2D, str]) -> None:
    """Name the lines below the figure."""
    if not lines:
        return
    numbers = [str(number) for number in range(len(lines))]
    legend = figure.legend(
        list(lines), numbers, loc="outside lower center", ncols=min(len(lines), 5), frameon=False, handlelength=3.6
    )
    for text, label in zip(legend.get_texts(), lines.values(), strict=True):
        text.set_text(plain_text(label))  # afterwards, because a legend leaves out what begins with an underscore


def plain_text(text: str) -> str:
    """Keep matplotlib from reading a formula between two dollars."""
    return printable(text).replace("$", r"\$")
