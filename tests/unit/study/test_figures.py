"""The figures of a study, from runs made by hand: what is drawn, in black and white too, and the same each time."""

from __future__ import annotations

import importlib
import itertools
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daedal.study.figures import draw, save
from daedal.study.run import Run
from daedal.study.spec import Study, StudyProblem

pytest.importorskip("matplotlib", reason="figures need matplotlib")

POPSIZES = [50, 100, 250, 500, 1000]
MANY = 28


def a_study(algorithms: int = 4, **problem: object) -> Study:
    return Study.from_dict(
        {
            "problems": [{"name": "a trap", "problem": "trap:k=4,n=20"} | problem],
            "algorithms": [{"name": f"algorithm {number}", "algorithm": "umda"} for number in range(algorithms)],
            "popsizes": POPSIZES,
            "runs": 2,
        }
    )


def a_run(seed: int, popsize: int, **changes: Any) -> Run:
    values: dict[str, Any] = {
        "success": False,
        "best": 20 - 100 / popsize + seed,
        "optimum": 20.0,
        "evaluations": 10 * popsize + seed,
        "seconds": popsize / 1000,
    }
    return Run(seed=seed, status="done", **values | changes)


def all_runs(study: Study) -> dict[str, dict[int, Run]]:
    return {cell.key: {seed: a_run(seed, cell.popsize) for seed in study.seeds} for cell in study.cells()}


def lines(axes: Any) -> Iterator[Any]:
    """Give the lines of the algorithms."""
    return (line for line in axes.get_lines() if not line.get_label().startswith("_"))


def points(line: Any) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(*line.get_data(), strict=True) if not math.isnan(x)]


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


# What is drawn


def test_panels_have_a_point_for_each_size() -> None:
    study = a_study()
    left, right = draw(study, all_runs(study), study.problems[0]).axes
    for line in lines(left):
        assert points(line) == [(10 * size + 0.5, 20 - 100 / size + 0.5) for size in POPSIZES]
    for line in lines(right):
        assert points(line) == [(size / 1000, 20 - 100 / size + 0.5) for size in POPSIZES]
    assert len(list(lines(left))) == len(list(lines(right))) == 4


def test_axes_title_and_legend_say_what_is_shown() -> None:
    study = a_study()
    figure = draw(study, all_runs(study), study.problems[0])
    left, right = figure.axes
    assert figure.get_suptitle() == "a trap"
    assert left.get_title(loc="left") == "(trap:k=4,n=20)"
    assert (left.get_xscale(), right.get_xscale(), left.get_yscale()) == ("log", "log", "linear")
    assert "evaluations" in left.get_xlabel()
    assert "CPU seconds" in right.get_xlabel()
    assert left.get_ylabel() == "Average best fitness"
    assert texts(figure) == [algorithm.name for algorithm in study.algorithms]


def test_the_optimum_is_a_labelled_dashed_line() -> None:
    study = a_study()
    for figure in (
        draw(study, all_runs(study), study.problems[0]),  # as the runs have it
        draw(study, {}, study.problems[0], optimum=20.0),
    ):
        for axes in figure.axes:
            (line,) = [line for line in axes.get_lines() if line.get_label() == "_optimum"]
            assert set(line.get_ydata()) == {20.0}
            assert line.get_linestyle() == "--"
            assert [text.get_text() for text in axes.texts] == ["optimum"]
            assert axes.get_ylim()[1] > 20.0


def test_an_unknown_optimum_is_not_drawn() -> None:
    study = a_study()
    runs = {key: {seed: a_run(seed, 50, optimum=None) for seed in found} for key, found in all_runs(study).items()}
    for axes in draw(study, runs, study.problems[0]).axes:
        assert not axes.texts


def test_smaller_is_better_is_said() -> None:
    study = a_study(minimize=True, target=0.0)
    left, _ = draw(study, {}, study.problems[0], optimum=0.0).axes
    assert left.get_ylabel() == "Average best fitness (smaller is better)"
    assert left.texts[0].get_verticalalignment() == "top"  # below the line, where no point is


def test_sizes_without_runs_break_the_line() -> None:
    study = a_study(1)
    runs = all_runs(study)
    del runs[study.cell(study.problems[0], study.algorithms[0], 250).key]
    (line,) = lines(draw(study, runs, study.problems[0]).axes[0])
    assert [math.isnan(x) for x in line.get_xdata()] == [False, False, True, False, False]


@pytest.mark.parametrize(
    "changes",
    [{"best": -math.inf}, {"best": None}, {"evaluations": None, "seconds": None}],
)
def test_what_has_no_place_is_left_out(changes: dict[str, Any]) -> None:
    study = a_study(1)
    runs = all_runs(study)
    key = study.cell(study.problems[0], study.algorithms[0], 50).key
    runs[key] = {seed: a_run(seed, 50, **changes) for seed in runs[key]}
    for axes in draw(study, runs, study.problems[0]).axes:
        (line,) = lines(axes)
        assert len(points(line)) == len(POPSIZES) - 1


def test_no_time_at_all_has_no_place_on_a_logarithmic_axis() -> None:
    study = a_study(1)
    runs = {key: {seed: a_run(seed, 50, seconds=0.0) for seed in found} for key, found in all_runs(study).items()}
    left, right = draw(study, runs, study.problems[0]).axes
    assert [len(points(line)) for axes in (left, right) for line in lines(axes)] == [len(POPSIZES), 0]


def test_one_point_alone_has_its_marker(tmp_path: Path) -> None:
    study = a_study(1)
    key = study.cells()[0].key
    figure = draw(study, {key: all_runs(study)[key]}, study.problems[0])
    (line,) = lines(figure.axes[0])
    assert len(points(line)) == 1
    assert line.get_marker() == "o"
    save(figure, tmp_path / "one")


def test_unfinished_sizes_have_open_markers() -> None:
    study = a_study(1)
    runs = all_runs(study)
    del runs[study.cells()[1].key][1]
    figure = draw(study, runs, study.problems[0])
    (partial,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "_partial"]
    assert points(partial) == [(1000.0, 19.0)]
    assert partial.get_markerfacecolor() == "white"
    assert texts(figure) == ["algorithm 0", "not all runs made"]


# Black and white


def lightness(colour: str) -> float:
    """Give L* of CIELAB, from 0 to 100."""
    red, green, blue = importlib.import_module("matplotlib.colors").to_rgb(colour)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return float(116 * y ** (1 / 3) - 16)


def test_algorithms_differ_without_colour() -> None:
    study = a_study(MANY)
    found = [(line.get_marker(), line.get_linestyle()) for line in lines(draw(study, {}, study.problems[0]).axes[0])]
    assert len(set(found)) == MANY
    for kind in zip(*found[:4], strict=True):
        assert len(set(kind)) == 4  # the paper's four differ in both


def test_colours_differ_in_lightness() -> None:
    study = a_study(7)
    found = [lightness(line.get_color()) for line in lines(draw(study, {}, study.problems[0]).axes[0])]
    assert min(abs(a - b) for a, b in itertools.combinations(found[:4], 2)) > 15
    assert min(abs(a - b) for a, b in itertools.combinations(found, 2)) > 6
    assert max(found) < 75  # or it would be lost on white


# Labels


def labels(axes: Any) -> list[str]:
    low, high = axes.get_xlim()
    return [axes.xaxis.get_major_formatter()(x) for x in axes.xaxis.get_major_locator()() if low <= x <= high]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((100, 1_000_000), ["1k", "10k", "100k", "1M", "10M"]),
        ((100, 1000), ["1k", "2k", "5k", "10k"]),
        ((210, 240), ["2.1k", "2.2k", "2.3k", "2.4k"]),
    ],
)
def test_ticks_have_short_labels(sizes: tuple[int, int], expected: list[str]) -> None:
    study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": list(sizes), "runs": 1})
    runs = {cell.key: {0: a_run(0, cell.popsize)} for cell in study.cells()}
    assert labels(draw(study, runs, study.problems[0]).axes[0]) == expected


@pytest.mark.parametrize("smallest", [1e-4, 0.01, 1.0, 300.0])
@pytest.mark.parametrize("span", [1.0, 1.1, 2.0, 4.9, 5.1, 30.0, 99.0, 1e3, 1e7])
def test_there_are_two_to_nine_labels_whatever_the_span(smallest: float, span: float) -> None:
    study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50, 100], "runs": 1})
    seconds = {50: smallest, 100: smallest * span}
    runs = {cell.key: {0: a_run(0, cell.popsize, seconds=seconds[cell.popsize])} for cell in study.cells()}
    found = labels(draw(study, runs, study.problems[0]).axes[1])
    assert 2 <= len(found) <= 9
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", ["_hidden", "costs $x^2$", "two\nlines"])
def test_names_are_shown_as_they_are(name: str, tmp_path: Path) -> None:
    study = Study.from_dict(
        {"problems": [{"name": name, "problem": "onemax:n=20"}], "algorithms": [{"name": name, "algorithm": "umda"}]}
    )
    runs = all_runs(study)
    figure = draw(study, runs, study.problems[0], optimum=20.0)
    for text in (*texts(figure), figure.get_suptitle()):
        assert text.replace(r"\$", "$") == " ".join(name.split())
        assert not importlib.import_module("matplotlib.cbook").is_math_text(text)
    save(figure, tmp_path / "named")


def test_no_texts_overlap() -> None:
    study = a_study()
    figure = draw(study, all_runs(study), study.problems[0])
    figure.draw_without_rendering()
    found = [figure.legends[0], *(axes.xaxis.label for axes in figure.axes), *(axes.texts[0] for axes in figure.axes)]
    found += [label for axes in figure.axes for label in axes.get_xticklabels() if label.get_text()]
    boxes = [text.get_window_extent() for text in found]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


# Files


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    study = a_study()
    figure = draw(study, all_runs(study), study.problems[0])
    first = save(figure, tmp_path / "first", formats=("svg", "png", "pdf"))
    second = save(figure, tmp_path / "second", formats=("svg", "png", "pdf"))
    assert [one.read_bytes() for one in first] == [two.read_bytes() for two in second]
    (anew,) = save(draw(study, all_runs(study), study.problems[0]), tmp_path / "anew", formats=("svg",))
    assert anew.read_bytes() == first[0].read_bytes()


def test_a_dot_in_the_name_stays(tmp_path: Path) -> None:
    study = a_study(1)
    paths = save(draw(study, {}, study.problems[0]), tmp_path / "nk_30_4.1")
    assert [path.name for path in paths] == ["nk_30_4.1.svg", "nk_30_4.1.png"]
    assert all(path.stat().st_size > 0 for path in paths)


def test_drawing_changes_no_settings_of_matplotlib(tmp_path: Path) -> None:
    matplotlib = importlib.import_module("matplotlib")
    before = dict(matplotlib.rcParams)
    study = a_study(1)
    save(draw(study, all_runs(study), study.problems[0]), tmp_path / "one")
    assert dict(matplotlib.rcParams) == before


def test_matplotlib_is_only_imported_to_draw() -> None:
    code = "import sys, daedal.study.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_without_matplotlib_its_install_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    study = a_study(1)
    problem: StudyProblem = study.problems[0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r'figures need matplotlib: pip install "daedal\[plot\]"'):
        draw(study, {}, problem)


def test_a_target_is_drawn_where_no_optimum_is_known() -> None:
    study = Study.from_dict(
        {"problems": [{"problem": "onemax:n=20", "target": 19.0}], "algorithms": ["umda"], "popsizes": [50], "runs": 1}
    )
    runs = {study.cells()[0].key: {0: a_run(0, 50, optimum=None)}}
    for axes in draw(study, runs, study.problems[0]).axes:
        assert [text.get_text() for text in axes.texts] == ["target"]
        assert [line.get_ydata()[0] for line in axes.get_lines() if line.get_label() == "_optimum"] == [19.0]


def test_the_legend_has_only_what_is_drawn() -> None:
    study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda", "pbil", "tree"], "runs": 2})
    runs = all_runs(study)
    for cell in study.cells():
        if cell.algorithm.name == "pbil":
            del runs[cell.key]
    assert texts(draw(study, runs, study.problems[0])) == ["umda", "tree"]
    assert draw(study, {}, study.problems[0]).legends == []
