"""The displays of a run under way, with a clock that the test moves."""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import types
import warnings
from typing import Any

import pytest
from console_helpers import ARun, a_console, a_record, left_on, plain, text_of
from rich.console import Console

import daedal
from daedal.cli import live_display
from daedal.cli.live_display import LiveDisplay, NotebookDisplay, Ticker, curve, is_notebook
from daedal.limits import Limits

INFO = {"epochs": 205.0, "training_error": 0.123456789, "members": 14.0, "a_setting_of_a_long_name": 1e-9}
TITLES = ("generation", "evaluations", "best", "mean", *(name.replace("_", " ") for name in INFO), "seconds")


def a_display(run: ARun, console: Console) -> LiveDisplay:
    return LiveDisplay(run.view, console=console, clock=run.clock, seconds=None)


def shown(display: LiveDisplay, width: int) -> str:
    console = a_console(width=width)
    console.print(display.picture())
    return text_of(console)


# ------------------------------------------------------------ log files


@pytest.mark.parametrize("kind", [None, "dumb"])
def test_a_log_gets_a_line_every_ten_seconds(kind: str | None) -> None:
    run, console = ARun(title="dae on [x]", goal=20.0), a_console(kind=kind, width=200)
    with a_display(run, console) as display:
        for generation in range(25):
            display.update(a_record(generation, epochs=3.0, training_error=0.123456789))
            display.draw()
            run.clock.now += 1.0
    heading, *lines = text_of(console).splitlines()
    assert heading == "dae on [x], target 20"
    assert [line.split(",")[0] for line in lines] == ["generation 10", "generation 20"]
    info = "epochs 3, training error 0.12346"
    assert lines[0].startswith(f"generation 10, evaluations 10,000, best 7.5, mean 0.333333, {info}, seconds 0.0; ")


def test_a_log_gets_lines_during_the_first_batch() -> None:
    run, console = ARun(has_begun=False), a_console()
    with a_display(run, console) as display:
        for answered in range(31):
            run.has_begun, run.rows, run.answered = answered > 15, 100, answered
            run.best = None if answered < 25 else 3.5
            display.draw()
            run.clock.now += 1.0
    assert text_of(console).splitlines()[1:] == [
        "starting, 0:00:10",
        "20 of 100 candidates of this batch evaluated, 0:00:20",
        "best 3.5; 30 of 100 candidates of this batch evaluated, 0:00:30",
    ]


def test_forced_colors_do_not_make_a_log_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with LiveDisplay(ARun().view, seconds=None) as display:
        display.update(a_record(1))
        display.draw()
    written = capsys.readouterr().err
    assert plain(written) == "dae on trap:k=5,n=50, seed 1\n"
    assert not re.search(r"\x1b\[[0-9;?]*[A-HJKhl]", written)


# ------------------------------------------------------------ terminals


def test_on_a_terminal_the_table_of_the_last_generations_stays() -> None:
    run, console = ARun(title="dae on [x]", best=7.5), a_console(kind="xterm")
    with a_display(run, console) as display:
        display.update(a_record(0))
        display.draw()
        for generation in range(1, 31):
            display.update(a_record(generation, epochs=2.0))
        display.draw()
    heading, titles, *lines = left_on(console).splitlines()
    assert heading == "dae on [x]"
    assert titles.split() == ["generation", "evaluations", "best", "mean", "epochs", "seconds"]
    assert [line.split()[0] for line in lines] == [*(str(generation) for generation in range(19, 31)), "best"]
    assert text_of(console).count("\x1b[?25l") == text_of(console).count("\x1b[?25h") == 1  # the cursor is back


def test_a_run_without_a_generation_leaves_nothing() -> None:
    run, console = ARun(rows=10), a_console(kind="xterm")
    with a_display(run, console) as display:
        display.draw()
        assert "0 of 10 candidates" in text_of(console)
    assert left_on(console) == ""


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_and_numbers_are_whole_at_any_width(width: int) -> None:
    run = ARun(rows=1000, limits=Limits(max_evaluations=100_000), goal=50.0, best=-1234.5678)
    display = a_display(run, a_console(kind="xterm", width=width))
    for generation in range(90_000, 90_020):
        display.update(a_record(generation, best=-1234.5678, **INFO))
    lines = shown(display, width).splitlines()
    assert all(len(line) <= width for line in lines)
    row = next(place for place, line in enumerate(lines) if line.split()[0] == "generation")
    titles = re.split(r"\s\s+", lines[row].strip())
    assert {"generation", "evaluations", "best", "seconds", "mean"} <= set(titles) <= set(TITLES)
    cells = [line.split() for line in lines[row + 1 : row + 13]]
    assert [len(of_row) for of_row in cells] == [len(titles)] * 12
    assert cells[-1][:3] == ["90019", "90,019,000", "-1234.57"]
    assert "mean" in titles if width < 120 else titles == list(TITLES)


def test_a_low_terminal_shows_what_the_run_is_doing() -> None:
    run = ARun(rows=10, limits=Limits(max_seconds=60))
    display = a_display(run, a_console(kind="xterm", height=10))
    for generation in range(30):
        display.update(a_record(generation))
    lines = shown(display, 100).splitlines()
    assert len(lines) <= 10
    assert "0 of 10 candidates" in lines[-2]
    assert "0:01:00 of 0:01:00 left" in lines[-1]


def test_the_picture_follows_the_batch_the_clock_and_the_best_value() -> None:
    run = ARun(rows=1000, has_begun=False)
    display = a_display(run, a_console(kind="xterm"))
    assert "starting, 0:00:00" in shown(display, 80)
    run.has_begun = True
    assert "0 of 1,000 candidates of this batch evaluated, 0:00:00" in shown(display, 80)
    run.answered, run.best = 340, 12.25
    run.clock.now += 70.0
    picture = shown(display, 80)
    assert "340 of 1,000 candidates of this batch evaluated, 0:01:10" in picture
    assert "best  12.25" in picture  # although no generation is complete
    run.answered, run.best = 1000, -math.inf
    assert "choosing the next candidates" in shown(display, 80)
    assert "none feasible" in shown(display, 80)


def test_a_record_is_not_drawn_at_once() -> None:
    """Because a run may make thousands of generations per second."""
    console = a_console(kind="xterm")
    with a_display(ARun(), console) as display:
        display.draw()
        before = text_of(console)
        for generation in range(1000):
            display.update(a_record(generation))
        assert text_of(console) == before


@pytest.mark.parametrize(
    ("limits", "evaluations", "seconds", "says", "share"),
    [
        (Limits(max_evaluations=10_000), 5000, 30.0, "5,000 of 10,000 evaluations, about 0:00:30 left", 0.5),
        (Limits(max_evaluations=10_000), 0, 30.0, "0 of 10,000 evaluations", 0.0),
        (Limits(max_seconds=60.0), 2500, 45.0, "0:00:15 of 0:01:00 left", 0.75),
        (Limits(max_seconds=60.0, max_evaluations=10_000), 9000, 30.0, "about 0:00:03 left", 0.9),
        (Limits(max_seconds=60.0, max_evaluations=10_000), 100, 59.5, "0:00:01 of", 59.5 / 60),
    ],
)
def test_a_budget_has_a_bar_and_the_time_left(
    limits: Limits, evaluations: int, seconds: float, says: str, share: float
) -> None:
    run = ARun(limits=limits)
    display = a_display(run, a_console(kind="xterm"))
    shown(display, 100)  # the time is measured from here on
    run.evaluations, run.clock.now = evaluations, run.clock.now + seconds
    line = shown(display, 100).splitlines()[-1]
    assert says in line
    assert line.count("━") == pytest.approx(40 * share, abs=1)  # without colors, the rest is blank


def test_the_time_left_of_a_resumed_run_depends_on_the_present_speed() -> None:
    run = ARun(limits=Limits(max_evaluations=1000), evaluations=900)
    run.clock.now += 5000.0
    display = a_display(run, a_console(kind="xterm"))
    assert "900 of 1,000 evaluations" in shown(display, 80)
    run.evaluations, run.clock.now = 950, run.clock.now + 10.0
    assert "950 of 1,000 evaluations, about 0:00:10 left" in shown(display, 100)


@pytest.mark.parametrize("kind", [None, "xterm-256color"])
def test_names_of_users_are_shown_and_not_obeyed(kind: str | None) -> None:
    run, console = ARun(title="mine\x1b]0;title\a on [red]x[/red]"), a_console(kind=kind)
    with a_display(run, console) as display:
        display.update(a_record(1, **{"[red]loss[/red]\a": 1.0}))
        run.clock.now += 11.0
        display.draw()
    text = text_of(console)
    assert r"mine\x1b]0;title\x07 on [red]x[/red]" in text
    assert "\a" not in text
    assert r"[red]loss[/red]\x07" in text


def test_a_terminal_without_unicode_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ARun(limits=Limits(max_evaluations=100), evaluations=50, best=19.0)
    console = a_console(kind="xterm")
    monkeypatch.setattr(Console, "encoding", "ascii")
    with a_display(run, console) as display:
        for generation in range(20):
            display.update(a_record(generation, best=generation))
        display.draw()
    assert text_of(console).isascii()
    assert "_" in left_on(console)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        ([3.0, 3.0], "▁▁"),
        ([7.0, 0.0], "█▁"),
        ([float(value) for value in range(8)], "▁▂▃▄▅▆▇█"),
        ([-math.inf, 1.0, 2.0], " ▁█"),
        ([-math.inf], " "),
        ([-1e308, 1e308], "▁▁"),  # their difference is too large for a float
        ([0.0] * 199 + [1.0], "▁" * 19 + "█"),  # the last value is always there
    ],
)
def test_a_curve_has_the_blocks_of_its_values(values: list[float], expected: str) -> None:
    assert curve(values, 20) == expected


# ------------------------------------------------------------ the timer


def test_the_timer_draws_until_it_is_stopped() -> None:
    enough, times = threading.Event(), []

    def tick() -> None:
        times.append(len(times))
        if len(times) == 3:
            enough.set()

    ticker = Ticker(tick, 0.001)
    ticker.start()
    assert enough.wait(60)
    ticker.stop()
    assert not ticker.is_alive()
    run, console = ARun(rows=5), a_console(kind="xterm")
    with LiveDisplay(run.view, console=console, seconds=0.001) as display:
        while "0 of 5 candidates" not in text_of(console):
            assert display._ticker is not None
            assert display._ticker.is_alive()


@pytest.mark.parametrize("error", [OSError("the terminal is gone"), ValueError("I/O operation on closed file")])
def test_a_display_that_cannot_write_ends_alone(error: Exception) -> None:
    times: list[int] = []

    def tick() -> None:
        times.append(1)
        raise error

    ticker = Ticker(tick, 0.001)
    ticker.start()
    ticker.join(60)
    assert times == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_never_happens_during_a_tick() -> None:
    """So a child finds no lock held for ever."""
    held, begun = threading.Lock(), threading.Event()

    def tick() -> None:
        with held:
            begun.set()
            for _ in range(1000):
                pass

    ticker = Ticker(tick, 0.0001)
    ticker.start()
    assert begun.wait(60)
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # about threads, from Python 3.12 on
                child = os.fork()
            if child == 0:
                os._exit(held.locked() or not live_display._TICKING.acquire(timeout=60))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        ticker.stop()


# ------------------------------------------------------------ notebooks


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[list[dict[str, str]]]:
    """Pretend to be the kernel of a notebook, and return what is shown in each place."""
    places: list[list[dict[str, str]]] = []

    def display(shown: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id  # or it could not be updated
        places.append([shown])
        return types.SimpleNamespace(update=lambda shown, raw: places[-1].append(shown))

    ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    vars(ipython).update(get_ipython=lambda: types.SimpleNamespace(kernel=object()), display=module)
    vars(module).update(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return places


def test_a_notebook_is_the_kernel_of_one_and_a_terminal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    ipython = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for shell, expected in ((None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=1), True)):
        vars(ipython).update(get_ipython=lambda shell=shell: shell)
        assert is_notebook() is expected


def test_a_notebook_shows_the_picture_in_one_place(
    notebook: list[list[dict[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    result = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1, max_evaluations=500, progress=True)
    assert capsys.readouterr() == ("", "")
    (place,) = notebook
    assert "umda on onemax:n=12, popsize 40, seed 1, target 12" in place[0]["text/html"]
    last = place[-1]["text/plain"]
    assert re.search(rf"\n *{result.generations} +{result.evaluations} +12 ", last)
    assert "done after" in last
    assert f"{result.evaluations} of 500 evaluations" in last


def test_a_notebook_shows_names_as_text_and_that_a_run_failed(notebook: list[list[dict[str, str]]]) -> None:
    run = ARun(title="<script>alert(1)</script>")
    with pytest.raises(RuntimeError), NotebookDisplay(run.view, clock=run.clock, seconds=None):
        raise RuntimeError
    assert all("<script" not in one["text/html"] and "&lt;script&gt;" in one["text/html"] for one in notebook[0])
    assert "interrupted after" in notebook[0][-1]["text/html"]
