"""Processes that tests look at from outside."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MARK = "DAEDAL_TEST_MARK"
"""The variable that a test sets to find whatever it started, and whatever that started, by its environment."""


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for something that has to come; a minute is far away."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what or condition
        time.sleep(0.01)


def has_ended(pid: int) -> bool:
    """Whether a process has ended, be it that nobody has waited for it yet."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not shown.strip() or shown.startswith("Z")


def marked(mark: str) -> list[str]:
    """Give the processes, other than this one, that have a mark in their environment; none where there is no /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{folder.name}: {command}")
        except OSError:  # it has ended, or is not ours
            continue
    return [one for one in found if "resource_tracker" not in one]  # Python's own, one for all


def children() -> set[int]:
    """Give the processes that this one has started and that have not ended."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state not in "ZX":
                found.add(int(folder.name))
    return found
