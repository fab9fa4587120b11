"""Consoles that remember what they show, clocks that tests move, and runs to display."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

from rich.console import Console

from daedal.limits import Limits
from daedal.result.records import Generation
from daedal.run.view import RunProgress, RunView


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_console(*, kind: str | None = None, width: int = 100, height: int = 30) -> Console:
    """Return a console that remembers what it shows, on a terminal of a kind or on none."""
    variables = {} if kind is None else {"TERM": kind}
    moves = kind is not None
    return Console(file=io.StringIO(), width=width, height=height, force_terminal=moves, _environ=variables)


def text_of(console: Console) -> str:
    """Return everything that was shown."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def plain(text: str) -> str:
    """Leave out control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def left_on(console: Console) -> str:
    """Return what a terminal shows at the end, below everything that was erased."""
    return plain(re.split(r"\x1b\[2K", text_of(console))[-1])


def a_record(generation: int, *, best: float = 7.5, **info: float) -> Generation:
    """Return the record of a generation."""
    return Generation(generation=generation, evaluations=1000 * generation, best=best, mean=1 / 3, info=info)


@dataclass
class ARun:
    """A run to display, with the progress that it is given."""

    title: str = "dae on trap:k=5,n=50, seed 1"
    goal: float | None = None
    limits: Limits = field(default_factory=Limits)
    clock: Clock = field(default_factory=Clock)
    has_begun: bool = True
    evaluations: int = 0
    rows: int = 0
    answered: int = 0
    best: float | None = None

    def progress(self) -> RunProgress:
        """Return the progress; the clock of the run began with that of the test."""
        return RunProgress(
            has_begun=self.has_begun,
            seconds=self.clock.now - 1000.0,
            evaluations=self.evaluations,
            rows=self.rows,
            answered=self.answered,
            best=self.best,
        )

    @property
    def view(self) -> RunView:
        """The view of a display."""
        return RunView(title=self.title, goal=self.goal, limits=self.limits, progress=self.progress)
