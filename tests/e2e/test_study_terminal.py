"""A study on a real terminal: its display, what objectives print meanwhile, and how it ends."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from terminal_helpers import ended_when, lines_of, on_a_terminal

PRINTS = """
import os


def f(x):
    print(f"@{len(x)} rows@")
    os.write(2, b"@from C@\\n")
    return x.sum(axis=1)
"""
HANGS = """
import time


def f(x):
    print("@begun@", flush=True)
    time.sleep(600)  # until it is ended
"""
STUDY = """
runs = 3
popsizes = [20]
problems = [{ name = "mine", problem = "mine.py:f", n = 6, target = 6 }]
algorithms = ["umda"]
"""


def study_on_a_terminal(folder: Path, objective: str, *, workers: int, **how: Any) -> tuple[int, str]:
    """Run a study there, and give its exit code and all that was shown."""
    (folder / "mine.py").write_text(objective)
    (folder / "study.toml").write_text(STUDY)
    return on_a_terminal(folder, "study", "run", "study.toml", "--store", "results.db", "--workers", workers, **how)


def test_what_objectives_print_stands_above_the_display_in_whole_lines(tmp_path: Path) -> None:
    code, shown = study_on_a_terminal(tmp_path, PRINTS, workers=2)
    assert code == 0, shown
    assert "at least" in shown  # there was a display
    lines = lines_of(shown)
    printed = [line for line in lines if "@" in line]
    assert len(printed) >= 6
    assert [line for line in printed if not re.fullmatch(r"@(\d+ rows|from C)@", line)] == []
    assert printed.count("@from C@") == len(printed) / 2
    assert "3 runs made; 0 of this study were in results.db before" in lines


def test_a_request_to_end_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    code, shown = study_on_a_terminal(tmp_path, HANGS, workers=1, react=ended_when("@begun@"))
    assert code == 128 + 15, shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is shown again


def test_it_moves_while_the_first_run_is_under_way(tmp_path: Path) -> None:
    seen: set[str] = set()
    asked: list[bool] = []  # to end, once: a second request comes when nobody handles it any more

    def react(shown: str, process: subprocess.Popen[bytes]) -> None:
        if "@begun@" in shown:
            seen.update(re.findall(r"\S+ 0 runs done", shown.partition("@begun@")[2]))
        if len(seen) > 2 and not asked:
            asked.append(True)
            process.terminate()

    code, shown = study_on_a_terminal(tmp_path, HANGS, workers=1, react=react)
    assert code == 128 + 15, shown
    assert len(seen) > 2
