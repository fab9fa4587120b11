"""Pages in a real browser: figures are drawn and speak, texts do not overlap, and nothing is loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Tab, chromium
from process_helpers import wait_until
from report_helpers import EVIL, full_result, made_up_trace
from watch_helpers import watched

import daedal

STUDY = """
runs = 4
popsizes = [20, 40]
problems = ["onemax:n=12", { name = "<script>alert(1)</script>", problem = "mine.py:slow", n = 8, target = 8 }]
algorithms = ["umda", { name = "<b>tree</b>", algorithm = "tree" }]
"""
OBJECTIVES = """
import pathlib, time

gate = pathlib.Path(__file__).parent / "go"

def slow(x):
    while not gate.exists():  # a run that a test lets go on
        time.sleep(0.01)
    return x.sum(axis=1)
"""


FIGURES = "[...document.querySelectorAll('.panel')].map(one => one.closest('figure').dataset.figure)"
SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll("p, li, td, th, button")].map(one =>
    parseFloat(getComputedStyle(one).fontSize)))"""
OVERLAPPING_TEXTS = """[...document.querySelectorAll(".panel svg")].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const over = ([, a], [, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    return boxes.flatMap((one, k) => boxes.slice(k + 1).filter((other) => over(one, other))
        .map((other) => `${one[0]} | ${other[0]}`));
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, plain_environment: dict[str, str]) -> dict[str, Path]:
    """Make the pages of several runs, and of a study."""
    folder = tmp_path_factory.mktemp("pages")
    plain = full_result()
    evil = {"problem": EVIL, "again": EVIL, "names": tuple(f"{EVIL}{i}" for i in range(20))}
    space = daedal.Space(size=daedal.Integer(1, 16), mode=daedal.Choice("fast", "small"), parts=daedal.Subset(9))
    runs = {
        "trap": daedal.maximize("trap:k=4,n=24", algorithm="dae", popsize=300, seed=1, max_generations=12),
        "default": daedal.maximize("trap:k=4,n=24", seed=1),
        "evil": full_result(**evil),
        "minimized": full_result(minimize=True, trace=made_up_trace(plain.x, sign=-1.0)),
        "space": daedal.minimize(lambda v: v["size"] - v["parts"].sum(axis=1), space, seed=1, max_evaluations=400),
        "bare": full_result(trace=None, history=plain.history[:1], failed=1, failures=(daedal.Failure("01", EVIL),)),
    }
    found = {name: folder / f"{name}.html" for name in (*runs, "study")}
    for name, result in runs.items():
        result.report(found[name])
    (folder / "go").touch()
    make_study(folder, plain_environment).communicate(timeout=300)
    command = [sys.executable, "-m", "daedal", "report", "s.db", "-o", "study.html"]
    subprocess.run(command, cwd=folder, env=plain_environment, check=True, capture_output=True, timeout=120)
    return found


def make_study(folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Run a study in a process of its own."""
    (folder / "mine.py").write_text(OBJECTIVES)
    (folder / "study.toml").write_text(STUDY)
    words = ["study", "run", "study.toml", "--store", "s.db", "--workers", "1", "--full-grid"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "daedal", *words], cwd=folder, env=environment, **quiet)


def check(tab: Tab) -> list[dict[str, float]]:
    """Check what holds for every page, at every width, and return the plotted parts of its figures."""
    panels = tab.panels()
    assert all(min(box["width"], box["height"]) > 80 for box in panels)
    assert tab.value("document.documentElement.scrollWidth") <= tab.value("innerWidth")
    assert tab.value(SMALLEST_TEXT) >= 8.5
    assert tab.value(OVERLAPPING_TEXTS) == []
    assert tab.value("document.querySelectorAll('script').length") == 1
    assert tab.complaints() == []
    return panels


@pytest.mark.parametrize("name", ["trap", "default", "evil", "minimized", "space", "bare", "study"])
def test_every_figure_is_drawn_and_speaks_without_a_network(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    for width in (1280, 390):
        tab = browser.open(pages[name].as_uri(), width=width, offline=True)
        panels = check(tab)
        assert len(panels) >= {"bare": 3}.get(name, 6)
        silent = [box for box in panels if not any(tab.hover(*place) for place in _places(box))]
        assert silent == []
        assert tab.screenshot(tmp_path / f"{name}-{width}.png").stat().st_size > 20_000
        assert tab.complaints() == []
        assert tab.requests() == [pages[name].as_uri()]
        tab.close()


def _places(box: dict[str, float]) -> list[tuple[float, float]]:
    return [(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"]) for share in (0.5, 0.1, 0.9)]


def test_figures_tell_values_and_hide_lines(browser: Browser, pages: dict[str, Path]) -> None:
    tab = browser.open(pages["trap"].as_uri(), offline=True)
    box = tab.panels()[0]
    said = tab.hover(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    assert re.search(r"^evaluations [\d,]+\nmean .*: [\d.]+ \([\d.]+ to [\d.]+\)\nbest so far: \d+", said)
    button = "document.querySelector('[data-figure=progress] button[data-series=\"1\"]')"
    line = "document.querySelector('[data-figure=progress] g[data-series=\"1\"]')"
    tab.value(f"{button}.click()")
    assert tab.value(f"getComputedStyle({line}).display") == "none"
    assert "best so far" not in tab.hover(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    (index,) = [k for k, name in enumerate(tab.value(FIGURES)) if name == "decisions"]
    cells = tab.panels()[index]
    place = cells["x"] + 0.02 * cells["width"], cells["y"] + 0.5 * cells["height"]
    tab.hover(*place)  # which reads the image
    wait_until(lambda: re.search(r"^x\d+, generation 0: \d+%$", tab.hover(*place)), "the cell has no value")
    assert tab.complaints() == []
    tab.close()


def test_a_dark_page_changes_its_colors(browser: Browser, pages: dict[str, Path]) -> None:
    tab = browser.open(pages["trap"].as_uri(), offline=True)
    colors = (
        "['text', '.k0'].map(e => getComputedStyle(document.querySelector(`.panel ${e}`))).map(e => e.fill + e.color)"
    )
    light = tab.value(colors)
    tab.dark()
    assert all(one != other for one, other in zip(light, tab.value(colors), strict=True))
    tab.close()


def test_a_watched_study_grows_and_keeps_what_the_reader_chose(
    browser: Browser, tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    with ExitStack() as stack:
        study = make_study(tmp_path, plain_environment)
        stack.callback(study.wait)
        stack.callback((tmp_path / "go").touch)  # so that the study ends if a check fails
        wait_until(lambda: study.poll() is not None or stored_runs(tmp_path / "s.db") >= 1, "the study has no run")
        port, _ = stack.enter_context(watched(plain_environment, tmp_path / "s.db"))
        tab = browser.open(f"http://127.0.0.1:{port}/", width=1000)
        first, second = (f"document.querySelector('[data-figure=sizes-{k}]')" for k in (0, 1))
        tab.wait(f"{first} !== null && {first}.querySelector('button') !== null")
        before = check(tab)
        assert tab.value(f"{second} === null")  # its runs wait
        tab.value(f"{first}.querySelector('button').click()")
        (tmp_path / "go").touch()
        tab.wait(f"{second} !== null")
        study.wait(timeout=300)
        tab.wait("document.querySelector('main').textContent.includes('the study is complete')")
        assert len(check(tab)) > len(before)
        assert tab.value(f"{first}.querySelector('button').getAttribute('aria-pressed')") == "false"
        assert tab.value(f"getComputedStyle({first}.querySelector('g[data-series]')).display") == "none"
        addresses = {url.partition("?")[0] for url in tab.requests()}
        assert addresses == {f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/data"}
        tab.close()


def stored_runs(store: Path) -> int:
    """Count the runs of a store that somebody may just be making."""
    from daedal.studies.store import Store

    try:
        with Store(store, create=False) as opened:
            return len(opened) if opened.studies() else 0
    except (OSError, ValueError):
        return 0
