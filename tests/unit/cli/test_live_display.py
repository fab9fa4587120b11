"""What is shown while a run goes on, with a clock made by hand."""

from __future__ import annotations

import math
import re
import threading
from typing import Any

import pytest
from console_helpers import ARun, Clock, a_console, a_record, left_on, plain, text_of
from rich.console import Console

from daedal.cli.live_display import LiveDisplay
from daedal.limits import Limits

INFO = {"epochs": 205.0, "training_error": 0.123456789, "members": 14.0, "a_setting_of_a_long_name": 1e-9}
TITLES = ("generation", "evaluations", "best", "mean", *(name.replace("_", " ") for name in INFO), "seconds")


def a_display(run: ARun, console: Console) -> LiveDisplay:
    return LiveDisplay(run.view, console=console, clock=run.clock, seconds=None)


def shown(display: LiveDisplay, width: int) -> str:
    console = a_console(width=width)
    console.print(display.picture())
    return text_of(console)


# Where nothing moves


@pytest.mark.parametrize("kind", [None, "dumb"])
def test_without_a_terminal_that_moves_there_is_a_line_now_and_then(kind: str | None) -> None:
    run, console = ARun(title="dae on [x]", goal=20.0), a_console(kind=kind, width=200)
    with a_display(run, console) as display:
        for generation in range(25):
            display.update(a_record(generation, epochs=3.0, training_error=0.123456789))
            display.draw()
            run.clock.now += 1.0
    heading, *lines = text_of(console).splitlines()
    assert heading == "dae on [x], goal 20"
    assert [line.split(",")[0] for line in lines] == ["generation 10", "generation 20"]
    info = "epochs 3, training error 0.12346"
    assert lines[0] == f"generation 10, evaluations 10,000, best 7.5, mean 0.333333, {info}, seconds 10.0"


def test_without_a_terminal_the_lines_come_while_the_first_batch_is_under_way_too() -> None:
    run, console = ARun(has_begun=False), a_console()
    with a_display(run, console) as display:
        for answered in range(31):
            run.has_begun, run.rows, run.answered = answered > 15, 100, answered
            display.draw()
            run.clock.now += 1.0
    _, first, second, third = text_of(console).splitlines()
    assert first == "preparing kernels, 10 s"
    assert second == "20 of 100 rows of this batch, 20 s"
    assert third == "30 of 100 rows of this batch, 30 s"


def test_colours_that_are_forced_upon_a_log_do_not_make_it_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with LiveDisplay(ARun().view, seconds=None) as display:
        display.update(a_record(1))
        display.draw()
    written = capsys.readouterr().err
    assert plain(written) == "dae on trap:k=5,n=50, seed 1\n"
    assert not re.search(r"\x1b\[[0-9;?]*[A-HJKhl]", written)  # neither the cursor nor what is there is touched


# On a terminal


def test_on_a_terminal_the_table_of_the_last_generations_stays() -> None:
    run, console = ARun(title="dae on [x]"), a_console(kind="xterm")
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


def test_what_has_no_generation_leaves_nothing_behind() -> None:
    """Bad input has its one line alone."""
    run, console = ARun(rows=10), a_console(kind="xterm")
    with a_display(run, console) as display:
        display.draw()
        assert "0 of 10 rows" in text_of(console)
    assert left_on(console) == ""


@pytest.mark.parametrize("width", [60, 80, 120])
def test_at_any_width_names_and_numbers_are_whole(width: int) -> None:
    run = ARun(rows=1000, limits=Limits(max_evaluations=100_000), goal=50.0)
    display = a_display(run, a_console(kind="xterm", width=width))
    for generation in range(90_000, 90_020):
        display.update(a_record(generation, best=-1234.5678, **INFO))
    lines = shown(display, width).splitlines()
    assert all(len(line) <= width for line in lines)
    row = next(place for place, line in enumerate(lines) if line.split()[0] == "generation")
    titles = re.split(r"\s\s+", lines[row].strip())
    assert set(titles) <= set(TITLES)
    assert {"generation", "evaluations", "best", "seconds", "mean"} <= set(titles)
    cells = [line.split() for line in lines[row + 1 : row + 13]]
    assert [len(of_row) for of_row in cells] == [len(titles)] * 12
    assert cells[-1][:3] == ["90019", "90,019,000", "-1234.57"]
    assert "mean" in titles if width < 120 else titles == list(TITLES)


def test_a_low_terminal_has_room_for_what_goes_on() -> None:
    run = ARun(rows=10, limits=Limits(max_seconds=60))
    display = a_display(run, a_console(kind="xterm", height=10))
    for generation in range(30):
        display.update(a_record(generation))
    lines = shown(display, 100).splitlines()
    assert len(lines) <= 10
    assert "0 of 10 rows" in lines[-2]
    assert "0 s of 1 min 0 s, 1 min 0 s left" in lines[-1]


def test_it_moves_with_the_rows_of_a_batch_and_with_the_clock() -> None:
    run = ARun(rows=1000, has_begun=False)
    display = a_display(run, a_console(kind="xterm"))
    assert "preparing kernels, 0 s" in shown(display, 80)
    run.has_begun = True
    pictures = []
    for answered, passed in ((0, 0.0), (340, 0.0), (340, 0.125), (340, 70.0)):
        run.answered = answered
        run.clock.now += passed
        pictures.append(shown(display, 80))
    assert len(set(pictures)) == 4
    assert "0 of 1,000 rows of this batch, 0 s" in pictures[0]
    assert "340 of 1,000 rows of this batch, 1 min 10 s" in pictures[3]
    run.rows = 0
    assert "choosing the next rows" in shown(display, 80)


def test_a_record_is_taken_without_being_drawn() -> None:
    """Runs may make thousands of generations a second."""
    console = a_console(kind="xterm")
    with a_display(ARun(), console) as display:
        display.draw()
        before = text_of(console)
        for generation in range(1000):
            display.update(a_record(generation))
        assert text_of(console) == before


def test_the_best_value_has_a_curve() -> None:
    display = a_display(ARun(), a_console(kind="xterm", width=60))
    for generation in range(1000):
        display.update(a_record(generation, best=float(generation)))
    line = next(line for line in shown(display, 60).splitlines() if line.startswith("best"))
    name, curve, value = line.split()
    assert (name, value) == ("best", "999")
    assert len(curve) > 30
    assert list(curve) == sorted(curve)  # the signs rise as their numbers do
    assert {curve[0], curve[-1]} == {"▁", "█"}
    display.update(a_record(1000, best=-math.inf, violation=2.0))
    assert shown(display, 60).splitlines()[-2].endswith("none feasible")


@pytest.mark.parametrize(
    ("limits", "evaluations", "seconds", "says", "share"),
    [
        (Limits(max_evaluations=10_000), 5000, 30.0, "5,000 of 10,000 evaluations, about 30 s left", 0.5),
        (Limits(max_evaluations=10_000), 0, 30.0, "0 of 10,000 evaluations", 0.0),
        (Limits(max_seconds=60.0), 2500, 45.0, "45 s of 1 min 0 s, 15 s left", 0.75),
        (Limits(max_seconds=60.0, max_evaluations=10_000), 9000, 30.0, "about 3 s left", 0.9),
        (Limits(max_seconds=60.0, max_evaluations=10_000), 100, 59.5, "1 s left", 59.5 / 60),
    ],
)
def test_a_budget_has_a_bar_and_the_time_that_is_left(
    limits: Limits, evaluations: int, seconds: float, says: str, share: float
) -> None:
    run = ARun(limits=limits)
    display = a_display(run, a_console(kind="xterm"))
    shown(display, 100)  # from here on the time is measured
    run.evaluations, run.clock.now = evaluations, run.clock.now + seconds
    line = shown(display, 100).splitlines()[-1]
    assert says in line
    assert line.count("━") == pytest.approx(40 * share, abs=1)  # without colours, what is left is blank


def test_a_run_that_goes_on_knows_what_its_calls_take_now() -> None:
    """What was before it counts for the bar, and not for the time of a call."""
    run = ARun(limits=Limits(max_evaluations=1000), evaluations=900)
    run.clock.now += 5000.0
    display = a_display(run, a_console(kind="xterm"))
    assert "900 of 1,000 evaluations" in shown(display, 80)
    run.evaluations, run.clock.now = 950, run.clock.now + 10.0
    assert "950 of 1,000 evaluations, about 10 s left" in shown(display, 100)


def test_without_a_budget_there_is_no_bar() -> None:
    assert "━" not in shown(a_display(ARun(limits=Limits(patience=3)), a_console(kind="xterm")), 80)


@pytest.mark.parametrize("kind", [None, "xterm-256color"])
def test_names_of_a_users_model_are_shown_and_not_obeyed(kind: str | None) -> None:
    run, console = ARun(title="mine\x1b]0;title\a on [red]x[/red]"), a_console(kind=kind)
    with a_display(run, console) as display:
        display.update(a_record(1, **{"[red]loss[/red]\a": 1.0}))
        run.clock.now += 11.0
        display.draw()
    text = text_of(console)
    assert r"mine\x1b]0;title\x07 on [red]x[/red]" in text
    assert "\a" not in text
    assert r"[red]loss[/red]\x07" in text


def test_a_terminal_without_unicode_has_signs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ARun(limits=Limits(max_evaluations=100), evaluations=50)
    console = a_console(kind="xterm")
    monkeypatch.setattr(Console, "encoding", "ascii")
    with a_display(run, console) as display:
        for generation in range(20):
            display.update(a_record(generation, best=generation))
        display.draw()
    assert text_of(console).isascii()
    assert "_" in left_on(console)


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ARun(limits=Limits(max_evaluations=100), evaluations=50)
    console = Console(file=a_console().file, width=80, force_terminal=True, _environ={"TERM": "xterm", "NO_COLOR": "1"})
    with a_display(run, console) as display:
        display.draw()
    assert not re.search(r"\x1b\[[0-9;]*[34]\d[;m]", text_of(console))
    assert "50 of 100 evaluations" in text_of(console)


def test_the_timer_draws_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes until the clock of a busy machine gets there."""
    run, drawn = ARun(rows=5), threading.Event()
    console = a_console(kind="xterm")
    display = LiveDisplay(run.view, console=console, clock=Clock(), seconds=0.001)
    picture = display.picture

    def told() -> Any:
        drawn.set()
        return picture()

    monkeypatch.setattr(display, "picture", told)
    with display:
        assert drawn.wait(60)
    assert "0 of 5 rows" in text_of(console)
