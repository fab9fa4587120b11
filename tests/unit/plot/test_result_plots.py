"""Pictures of a run: what is drawn where, from results that are made up where no run has kept what they show."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from report_helpers import full_result, made_up_trace

import daedal
from daedal.result import Result

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")

NAMES = ("convergence", "linkage", "population", "importance")


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as pyplot

    pyplot.close("all")


@pytest.fixture(scope="module")
def result() -> Result:
    return full_result()


def plot(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(daedal.plot, name)
    return found


def line(axes: Any, name: str) -> Any:
    (found,) = [one for one in axes.get_lines() if one.get_label() == name]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_each_draws_on_the_axes_that_it_is_given_and_changes_no_setting(name: str, result: Result) -> None:
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    given = Figure().add_subplot()
    assert plot(name)(result, ax=given) is given
    assert given.has_data()
    made = plot(name)(result)
    assert made.figure is not given.figure
    made.figure.draw_without_rendering()
    assert dict(matplotlib.rcParams) == before


def test_convergence_has_best_mean_and_a_band(result: Result) -> None:
    axes = daedal.plot.convergence(result)
    at = [record.evaluations for record in result.history]
    assert line(axes, "best so far").get_xdata().tolist() == at
    assert line(axes, "best so far").get_ydata().tolist() == [record.best for record in result.history]
    assert line(axes, "mean of a generation").get_ydata().tolist() == [record.mean for record in result.history]
    (band,) = axes.collections
    means = np.array([record.mean for record in result.history])
    box = band.get_datalim(axes.transData)
    assert (box.y0, box.y1) == pytest.approx((means.min() - 1, means.max() + 1))
    assert axes.get_ylabel() == "Value"


def test_convergence_takes_one_generation_infinite_values_and_no_deviations(result: Result) -> None:
    first = dataclasses.replace(result.history[0], sd=None)
    alone = daedal.plot.convergence(dataclasses.replace(result, history=(first,), minimize=True))
    assert line(alone, "best so far").get_marker() == "o"
    assert not alone.collections
    assert "smaller is better" in alone.get_ylabel()
    infinite = dataclasses.replace(result.history[0], best=-np.inf, mean=np.nan)
    axes = daedal.plot.convergence(dataclasses.replace(result, history=(infinite, *result.history[1:])))
    assert np.isnan(line(axes, "best so far").get_ydata()[0])
    axes.figure.draw_without_rendering()
    with pytest.raises(ValueError, match="without any generation"):
        daedal.plot.convergence(dataclasses.replace(result, history=()))


def test_the_legend_lies_below_what_is_drawn(result: Result) -> None:
    axes = daedal.plot.convergence(dataclasses.replace(result, optimum=20.0))
    axes.figure.draw_without_rendering()
    legend = axes.get_legend().get_window_extent()
    assert legend.y1 <= axes.xaxis.label.get_window_extent().y0
    assert legend.x0 >= 0
    assert legend.y0 >= 0
    assert legend.x1 <= axes.figure.bbox.width


def test_the_legend_leaves_names_of_others_alone(result: Result) -> None:
    import matplotlib.pyplot as pyplot

    own = ["$x^2$", "a name of somebody else, which is longer than a name of daedal's may be"]
    _, axes = pyplot.subplots()
    for name in own:
        axes.plot([1, 2], [1, 2], label=name)
    daedal.plot.convergence(result, ax=axes)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(names) == sorted([*own, "best so far", "mean of a generation", "± standard deviation"])


def test_a_marker_shows_where_the_best_was_found(result: Result) -> None:
    (x,), (y,) = line(daedal.plot.convergence(result), "_found").get_data()
    assert y == result.history[-1].best
    assert x == next(record.evaluations for record in result.history if record.best == y)
    scattered = dataclasses.replace(result, standard_error=0.1)
    assert not [one for one in daedal.plot.convergence(scattered).get_lines() if one.get_label() == "_found"]


def test_what_there_is_to_reach_is_a_line(result: Result) -> None:
    axes = daedal.plot.convergence(dataclasses.replace(result, optimum=20.0))
    assert line(axes, "_optimum").get_ydata()[0] == 20.0


def test_linkage_puts_groups_side_by_side_and_frames_them(result: Result) -> None:
    axes = daedal.plot.linkage(result)
    shown = np.asarray(axes.images[0].get_array())
    assert shown.shape == (20, 20)
    frames = sorted((patch.get_x() + 0.5, patch.get_width()) for patch in axes.patches)
    assert frames == [(0, 5), (5, 5), (10, 5), (15, 5)]
    for first, size in frames:
        inside = shown[int(first) : int(first + size), int(first) : int(first + size)]
        assert inside[~np.eye(5, dtype=bool)].min() > 0.9
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert sorted(names) == sorted(f"x{i}" for i in range(20))
    assert "made-up numbers" in axes.get_title(loc="left")


def test_many_variables_have_no_labels_and_those_of_a_space_their_names(result: Result) -> None:
    many = dataclasses.replace(result, x=np.zeros(90, np.uint8), trace=made_up_trace(np.zeros(90, np.uint8)))
    axes = daedal.plot.linkage(many)
    assert not axes.get_xticklabels()
    assert "90 variables" in axes.get_xlabel()
    space = daedal.Space(size=daedal.Integer(0, 31), cost=daedal.Integer(0, 31))
    x = np.zeros(space.n, np.uint8)
    of_space = dataclasses.replace(result, x=x, space=space, trace=made_up_trace(x))
    assert {label.get_text() for label in daedal.plot.linkage(of_space).get_xticklabels()} == {"size", "cost"}
    assert {label.get_text() for label in daedal.plot.importance(of_space).get_xticklabels()} == {"size", "cost"}


@pytest.mark.parametrize("n", [2, 30, 40])
def test_names_of_linkage_neither_touch_nor_leave_the_figure(result: Result, n: int) -> None:
    x = np.zeros(n, np.uint8)
    names = tuple(f"the {i}th of many long names" for i in range(n))
    trace = made_up_trace(x, blocks=2, source="a model of so many rows that its description takes more than a line")
    shown = dataclasses.replace(result, x=x, names=names, trace=trace)
    axes = daedal.plot.linkage(shown)
    axes.figure.draw_without_rendering()
    (title,) = [one for one in axes.get_children() if getattr(one, "get_text", str)() == axes.get_title(loc="left")]
    for axis in (axes.xaxis, axes.yaxis):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
        assert len(boxes) == n
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
        for box in (*boxes, title.get_window_extent()):
            assert box.x0 >= -1
            assert box.y0 >= -1
            assert box.x1 <= axes.figure.bbox.width + 1
            assert box.y1 <= axes.figure.bbox.height + 1
    given = matplotlib.figure.Figure(figsize=(2, 2)).add_subplot()
    daedal.plot.linkage(shown, ax=given)
    assert 0 < len(given.get_yticklabels()) < max(n, 3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_populations_are_start_middle_and_end_with_the_best_on_top(result: Result, sign: float) -> None:
    trace = made_up_trace(result.x, looks=9)
    trace = dataclasses.replace(trace, fitness=sign * (trace.rows == result.x).sum(axis=1).astype(float))
    shown = dataclasses.replace(result, trace=trace, minimize=sign < 0)
    axes = daedal.plot.population(shown)
    assert [text.get_text().split("\n")[0] for text in axes.texts] == [
        "generation 0",
        "generation 4",
        "generation 8",
    ]
    for image, look in zip(axes.images, (0, 4, 8), strict=True):
        rows = np.asarray(image.get_array())
        matches = (rows == result.x).sum(axis=1)
        assert np.all(np.diff(matches.astype(int)) <= 0)
        assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, trace.population(look)[0].tolist()))
    once = dataclasses.replace(result, trace=made_up_trace(result.x, looks=1))
    assert len(daedal.plot.population(once).images) == 1


def test_importance_has_full_bars_where_a_variable_alone_was_changed_and_hollow_ones_elsewhere(
    result: Result,
) -> None:
    flips = np.full(20, np.nan)
    flips[:3] = [-3.0, -1.0, 0.5]
    others = np.full(20, result.fitness - 2.0)
    others[19] = np.nan
    trace = made_up_trace(result.x, flips=flips, others=others)
    axes = daedal.plot.importance(dataclasses.replace(result, trace=trace))
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names[0] == "x0"
    assert names[-2:] == ["x1", "x2"]
    assert len(names) == 19
    full, hollow = axes.containers
    assert sorted(bar.get_height() for bar in full) == [-0.5, 1.0, 3.0]
    assert {bar.get_height() for bar in hollow} == {2.0}
    assert {bar.get_fill() for bar in full} == {True}
    assert {bar.get_facecolor()[3] for bar in hollow} == {0.0}


def test_the_strongest_forty_are_shown(result: Result) -> None:
    x = np.ones(100, np.uint8)
    trace = made_up_trace(x, flips=-np.arange(100.0))
    axes = daedal.plot.importance(dataclasses.replace(result, x=x, trace=trace))
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"x{i}" for i in range(99, 59, -1)]
    assert "40 of 100" in axes.get_title(loc="left")


@pytest.mark.parametrize("name", NAMES[1:])
def test_what_was_not_kept_is_named(name: str, result: Result) -> None:
    with pytest.raises(ValueError, match=r"result\.trace"):
        plot(name)(dataclasses.replace(result, trace=None))


def test_names_of_users_are_no_formulas(result: Result) -> None:
    shown = dataclasses.replace(result, problem="costs $x^2$\nand more", names=tuple(f"_$v{i}$" for i in range(20)))
    for name in NAMES:
        axes = plot(name)(shown)
        axes.figure.draw_without_rendering()
        texts = [axes.get_title(loc="left"), *(label.get_text() for label in axes.get_xticklabels())]
        assert not any(matplotlib.cbook.is_math_text(text) for text in texts)


def test_pictures_are_loaded_when_they_are_drawn_and_name_their_install_line(
    monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    code = "import sys, daedal; daedal.plot.convergence; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"pip install .*daedal\[plot\]"):
        daedal.plot.convergence(result)
