"""Runs that several parts interrupt: the commands, and the results of undisturbed runs."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli_helpers import timeless
from processes import Ended, Launched, command_line, launch
from study_helpers import stored
from study_helpers import timeless as timeless_rows

COUNTED = """\
import os, time
import numpy as np
from pathlib import Path

calls = os.open(Path(__file__).parent / "calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def f(row):
    time.sleep(0.002)
    os.write(calls, b".")
    return float((row * np.sqrt(np.arange(1, len(row) + 1))).sum() % 5)
"""
PROGRAM = """\
#!/bin/sh
while read -r row; do
    printf . >> calls
    sleep 0.003
    value=0
    while [ -n "$row" ]; do
        case $row in 1*) value=$(((7 * value + ${#row}) % 31)) ;; esac
        row=${row#?}
    done
    echo "$value"
done
"""
STUDY = """\
runs = 3
popsizes = [10, 20]
problems = [{ name = "mine", problem = "counted.py:f", n = 10, by_row = true, target = 4.9 }, "trap:k=5,n=10"]
algorithms = ["umda", "pbil"]
limits = { max_generations = 3 }
"""
MODES: dict[str, list[str]] = {
    "serial": ["counted.py:f", "--by-row"],
    "workers": ["counted.py:f", "--by-row", "--workers", "2"],
    "timeout": ["counted.py:f", "--by-row", "--timeout", "30"],
    "program": ["cmd:./program"],
    "persistent": ["cmd:./program", "--persistent"],
    "programs": ["cmd:./program", "--workers", "2"],
}
_SIZED, _LIMITED = ["--popsize", "30", "--max-generations", "4"], ["--max-evaluations", "120"]
ALGORITHMS = {"umda": _SIZED, "boa": _SIZED, "auto": _LIMITED, "mix": _LIMITED, "ils": _LIMITED}


def furnish(folder: Path) -> None:
    """Write the objective, the program and the study into a folder."""
    (folder / "counted.py").write_text(COUNTED)
    (folder / "study.toml").write_text(STUDY)
    program = folder / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)


def solving(mode: str, algorithm: str, *, run: str = "run.db") -> list[str]:
    """Return the words of a run; the same ones continue it."""
    words = ["solve", *MODES[mode], "--n", "12", "-a", algorithm, *ALGORITHMS[algorithm], "--seed", "3"]
    return [*words, "--target", "1000", "--json", "--run", run]


def resuming(mode: str, run: str = "run.db") -> list[str]:
    """Return the words that resume it."""
    return ["resume", run, MODES[mode][0], "--json", *(["--persistent"] if mode == "persistent" else [])]


def has_begun(path: Path) -> bool:
    """Return True if a file holds a run; it is created before the run is in it."""
    from daedal.run.run_file import run_numbers

    try:
        return bool(run_numbers(path))
    except (OSError, ValueError):
        return False


@functools.cache
def undisturbed(mode: str, algorithm: str) -> dict[str, Any]:
    """Return the report of an undisturbed run."""
    with alone() as folder:
        ended = launch(command_line(solving(mode, algorithm)), folder).wait(120)
        assert ended.code == 0, ended.err
        return told(ended)


@functools.cache
def undisturbed_study() -> Any:
    """Return the runs of an undisturbed study."""
    with alone() as folder:
        ended = launch(command_line(STUDYING), folder).wait(120)
        assert ended.code == 0, ended.err
        return comparable(folder / "study.db")


@contextmanager
def alone() -> Iterator[Path]:
    """Make a folder for a run, and remove it."""
    root = Path(tempfile.mkdtemp())  # not TemporaryDirectory, which the forks would remove
    (root / "here").mkdir()
    furnish(root / "here")
    yield root / "here"
    shutil.rmtree(root)


STUDYING = ["study", "run", "study.toml", "--store", "study.db", "--workers", "2"]


def comparable(store: Path) -> Any:
    """Return the runs of a store, without fields that depend on the folder or the clock."""
    return sorted((seed, _shown(row)) for (_, seed), row in timeless_rows(stored(store)).items())


def _shown(row: dict[str, Any]) -> str:
    kept = {name: value for name, value in row.items() if name not in ("content", "environment")}
    return json.dumps(kept, sort_keys=True, default=repr)


def told(ended: Ended) -> dict[str, Any]:
    """Return the report of a command, without the clock."""
    report: dict[str, Any] = timeless(json.loads(ended.out))
    return report


def differences(came: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the differences between two reports."""
    odd = [name for name in sorted(came.keys() | expected.keys()) if came.get(name) != expected.get(name)]
    return [f"ended with another result: {name} {came.get(name)!r}, not {expected.get(name)!r}"[:200] for name in odd]


def wait_for_calls(process: Launched, folder: Path, count: int, seconds: float = 60.0) -> None:
    """Wait until the objective was called `count` times, or the process has ended."""
    calls, deadline = folder / "calls", time.monotonic() + seconds
    while process.is_running() and time.monotonic() < deadline:
        if calls.exists() and calls.stat().st_size >= count:
            return
        time.sleep(0.001)
