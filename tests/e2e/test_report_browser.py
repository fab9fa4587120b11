"""Pages in a real browser: everything is drawn, nothing complains, nobody outside is asked, phones can read them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Tab, chromium
from process_helpers import wait_until
from report_helpers import EVIL, SHOWN_EVIL, full_result, made_up_trace
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
        "minimised": full_result(minimize=True, trace=made_up_trace(plain.x, sign=-1.0)),
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


def check(tab: Tab) -> dict[str, dict[str, float]]:
    """Check what holds for every page, at every width; give its figures."""
    figures = tab.figures()
    for name, box in figures.items():
        assert min(box["width"], box["height"]) > 80, name
    assert tab.value("document.documentElement.scrollWidth") <= tab.value("innerWidth")
    assert tab.value("Math.min(...[...document.querySelectorAll('p, li, td, th')].map(one => "
                     "parseFloat(getComputedStyle(one).fontSize)))") >= 11  # fmt: skip
    assert tab.complaints() == []
    return figures


@pytest.mark.parametrize("name", ["trap", "default", "evil", "minimised", "space", "bare", "study"])
def test_every_figure_is_drawn_and_speaks_without_a_network(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    pictures = Path(os.environ.get("DAEDAL_SCREENSHOTS", tmp_path))
    for width in (1400, 400):
        tab = browser.open(pages[name].as_uri(), width=width, offline=True)
        figures = check(tab)
        assert len(figures) >= {"bare": 3, "study": 8}.get(name, 6)
        if width == 1400:
            assert [one for one in figures if not tab.hover(one)] == []
        assert tab.screenshot(pictures / f"{name}-{width}.png").stat().st_size > 20_000
        assert tab.complaints() == []
        assert tab.requests() == [pages[name].as_uri()]
        tab.close()


def test_a_text_is_shown_and_runs_nothing(browser: Browser, pages: dict[str, Path]) -> None:
    tab = browser.open(pages["evil"].as_uri(), offline=True)
    tab.figures()
    assert SHOWN_EVIL in tab.value("document.querySelector('h1').textContent")
    assert tab.value("document.querySelectorAll('script').length") == 3
    labels = tab.value("[...document.querySelectorAll('[data-figure=importance] .ytick')].map(one => one.textContent)")
    assert labels
    assert all(label.startswith("<script>alert(1)</scri") for label in labels)
    assert tab.complaints() == []  # a dialog would also have kept the page from answering
    tab.close()


def test_a_dark_page_changes_its_colours(browser: Browser, pages: dict[str, Path]) -> None:
    tab = browser.open(pages["trap"].as_uri(), offline=True)
    tab.figures()
    colour = "getComputedStyle(document.querySelector('[data-figure=progress] .xtick text')).fill"
    light = tab.value(colour)
    tab.dark()
    tab.wait(f"{colour} !== {light!r}")
    assert tab.complaints() == []
    tab.close()


def test_a_watched_study_grows_in_place(browser: Browser, tmp_path: Path, plain_environment: dict[str, str]) -> None:
    with ExitStack() as stack:
        study = make_study(tmp_path, plain_environment)
        stack.callback(study.wait)
        stack.callback((tmp_path / "go").touch)  # whatever happens, the study can end
        wait_until(lambda: study.poll() is not None or stored_runs(tmp_path / "s.db") >= 1, "the study has no run")
        port, _ = stack.enter_context(watched(plain_environment, tmp_path / "s.db"))
        tab = browser.open(f"http://127.0.0.1:{port}/", width=1000)
        tab.wait("document.querySelectorAll('.js-plotly-plot').length > 0")
        tab.wait("document.querySelector('[data-figure=solved-0]') !== null")
        before = check(tab)
        assert "solved-1" not in before  # it stands at the gate
        tab.value("document.querySelector('[data-figure=solved-0]').marked = true")
        (tmp_path / "go").touch()
        tab.wait("document.querySelector('[data-figure=solved-1]') !== null")
        study.wait(timeout=300)
        tab.wait("document.querySelector('main').textContent.includes('the study is complete')")
        after = check(tab)
        assert set(before) < set(after)
        assert tab.value("document.querySelector('[data-figure=solved-0]').marked") is True  # changed where it was
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
