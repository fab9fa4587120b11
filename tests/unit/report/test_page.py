"""Pages as files: whole, self-contained, safe, and replaced by their own kind alone."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_helpers import EVIL, full_result, read_html

from daedal.report.figures import bin_labels, bins, log_axis, numbers, thinned
from daedal.report.page import REPORT, Figure, Page, Row, Section, embedded, policy, render

FIGURE = Figure(name="one", data=[{"y": ["</script><script>alert(1)</script>", "<!--"]}], layout={"height": 100})
PAGE = Page(title=EVIL, head="<h1>x</h1>", sections=[Section("a", EVIL, ["text", FIGURE, Row([FIGURE])])])


def test_a_page_asks_nobody_for_anything() -> None:
    page = read_html(render(PAGE))
    links = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data", "srcset", "poster")
    ]
    assert [link for link in links if not str(link).startswith(("#", "data:"))] == []
    (meta,) = [
        attributes for tag, attributes in page.tags if tag == "meta" and attributes.get("http-equiv") is not None
    ]
    assert "default-src 'none'" in str(meta["content"])
    assert "connect-src 'none'" in str(meta["content"])


def test_only_the_two_scripts_of_the_page_may_run() -> None:
    text = render(PAGE)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    hashes = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts}
    allowed = re.search("script-src ([^;]*);", policy(watch=False))
    assert allowed is not None
    assert set(re.findall("'sha256-([^']*)'", allowed[1])) == hashes
    assert "unsafe" not in allowed[1]


def test_data_cannot_leave_their_element() -> None:
    page = read_html(render(PAGE))
    assert page.count("script") == 3  # the data, Plotly, ours
    assert page.figures["one"]["data"] == FIGURE.data
    assert "<" not in embedded(["</script>", {"<": "<!--"}])


def test_json_has_no_numbers_that_browsers_do_not_know() -> None:
    assert numbers([1.0, float("nan"), float("inf"), None, 1 / 3]) == [1.0, None, None, None, 0.3333333]
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded(float("nan"))


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    result, place = full_result(), tmp_path / "report.html"
    result.report(place)
    first = place.read_bytes()
    assert REPORT.owns(place)
    result.report(place)
    assert place.read_bytes() == first  # the same run, the same bytes
    other = tmp_path / "mine.html"
    other.write_text("<!DOCTYPE html>\n<p>mine")
    with pytest.raises(FileExistsError, match="found something else"):
        result.report(other)
    assert other.read_text().endswith("mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.html", "report.html"]


def test_without_plotly_the_install_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from daedal.report import page

    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    page._plotly.cache_clear()
    try:
        with pytest.raises(ImportError, match=r'pip install "daedal\[report\]"'):
            full_result().report(tmp_path / "report.html")
    finally:
        page._plotly.cache_clear()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [1, 2, 499, 500, 501, 100_000])
def test_thinning_keeps_both_ends(count: int) -> None:
    points = thinned(count, 500)
    assert (points[0], points[-1]) == (0, count - 1)
    assert len(points) == min(count, 500)
    starts = bins(count, 500)
    assert len(starts) <= 500
    labels = bin_labels([f"x{i}" for i in range(count)], starts)
    assert len(set(map(str, labels))) == len(starts)


def test_labels_that_come_twice_stay_apart_on_an_axis() -> None:
    assert bin_labels(["a", "a", "<"], np.arange(3)) == ["a", "a (2)", "&lt;"]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([50, 5000], ["50", "100", "200", "500", "1k", "2k", "5k"]),
        ([1, 1e8], ["1", "10", "100", "1k", "10k", "100k", "1M", "10M", "100M"]),
        ([42], ["42"]),
        ([0.0, float("nan")], ["1", "2", "5", "10"]),
    ],
)
def test_logarithmic_axes_have_labels_to_read(values: list[float], shown: list[str]) -> None:
    axis: Any = log_axis("x", values)
    assert axis["ticktext"] == shown
