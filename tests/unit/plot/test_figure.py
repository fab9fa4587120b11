"""Figures as data and as SVG: axes with round labels, marks in their places, texts as they are, files that last."""

from __future__ import annotations

import base64
import math
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import daedal
from daedal.plot.figure import (
    Bars,
    Cells,
    Figure,
    Line,
    Panel,
    bin_names,
    bins,
    categories,
    linear,
    logarithmic,
    thinned,
)
from daedal.plot.svg import draw_panel

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert(1)</script>&\"'\x1b[31m 名前 𝛽"


def a_panel(*marks: Line | Bars | Cells, names: tuple[str, ...] = ()) -> Panel:
    values = [value for mark in marks if isinstance(mark, Line) for value in (*mark.x, *mark.y)] or [0.0, 4.0]
    return Panel(x=categories(names) if names else linear("x", values), y=linear("y", values), marks=marks)


def tree(figure: Figure, width: int | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(figure.svg(width))


def texts(drawn: ElementTree.Element) -> list[str]:
    return [str(one.text) for one in drawn.iter(f"{SVG}text")]


# ---------------------------------------------------------------- axes


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0, 50], ["0", "10", "20", "30", "40", "50"]),
        ([0.1, 0.32], ["0.1", "0.15", "0.2", "0.25", "0.3"]),
        ([-1500, 1500], ["-1,000", "0", "1,000"]),
        ([2e5, 1.2e6], ["200k", "400k", "600k", "800k", "1M", "1.2M"]),
        ([7], ["6.6", "6.8", "7", "7.2", "7.4"]),
        ([math.nan, None, math.inf], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ],
)
def test_linear_axes_have_round_labels(values: list[float | None], shown: list[str]) -> None:
    axis = linear("x", values)
    assert [text for _, text in axis.ticks] == shown
    assert all(0 <= axis.share(value) <= 1 for value in values if value is not None and math.isfinite(value))


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([50, 5000], ["50", "100", "200", "500", "1k", "2k", "5k"]),
        ([1, 1e8], ["1", "10", "100", "1k", "10k", "100k", "1M", "10M", "100M"]),
        ([0.0037, 0.00866], ["0.004", "0.005", "0.006", "0.007", "0.008", "0.009"]),
        ([42], ["42"]),
        ([0.0, math.nan], ["1", "2", "5", "10"]),
    ],
)
def test_logarithmic_axes_have_round_labels(values: list[float], shown: list[str]) -> None:
    axis = logarithmic("x", values)
    assert [text for _, text in axis.ticks] == shown
    assert all(0 <= axis.share(value) <= 1 for value in values if value > 0)
    assert math.isnan(axis.share(0.0))


@pytest.mark.parametrize("count", [1, 2, 499, 500, 501, 100_000])
def test_thinning_keeps_both_ends(count: int) -> None:
    points = thinned(count, 500)
    assert (points[0], points[-1]) == (0, count - 1)
    assert len(points) == min(count, 500)
    starts = bins(count, 500)
    names = bin_names([f"x{i}" for i in range(count)], starts)
    assert len(starts) == len(set(names)) <= 500
    assert names[-1].endswith(f"x{count - 1}")


# ---------------------------------------------------------------- drawings


def test_lines_break_at_values_without_a_place() -> None:
    line = Line(name="", x=[0, 1, 2, 3, 4], y=[0, 1, math.nan, 1, 2], marked=range(5))
    markup, _, box = draw_panel(a_panel(line), 300)
    assert markup.count("<path transform") == 4
    (path,) = [one for one in markup.split("<path") if 'stroke-width="1.9"' in one]
    assert path.count("M") == 2
    assert f"M{box.x(0):.1f} {box.y(0):.1f}" in path


def test_a_step_holds_its_value_and_a_band_follows_it() -> None:
    line = Line(name="", x=[0, 2, 4], y=[0, 2, 4], low=[0, 1, 3], high=[1, 3, 4], is_step=True)
    markup, _, box = draw_panel(a_panel(line), 300)
    assert f"H{box.x(2):.1f}V{box.y(2):.1f}" in markup
    assert markup.count('fill="currentColor"') == 1


def test_bars_stand_on_their_base_or_lie() -> None:
    bars = Bars(name="", at=[0, 1], base=[0, 1], ends=[1, 3])
    panel = Panel(x=categories(["a", "b"]), y=linear("y", [0, 3], from_zero=True), marks=[bars], height=200)
    first, second = ElementTree.fromstring(f"<g>{draw_panel(panel, 200)[0]}</g>").iter("rect")
    assert float(second.attrib["height"]) == pytest.approx(2 * float(first.attrib["height"]), abs=0.2)
    lying = Bars(name="", at=[0], ends=[3], is_lying=True, is_hollow=True)
    panel = Panel(x=linear("x", [0, 3], from_zero=True), y=categories(["a"]), marks=[lying])
    (only,) = ElementTree.fromstring(f"<g>{draw_panel(panel, 200)[0]}</g>").iter("rect")
    assert float(only.attrib["width"]) > 150


def test_a_heat_map_is_an_image_whose_opacities_are_percentages() -> None:
    shares = np.array([[0, 50, 100], [1, 2, 3]], np.uint8)
    panel = Panel(x=categories("abc"), y=categories("de", is_flipped=True), marks=[Cells(percent=shares)])
    (image,) = tree(Figure(name="x", panels=[panel])).iter(f"{SVG}image")
    content = base64.b64decode(image.attrib["href"].partition(",")[2])
    chunks, at = {}, 8
    while at < len(content):
        size, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
        chunks[kind] = content[at + 8 : at + 8 + size]
        at += size + 12
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(2, 4)
    assert np.array_equal(rows[:, 1:], shares)
    assert [round(chunks[b"tRNS"][k] / 2.55) for k in range(101)] == list(range(101))


def test_labels_that_have_no_room_are_left_out() -> None:
    names = tuple(f"v{i}" for i in range(60))
    shown = texts(ElementTree.fromstring(f"<svg xmlns='{SVG[1:-1]}'>{draw_panel(a_panel(names=names), 300)[0]}</svg>"))
    kept = [int(text[1:]) for text in shown if text.startswith("v")]
    assert 2 < len(kept) < 20
    assert len(set(np.diff(kept))) == 1


def test_the_legend_names_each_line_once_and_one_line_needs_none() -> None:
    one, two = (Line(name=name, x=[0, 1], y=[0, 1]) for name in ("one", "two"))
    panels = [a_panel(one, two), a_panel(one)]
    assert list(Figure(name="x", panels=panels).legend()) == ["one", "two"]
    assert {"one", "two"} <= set(texts(tree(Figure(name="x", panels=panels))))
    assert "one" not in texts(tree(Figure(name="x", panels=[a_panel(one)])))


def test_texts_are_shown_as_they_are() -> None:
    line = Line(name=EVIL, x=[0, 1], y=[0, 1], labels=["a", EVIL])
    other = Line(name="other", x=[0, 1], y=[1, 0])
    panel = Panel(x=linear(EVIL, [0, 1]), y=linear("y", [0, 1]), marks=[line, other], title=EVIL, levels=[(0.5, EVIL)])
    drawn = tree(Figure(name="x", panels=[panel], title=EVIL), width=2000)
    shown = [text for text in texts(drawn) if text.startswith("<script>")]
    assert len(shown) >= 5
    assert all("\x1b" not in text for text in shown)
    assert not list(drawn.iter(f"{SVG}script"))


# ---------------------------------------------------------------- files


def test_a_figure_is_saved_again_and_other_files_are_left_alone(tmp_path: Path) -> None:
    figure = Figure(name="x", panels=[a_panel(Line(name="a", x=[0, 1], y=[0, 1]))], title="a title")
    for name, start in (("nk_30_4.1.svg", b"<?xml"), ("one.png", b"\x89PNG")):
        figure.save(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        assert first.startswith(start)
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        (tmp_path / f"mine.{name[-3:]}").write_bytes(start + b"mine")
        with pytest.raises(FileExistsError, match="stays as it is"):
            figure.save(tmp_path / f"mine.{name[-3:]}")
    with pytest.raises(ValueError, match=r"saved as .svg or .png"):
        figure.save(tmp_path / "x.pdf")
    assert figure._repr_svg_() == (tmp_path / "nk_30_4.1.svg").read_text(encoding="utf-8")


def test_without_resvg_the_install_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    figure = daedal.plot.convergence(daedal.maximize("onemax:n=8", algorithm="umda", popsize=20, seed=1))
    figure.save(tmp_path / "x.svg")
    with pytest.raises(ImportError, match=r'pip install "daedal\[plot\]"'):
        figure.save(tmp_path / "x.png")
