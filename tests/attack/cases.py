"""Cases, which are drawn from a seed and a number so that each can be run again, and the processes that run them."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import pkgutil
import random
import shutil
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from processes import adopt_orphans, clear_away
from sandbox import mend_devices

CHUNK = 40
"""Cases that one process runs, one after the other."""

Order: TypeAlias = tuple[str, int, int]
"""Part, seed and number of a case."""


@dataclass(frozen=True)
class Case:
    """One attack: its part, the seed, its number, and a folder of its own."""

    part: str
    seed: int
    index: int
    folder: Path

    @cached_property
    def rng(self) -> random.Random:
        """Random numbers of this case alone."""
        return random.Random(f"{self.seed} {self.part} {self.index}")


@dataclass
class Tried:
    """What was tried, in one line, and what went wrong."""

    what: str
    problems: list[str] = field(default_factory=list)
    may_leave: bool = False
    """If True, processes may be left, because only the objective could have ended them."""


@dataclass(frozen=True)
class Part:
    """A kind of attack: the number of cases, in full and in the quick size, and the function that runs one."""

    full: int
    quick: int
    attempt: Callable[[Case], Tried]


def load_parts(names: Sequence[str]) -> dict[str, Part]:
    """Load parts, and all of daedal with its kernels, so that a fork of this process need not do it each time."""
    import daedal

    for module in pkgutil.walk_packages(daedal.__path__, "daedal."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    "".encode("cp437")  # the encoding of names in zip files
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in daedal.algorithms():
            daedal.maximize("trap:k=4,n=12", algorithm=name, seed=1, max_evaluations=150)
        daedal.maximize("nk:n=12,k=2,seed=1", algorithm="umda", seed=1, max_evaluations=150)
    importlib.import_module("zoo").contents()
    return {name: importlib.import_module(name).PART for name in names}


def run_all(
    parts: dict[str, Part], orders: list[Order], root: Path, *, workers: int, until: float
) -> Iterator[dict[str, Any]]:
    """Run cases in forks of this process, as long as there is time, and yield a report of each."""
    chunks = [[*chunk] for _, group in itertools.groupby(orders, lambda order: order[0]) for chunk in _chunks(group)]
    running: dict[int, tuple[list[Order], Path]] = {}
    for number in itertools.count():
        if chunks and len(running) < workers:
            chunk, notes = chunks.pop(0), root / f"reports-{number}"
            notes.touch()
            if not (pid := os.fork()):
                _serve(parts, chunk, root, notes, until)
            running[pid] = chunk, notes
            continue
        if not running:
            return
        pid, status = os.wait()
        if pid not in running:  # an orphan
            continue
        chunk, notes = running.pop(pid)
        reports = [json.loads(line) for line in notes.read_text().splitlines()]
        if status and len(reports) < len(chunk):
            code = os.waitstatus_to_exitcode(status)
            reports.append({"what": "?", "problems": [f"it ended the attacker, with exit code {code}"], "seconds": 0.0})
            chunks.insert(0, chunk[len(reports) :])
        for order, report in zip(chunk, reports, strict=False):
            yield dict(zip(("part", "seed", "index"), order, strict=True)) | report


def _chunks(orders: Iterator[Order]) -> Iterator[list[Order]]:
    while chunk := list(itertools.islice(orders, CHUNK)):
        yield chunk


def _serve(parts: dict[str, Part], orders: list[Order], root: Path, notes: Path, until: float) -> None:
    """Run cases in a new process, which ends then."""
    try:
        os.setsid()
        adopt_orphans()
        with notes.open("w", buffering=1) as file:
            for part, seed, index in orders:
                if time.monotonic() < until:
                    file.write(json.dumps(_report(parts[part], Case(part, seed, index, root))) + "\n")
    except BaseException:  # noqa: BLE001  it must not go on as its parent does
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _report(part: Part, case: Case) -> dict[str, Any]:
    """Run a case in a folder that is removed afterwards, and check that nothing is left."""
    folder = case.folder / "cases" / f"{case.part}-{case.index}" / "here"
    folder.mkdir(parents=True)
    started = time.monotonic()
    try:
        tried = part.attempt(Case(case.part, case.seed, case.index, folder))
    except Exception:  # noqa: BLE001  a mistake in the attack must not end all others
        tried = Tried("?", ["the attack itself failed: " + traceback.format_exc()])
    left = clear_away()
    if left and not tried.may_leave:
        tried.problems.append(f"left behind: {'; '.join(left)}")
    tried.problems += mend_devices()
    shutil.rmtree(folder.parent, ignore_errors=True)
    return {"what": tried.what, "problems": tried.problems, "seconds": time.monotonic() - started}
