"""A study on a real terminal: its display, and what objectives print meanwhile."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

PRINTS = """
import os


def f(x):
    print(f"<{len(x)} rows>")
    os.write(2, b"<from C>\\n")
    return x.sum(axis=1)
"""
STUDY = """
runs = 3
popsizes = [20]
problems = [{ name = "mine", problem = "prints.py:f", n = 6, target = 6 }]
algorithms = ["umda"]
"""


def on_a_terminal(folder: Path, *words: str) -> tuple[int, str]:
    """Run the command line with a terminal for its standard error, and give its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    command = [sys.executable, "-m", "daedal", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(60), shown.decode()


def test_what_objectives_print_stands_above_the_display_in_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTS)
    (tmp_path / "study.toml").write_text(STUDY)
    code, shown = on_a_terminal(tmp_path, "study", "run", "study.toml", "--store", "results.db", "--workers", "2")
    assert code == 0, shown
    assert "at least" in shown  # there was a display
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\r", "\n").splitlines()
    printed = [line for line in lines if "<" in line]
    assert len(printed) >= 6
    assert all(re.fullmatch(r"<\d+ rows>|<from C>", line) for line in printed), printed
    assert sum(line == "<from C>" for line in printed) == len(printed) / 2
    assert "3 runs made; 0 of this study were in results.db before" in lines
