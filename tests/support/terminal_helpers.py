"""The command line on a terminal that tests control."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import TypeAlias

FAR_AWAY = 120.0
"""Seconds after which a test has failed, however busy the machine is."""

Reaction: TypeAlias = Callable[[str, "subprocess.Popen[bytes]"], None]
"""Called again and again with everything that was shown so far and the process."""


def on_a_terminal(
    folder: Path,
    *words: object,
    react: Reaction = lambda shown, process: None,
    columns: int = 100,
    variables: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Run the command line with a terminal as its standard error, and return its exit code and what was shown."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    environment |= {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "30"} | (variables or {})
    process = subprocess.Popen(
        [sys.executable, "-m", "daedal", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        cwd=folder,
        env=environment,
    )
    os.close(theirs)
    far_away = Timer(FAR_AWAY, process.kill)
    far_away.start()
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
            react(shown.decode(errors="replace"), process)
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    code = process.wait(60)
    far_away.cancel()
    return code, shown.decode()


def ended_when(text: str) -> Reaction:
    """Send SIGTERM to a process when it has shown a text."""
    asked: list[str] = []

    def react(shown: str, process: subprocess.Popen[bytes]) -> None:
        if text in shown and not asked:
            asked.append(text)
            process.terminate()

    return react


def lines_of(shown: str) -> list[str]:
    """Return the lines that were shown, erased ones included."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\r", "\n").splitlines()


def left_of(shown: str) -> list[str]:
    """Return the lines that are left at the end, below everything that was erased."""
    return lines_of(re.sub(r"\x1b\[[0-9;]*m", "", re.split(r"\x1b\[2K", shown)[-1]))
