"""What is shown while a study goes on, with a clock made by hand."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from budget_helpers import STUDY as BUDGETS
from budget_helpers import some_runs
from console_helpers import Clock, a_console, text_of

from daedal.cli.study_display import StudyDisplay
from daedal.studies.runner import Order, Progress
from daedal.studies.spec import Study
from daedal.studies.store import Run


def a_progress(problems: int = 1, *, full_grid: bool = False, **changes: Any) -> Progress:
    names = [f"onemax:n={10 + number}" for number in range(problems)]
    study = Study.from_dict({"problems": names, "algorithms": ["umda"], "popsizes": [50, 100], "runs": 2})
    ahead = Counter({cell: 2 for cell in study.cells() if cell.popsize == 50})
    return Progress(study=study, order=Order(full_grid=full_grid), runs={}, **{"ahead": ahead} | changes)


def test_a_study_says_in_a_line_how_far_it_is() -> None:
    clock = Clock()
    display, progress = StudyDisplay(console=a_console(), clock=clock), a_progress()
    assert display.line(progress) == "0 runs done, at least 2 left, 0:00:00 so far"
    clock.now += 600.0
    key = progress.study.cells()[0].key
    progress.runs[key] = {0: Run(seed=0, status="done", success=True, cpu_seconds=3000.0)}
    progress.done, progress.found, progress.failed, progress.workers = 1, 1199, 1, 2
    said = "1,200 runs done, at least 2 left, 1 failed, 0:10:00 so far, about 0:50:00 for these"
    assert display.line(progress) == said
    progress.ahead.clear()
    clock.now += 9000.0
    assert display.line(progress) == "1,200 runs done, none left, 1 failed, 2:40:00 so far"


@pytest.mark.parametrize("kind", [None, "dumb"])
def test_a_study_without_a_terminal_that_moves_is_a_line_now_and_then(kind: str | None) -> None:
    console, clock = a_console(kind=kind), Clock()
    with StudyDisplay(console=console, clock=clock) as display:
        for _ in range(25):
            display.update(a_progress())
            clock.now += 1.0
    lines = text_of(console).splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["0:00:00 so far", "0:00:10 so far", "0:00:20 so far"]


def test_a_study_on_a_terminal_is_a_table_that_goes_away() -> None:
    console, clock = a_console(kind="xterm"), Clock()
    with StudyDisplay(console=console, clock=clock) as display:
        display.update(a_progress())
        first = text_of(console)
        assert "at least 2 left" in first
        assert "≥ 50 %" in first
        clock.now += 0.5
        display.update(a_progress())
        assert text_of(console) == first  # once a second is enough
        clock.now += 0.5
        display.update(a_progress())
        assert len(text_of(console)) > len(first)
    assert text_of(console).count("\x1b[?25l") == text_of(console).count("\x1b[?25h") == 1  # the cursor is back


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_line_of_a_study_moves_with_the_clock_and_is_never_broken_in_a_word(width: int) -> None:
    clock = Clock()
    display = StudyDisplay(console=a_console(kind="xterm", width=width), clock=clock)
    picture = display.picture(a_progress())
    seen = []
    for _ in range(3):
        console = a_console(width=width)
        console.print(picture)
        lines = text_of(console).splitlines()
        assert all(len(line) <= width for line in lines)
        seen.append(" ".join(lines[0].split() + lines[1].split()))
        clock.now += 65.1
    assert ["so far" in line and "0 runs done, at least 2 left" in line for line in seen] == [True] * 3
    assert [word in line for word, line in zip(("0:00:00 so", "0:01:05", "0:02:10"), seen, strict=True)] == [True] * 3


def test_problems_that_have_no_room_follow_in_turn() -> None:
    clock = Clock()
    display = StudyDisplay(console=a_console(kind="xterm", width=60, height=16), clock=clock)
    pages = []
    for _ in range(4):
        console = a_console(width=60)
        console.print(display.picture(a_progress(3)))
        lines = text_of(console).splitlines()
        assert len(lines) <= 16
        pages.append(([line for line in lines if line.startswith("onemax")], lines[-1]))
        clock.now += 5.0
    names = ["onemax:n=10", "onemax:n=11", "onemax:n=12"]
    note = "problems {} of 3; the others follow in turn"
    assert pages == [
        (names[:2], note.format("1, 2")),
        (names[1:], note.format("2, 3")),
        ([names[2], names[0]], note.format("3, 1")),
        (names[:2], note.format("1, 2")),
    ]


@pytest.mark.parametrize(("full_grid", "share"), [(False, 0.5), (True, 0.25)])
def test_the_bar_is_about_answers_or_all_runs_of_a_full_grid(full_grid: bool, share: float) -> None:
    progress = a_progress(2, full_grid=full_grid, done=2)
    key = progress.study.cells()[0].key
    progress.runs[key] = {seed: Run(seed=seed, status="done", success=True) for seed in range(2)}
    progress.ahead = Counter({progress.study.cells()[1]: 6})
    console = a_console()
    console.print(StudyDisplay(console=console, clock=Clock()).picture(progress))
    assert text_of(console).count("━") == int(30 * share)  # where there are no colors, what is left is blank


def test_a_study_with_budgets_says_what_is_left_and_shows_its_table() -> None:
    console, clock = a_console(kind="xterm", width=100, height=60), Clock()
    display = StudyDisplay(console=console, clock=clock)
    runs = some_runs()
    first = BUDGETS.cells()[0]
    lost = [runs[first.key].pop(seed) for seed in (6, 7)]
    progress = Progress(study=BUDGETS, order=Order(), runs=runs, found=62, ahead=Counter({first: len(lost)}))
    assert "62 runs done, 2 left" in display.line(progress)
    console.print(display.picture(progress))
    shown = text_of(console)
    for word in ("trap:k=4,n=20", "cost", "mean best", "6 …"):
        assert word in re.sub(r"\x1b\[[0-9;]*m", "", shown)
