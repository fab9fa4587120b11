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


def on_a_terminal(folder: Path, *words: str, kind: str = "xterm", end_at: bytes | None = None) -> tuple[int, str]:
    """Run the command line with a terminal for its standard error, and give its exit code and all that was shown.

    It is asked to end when it has shown a text.
    """
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": kind, "COLUMNS": "100", "LINES": "30"}
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
        if end_at is not None and end_at in shown:
            process.terminate()
            end_at = None
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


MANY = """
import sys
import time


def f(x):
    for number in range(3000):
        print(f"<{number}>")
    sys.stderr.write("no end of line, ")
    sys.stderr.flush()
    time.sleep(1.2)  # so that the display comes in between
    print("<\\033[31mred\\033[0m \\xff\\033[" + "9" * 6000 + "m>")
    return x.sum(axis=1)
"""


def test_nothing_of_much_is_lost(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(MANY)
    (tmp_path / "study.toml").write_text(STUDY.replace("runs = 3", "runs = 1") + "[limits]\nmax_generations = 1\n")
    code, shown = on_a_terminal(tmp_path, "study", "run", "study.toml", "--store", "results.db", "--workers", "1")
    assert code == 0, shown
    assert re.findall(r"<(\d+)>", shown)[:3000] == [str(number) for number in range(3000)]
    assert "no end of line" in shown
    assert "1 run made" in shown


def test_a_request_to_end_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text("import time\n\n\ndef f(x):\n    time.sleep(0.2)\n    return x.sum(axis=1)\n")
    (tmp_path / "study.toml").write_text(STUDY.replace("runs = 3", "runs = 300"))
    code, shown = on_a_terminal(
        tmp_path, "study", "run", "study.toml", "--store", "results.db", "--workers", "1", end_at=b"3 runs done"
    )
    assert code == 128 + 15
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is shown again
    assert not (tmp_path / "results.db.lock").exists()


def test_a_terminal_that_cannot_move_gets_lines(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTS)
    (tmp_path / "study.toml").write_text(STUDY)
    code, shown = on_a_terminal(tmp_path, "study", "run", "study.toml", "--store", "results.db", kind="dumb")
    assert code == 0
    assert "\x1b" not in shown
    assert re.match(r"0 runs done, at least \d left", shown)
