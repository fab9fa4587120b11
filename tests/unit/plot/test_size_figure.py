"""The figures of a study, from runs made by hand: what is drawn, in black and white too, and the same each time."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from daedal.plot.size_figure import draw_sizes
from daedal.plot.style import save
from daedal.studies.spec import Cell, Study
from daedal.studies.store import Run

pytest.importorskip("matplotlib", reason="figures need matplotlib")

Runs = dict[str, dict[int, Run]]
POPSIZES = [50, 100, 250, 500, 1000]
MANY = 28


def a_study(algorithms: int = 4, popsizes: list[int] = POPSIZES, **problem: object) -> Study:
    return Study.from_dict(
        {
            "problems": [{"name": "a trap", "problem": "trap:k=4,n=20"} | problem],
            "algorithms": [{"name": f"algorithm {number}", "algorithm": "umda"} for number in range(algorithms)],
            "popsizes": popsizes,
            "runs": 2,
        }
    )


def runs_of(cell: Cell, **changes: Any) -> dict[int, Run]:
    size = cell.popsize or 40
    values = {
        "best": 20 - 100 / size,
        "optimum": 20.0,
        "evaluations_to_best": 10 * size,
        "cpu_seconds_to_best": size / 1000,
    } | changes
    return {seed: Run(seed=seed, status="done", success=False, **values) for seed in range(2)}


def all_runs(study: Study, **changes: Any) -> Runs:
    return {cell.key: runs_of(cell, **changes) for cell in study.cells()}


def drawn(study: Study, runs: Runs | None = None) -> Any:
    return draw_sizes(study, all_runs(study) if runs is None else runs, study.problems[0])


def points(axes: Any) -> list[list[tuple[float, float]]]:
    """Give the points of each algorithm's line."""
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
    return [[(x, y) for x, y in zip(*line.get_data(), strict=True) if not math.isnan(x)] for line in lines]


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_there_is_a_point_for_each_size_and_words_for_all() -> None:
    study = a_study()
    figure = drawn(study)
    left, right = figure.axes
    assert points(left) == [[(10.0 * size, 20 - 100 / size) for size in POPSIZES]] * 4
    assert points(right) == [[(size / 1000, 20 - 100 / size) for size in POPSIZES]] * 4
    assert figure.get_suptitle() == "a trap"
    assert left.get_title(loc="left") == "(trap:k=4,n=20)"
    assert (left.get_xscale(), right.get_xscale(), left.get_yscale()) == ("log", "log", "linear")
    assert "evaluations" in left.get_xlabel()
    assert "CPU seconds" in right.get_xlabel()
    assert left.get_ylabel() == "Average best fitness"
    assert texts(figure) == [algorithm.name for algorithm in study.algorithms]


def test_an_algorithm_without_a_population_is_one_point(tmp_path: Path) -> None:
    study = a_study(2)
    climber = dataclasses.replace(study.algorithms[1], popsizes=(None,))
    study = dataclasses.replace(study, algorithms=(study.algorithms[0], climber))
    figure = drawn(study)
    assert [len(found) for found in points(figure.axes[0])] == [len(POPSIZES), 1]
    assert points(figure.axes[0])[1] == [(400.0, 17.5)]
    assert texts(figure) == ["algorithm 0", "algorithm 1"]
    (climbing,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "algorithm 1"]
    assert climbing.get_marker() == "s"  # or one point alone would not be seen
    save(figure, tmp_path / "one", formats=["svg"])


@pytest.mark.parametrize(
    ("problem", "optimum", "name", "value"),
    [
        ({}, 20.0, "optimum", 20.0),
        ({"target": 19.0}, 20.0, "optimum", 20.0),
        ({"target": 19.0}, None, "target", 19.0),
        ({"minimize": True, "target": 0.0}, 0.0, "optimum", 0.0),
        ({}, None, None, None),
        ({}, math.inf, None, None),
    ],
)
def test_what_there_is_to_reach_is_a_labelled_dashed_line(
    problem: dict[str, Any], optimum: float | None, name: str | None, value: float | None
) -> None:
    study = a_study(1, **problem)
    figure = drawn(study, all_runs(study, optimum=optimum))
    for axes in figure.axes:
        lines = [line for line in axes.get_lines() if line.get_label() == "_optimum"]
        words = [text for text in axes.texts if text.get_gid() != "popsize"]
        assert [text.get_text() for text in words] == ([] if name is None else [name])
        assert [(line.get_ydata()[0], line.get_linestyle()) for line in lines] == ([(value, "--")] if name else [])
        if name:
            smaller = "minimize" in problem  # then no point is below the line, and the word is there
            assert words[0].get_verticalalignment() == ("top" if smaller else "bottom")
    assert ("smaller is better" in figure.axes[0].get_ylabel()) == ("minimize" in problem)


@pytest.mark.parametrize(
    "changes",
    [
        None,
        {"best": -math.inf},
        {"best": None},
        {"evaluations_to_best": None, "cpu_seconds_to_best": None},
        {"cpu_seconds_to_best": 0.0},
    ],
)
def test_sizes_without_runs_or_a_place_break_the_line(changes: dict[str, Any] | None) -> None:
    study = a_study(1)
    runs, cell = all_runs(study), study.cells()[2]
    runs[cell.key] = {} if changes is None else runs_of(cell, **changes)
    left, right = drawn(study, runs).axes
    (line,) = [line for line in right.get_lines() if line.get_label() == "algorithm 0"]
    assert [math.isnan(x) for x in line.get_xdata()] == [False, False, True, False, False]
    assert len(points(left)[0]) == (
        5 if changes == {"cpu_seconds_to_best": 0.0} else 4
    )  # which has no place among seconds


def test_unfinished_sizes_have_open_markers() -> None:
    study = a_study(1)
    runs = all_runs(study)
    del runs[study.cells()[1].key][1]
    figure = drawn(study, runs)
    (partial,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "_partial"]
    assert list(zip(*partial.get_data(), strict=True)) == [(1000.0, 19.0)]
    assert partial.get_markerfacecolor() == "white"
    assert texts(figure) == ["algorithm 0", "not all runs made"]


def test_the_legend_has_only_what_is_drawn() -> None:
    study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda", "pbil", "tree"], "runs": 2})
    runs = {cell.key: runs_of(cell) for cell in study.cells() if cell.algorithm.name != "pbil"}
    assert texts(drawn(study, runs)) == ["umda", "tree"]
    assert drawn(study, {}).legends == []


def lightness(colour: str) -> float:
    """Give L* of CIELAB, from 0 to 100."""
    red, green, blue = importlib.import_module("matplotlib.colors").to_rgb(colour)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return float(116 * y ** (1 / 3) - 16)


def test_algorithms_differ_without_colour_and_colours_in_lightness() -> None:
    lines = drawn(a_study(MANY), {}).axes[0].get_lines()
    found = [(line.get_marker(), line.get_linestyle()) for line in lines]
    assert len(set(found)) == MANY
    for kind in zip(*found[:4], strict=True):
        assert len(set(kind)) == 4  # the paper's four differ in both
    light = [lightness(line.get_color()) for line in lines[:7]]
    assert min(abs(a - b) for a, b in itertools.combinations(light[:4], 2)) > 15
    assert min(abs(a - b) for a, b in itertools.combinations(light, 2)) > 6
    assert max(light) < 75  # or it would be lost on white


def labels(axes: Any) -> list[str]:
    low, high = axes.get_xlim()
    return [axes.xaxis.get_major_formatter()(x) for x in axes.xaxis.get_major_locator()() if low <= x <= high]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([100, 1_000_000], ["1k", "10k", "100k", "1M", "10M"]),
        ([100, 1000], ["1k", "2k", "5k", "10k"]),
        ([210, 240], ["2.1k", "2.2k", "2.3k", "2.4k"]),
    ],
)
def test_ticks_have_short_labels(sizes: list[int], expected: list[str]) -> None:
    assert labels(drawn(a_study(1, sizes)).axes[0]) == expected


@pytest.mark.parametrize("smallest", [1e-4, 0.01, 1.0, 300.0])
@pytest.mark.parametrize("span", [1.0, 1.1, 2.0, 4.9, 5.1, 30.0, 99.0, 1e3, 1e7])
def test_there_are_two_to_nine_labels_whatever_the_span(smallest: float, span: float) -> None:
    study = a_study(1, [50, 100])
    seconds = {50: smallest, 100: smallest * span}
    runs = {cell.key: runs_of(cell, cpu_seconds_to_best=seconds[cell.popsize or 0]) for cell in study.cells()}
    found = labels(drawn(study, runs).axes[1])
    assert 2 <= len(found) <= 9
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", ["_hidden", "costs $x^2$", "two\nlines", "名前 𝛽"])
def test_names_are_shown_as_they_are(name: str, tmp_path: Path) -> None:
    study = Study.from_dict(
        {"problems": [{"name": name, "problem": "onemax:n=20"}], "algorithms": [{"name": name, "algorithm": "umda"}]}
    )
    figure = drawn(study)
    for text in (texts(figure)[0], figure.get_suptitle()):
        assert text.replace(r"\$", "$") == " ".join(name.split())
        assert not importlib.import_module("matplotlib.cbook").is_math_text(text)
    save(figure, tmp_path / "named", formats=["svg"])


def sizes_shown(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == "popsize"]


def test_numbers_say_which_size_a_point_is() -> None:
    figure = drawn(a_study(1))
    for axes in figure.axes:
        assert sorted(sizes_shown(axes)) == sorted(["50", "100", "250", "500", "1k"])
        by_size = {text.get_text(): text.xy for text in axes.texts if text.get_gid() == "popsize"}
        assert by_size["50"] == points(axes)[0][0]
        assert by_size["1k"] == points(axes)[0][-1]


def test_no_line_runs_through_a_number() -> None:
    study = a_study(1)
    runs: Runs = {}
    for cell in study.cells():
        size = cell.popsize or 0
        made = [
            runs_of(cell, best=10 + size / 200 + seed, evaluations_to_best=size * (10 + seed))[seed]
            for seed in range(2)
        ]
        runs[cell.key] = dict(enumerate(made))  # with bars in both directions
    figure = drawn(study, runs)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    numbers = [text for text in axes.texts if text.get_gid() == "popsize"]
    assert len(numbers) == 5
    for line in axes.get_lines():
        path = line.get_path().transformed(line.get_transform())
        assert not [text for text in numbers if path.intersects_bbox(text.get_window_extent(), filled=False)]


def test_a_line_never_turns_back() -> None:
    study = a_study(1)
    costs = {50: 900, 100: 400, 250: 500, 500: 450, 1000: 2000}
    runs = {cell.key: runs_of(cell, evaluations_to_best=costs[cell.popsize or 0]) for cell in study.cells()}
    (line,) = [line for line in drawn(study, runs).axes[0].get_lines() if line.get_label() == "algorithm 0"]
    x = line.get_xdata()
    assert sorted(value for value in x if not math.isnan(value)) == sorted(costs.values())
    assert all(not after < before for before, after in itertools.pairwise(x))  # nan, which breaks it, is neither
    assert math.isnan(x[1])


def test_bars_are_deviations_within_what_was_seen() -> None:
    study = a_study(1, [100])
    (cell,) = study.cells()
    changes: list[dict[str, float]] = [
        {"best": 20.0, "evaluations_to_best": 10},
        {"best": 10.0, "evaluations_to_best": 1000},
    ]
    runs = {cell.key: {seed: runs_of(cell, **change)[seed] for seed, change in enumerate(changes)}}
    bars = [line for line in drawn(study, runs).axes[0].get_lines() if line.get_label() == "_bar"]
    assert [(list(bar.get_xdata()), list(bar.get_ydata())) for bar in bars] == [
        ([505.0, 505.0], [10.0, 20.0]),  # 15 ± 7.1, but nobody was beyond 20
        ([10.0, 1000.0], [15.0, 15.0]),  # 505 ± 700, but nothing is free
    ]


@pytest.mark.parametrize("algorithms", [1, 4, 9])
def test_no_texts_overlap(algorithms: int) -> None:
    figure = drawn(a_study(algorithms))
    figure.draw_without_rendering()
    found = [figure.legends[0], *(axes.xaxis.label for axes in figure.axes)]
    found += [text for axes in figure.axes for text in axes.texts]
    assert all(sizes_shown(axes) for axes in figure.axes)
    found += [label for axes in figure.axes for label in axes.get_xticklabels() if label.get_text()]
    boxes = [text.get_window_extent() for text in found]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_the_same_figure_gives_the_same_bytes_and_changes_no_settings(tmp_path: Path) -> None:
    matplotlib = importlib.import_module("matplotlib")
    before = dict(matplotlib.rcParams)
    figure = drawn(a_study())
    first = save(figure, tmp_path / "first", formats=("svg", "png"))
    second = save(figure, tmp_path / "second", formats=("svg", "png"))
    assert [one.read_bytes() for one in first] == [two.read_bytes() for two in second]
    (anew,) = save(drawn(a_study()), tmp_path / "anew", formats=("svg",))
    assert anew.read_bytes() == first[0].read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_a_dot_in_the_name_stays(tmp_path: Path) -> None:
    paths = save(drawn(a_study(1), {}), tmp_path / "nk_30_4.1")
    assert [path.name for path in paths] == ["nk_30_4.1.svg", "nk_30_4.1.png"]


def test_matplotlib_is_only_imported_to_draw_and_names_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, daedal.plot.size_figure; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"pip install .*daedal\[plot\]"):
        drawn(a_study(1))
