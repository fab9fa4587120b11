"""A study on a real terminal: its display, what objectives print meanwhile, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from threading import Timer

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


def on_a_terminal(folder: Path, objective: str, *, workers: int, end_at: bytes | None = None) -> tuple[int, str]:
    """Run a study with a terminal for its standard error, and give its exit code and all that was shown.

    It is asked to end when it has shown a text.
    """
    (folder / "mine.py").write_text(objective)
    (folder / "study.toml").write_text(STUDY)
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    words = ["study", "run", "study.toml", "--store", "results.db", "--workers", str(workers)]
    command = [sys.executable, "-m", "daedal", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    far_away = Timer(120, process.kill)
    far_away.start()
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
            if end_at is not None and end_at in shown:
                process.terminate()
                end_at = None
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    code = process.wait(60)
    far_away.cancel()
    return code, shown.decode()


def test_what_objectives_print_stands_above_the_display_in_whole_lines(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, PRINTS, workers=2)
    assert code == 0, shown
    assert "at least" in shown  # there was a display
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\r", "\n").splitlines()
    printed = [line for line in lines if "@" in line]
    assert len(printed) >= 6
    assert [line for line in printed if not re.fullmatch(r"@(\d+ rows|from C)@", line)] == []
    assert printed.count("@from C@") == len(printed) / 2
    assert "3 runs made; 0 of this study were in results.db before" in lines


def test_a_request_to_end_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, HANGS, workers=1, end_at=b"@begun@")
    assert code == 128 + 15, shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is shown again
    assert not (tmp_path / "results.db.lock").exists()
