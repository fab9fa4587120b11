"""Pages as files: whole, self-contained, safe, and replaced by their own kind only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from report_helpers import EVIL, SHOWN_EVIL, full_result, read_html

from daedal.plot.figure import Bars, Cells, Figure, Line, Panel, categories, linear
from daedal.report.page import REPORT, Page, Section, numbers, policy, render

LINE = Line(name=EVIL, x=[0, 1], y=[0, float("nan")])
PANELS = [
    Panel(x=linear("x", [0, 1]), y=linear(EVIL, [0, 1]), marks=[LINE, Bars(name="b", at=[1], ends=[1])]),
    Panel(x=categories([EVIL]), y=categories(["y"]), marks=[Cells(percent=np.array([[50]], np.uint8))]),
]
PAGE = Page(title=EVIL, head="<h1>x</h1>", sections=[Section("a", EVIL, ["text", Figure(name=EVIL, panels=PANELS)])])


def test_a_page_loads_nothing() -> None:
    page = read_html(render(PAGE))
    names = ("src", "href", "action", "data", "srcset", "poster")
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in names]
    assert [link for link in links if not str(link).startswith(("#", "data:"))] == []
    (meta,) = [attributes for tag, attributes in page.tags if tag == "meta" and attributes.get("http-equiv")]
    assert "default-src 'none'" in str(meta["content"])
    assert "connect-src 'none'" in str(meta["content"])


def test_only_the_script_and_the_style_of_the_page_are_allowed() -> None:
    text = render(PAGE)
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy(watch=False)
    assert "unsafe" not in policy(watch=True)
    assert not [attributes for _, attributes in read_html(text).tags if "style" in attributes]


def test_texts_of_figures_are_shown_and_never_obeyed() -> None:
    page = read_html(render(PAGE))
    assert page.count("script") == 1
    assert list(page.figures) == [SHOWN_EVIL]
    (lines, cells) = page.figures[SHOWN_EVIL]
    assert lines["lines"][0] == {
        "name": EVIL,
        "color": 0,
        "series": 0,
        "x": [0.0, 1.0],
        "y": [0.0, None],
        "step": False,
    }
    assert cells["x"] == [EVIL]


def test_json_has_no_numbers_that_browsers_do_not_know() -> None:
    assert numbers([1.0, float("nan"), float("inf"), 1 / 3]) == [1.0, None, None, 0.3333333]
    assert json.dumps(numbers([-0.0])) == "[0.0]"


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    result, place = full_result(), tmp_path / "report.html"
    result.report(place)
    first = place.read_bytes()
    assert REPORT.owns(place)
    result.report(place)
    assert place.read_bytes() == first  # the same run, the same bytes
    other = tmp_path / "mine.html"
    other.write_text("<!DOCTYPE html>\n<p>mine")
    with pytest.raises(FileExistsError, match="holds something else"):
        result.report(other)
    assert other.read_text().endswith("mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.html", "report.html"]
