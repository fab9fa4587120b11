"""A run on a real terminal: the display moves, and what is left of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from terminal_helpers import ended_when, left_of, lines_of, on_a_terminal

OBJECTIVES = """
import os, pathlib, time

HERE = pathlib.Path(__file__).parent
calls = 0

def wait():
    while not (HERE / "go").exists():
        time.sleep(0.01)

def row(x):
    global calls
    calls += 1
    time.sleep(0.2)  # longer than answers are gathered
    if calls > 3:
        wait()
    return int(x.sum())

def batch(x):
    wait()
    return x.sum(axis=1)

def prints(x):
    print(f"@{len(x)} rows@")
    os.write(2, b"@from C@\\n")
    os.system("echo @from a child@")
    return x.sum(axis=1)

def fails(x):
    raise RuntimeError("this is what is wrong")
"""
HOW = ("--n", 12, "--algorithm", "umda", "--popsize", 10, "--max-generations", 2, "--seed", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.py:row", "--by-row", "--workers", 2), "[1-9] of 10 candidates of this batch"),
        (("mine.py:batch",), "0 of 10 candidates of this batch"),
    ],
)
def test_it_moves_while_the_first_batch_is_under_way(folder: Path, words: tuple[object, ...], says: str) -> None:
    """The objective waits until three different pictures of the first batch were seen."""
    seen: set[str] = set()

    def react(shown: str, _: object) -> None:
        seen.update(re.findall(rf"(\S+)(?:\x1b\[0m)? {says}", shown))
        if len(seen) >= 3:
            (folder / "go").touch()

    code, shown = on_a_terminal(folder, "solve", *words, *HOW, react=react)
    assert code == 0, shown
    assert len(seen) >= 3
    left = left_of(shown)
    assert any(line.startswith("stop      The maximum number of generations was reached") for line in left), left
    assert not any("of this batch" in line for line in left)


def test_what_an_objective_prints_appears_above_the_picture_in_whole_lines(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:prints", *HOW)
    assert code == 0, shown
    printed = [line for line in lines_of(shown) if "@" in line]
    assert [line for line in printed if not re.fullmatch("@([0-9]+ rows|from C|from a child)@", line)] == []
    assert len(printed) == 3 * printed.count("@from C@") >= 9


def test_bad_input_leaves_one_line(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:fails", *HOW, columns=300)
    assert code == 2
    (line,) = filter(None, left_of(shown))
    assert line.startswith("error: ")
    assert "this is what is wrong" in line


def test_a_request_to_end_leaves_the_terminal_as_it_was(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:batch", *HOW, react=ended_when("of this batch"))
    assert code == 128 + 15, shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is shown again


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_terminals_without_colors_or_that_cannot_move(folder: Path, variables: dict[str, str]) -> None:
    words = ("solve", "onemax:n=12", "--algorithm", "umda", "--popsize", 20, "--seed", 1)
    code, shown = on_a_terminal(folder, *words, variables=variables)
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*[34]\d[;m]", shown)
    assert "\x1b" not in shown or "TERM" not in variables
    assert "solved, fitness 12 of 12" in " ".join(left_of(shown))
