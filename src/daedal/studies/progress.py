"""How a study is to be run, and how far it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from daedal.settings.checks import check_whole
from daedal.studies.run import Run
from daedal.studies.spec import Cell, Study

MOST_CONFIRMED = 100_000
"""More runs than anybody will make to confirm a choice."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """How a study is to be run.

    A full grid runs every population size in full, though the answer is known earlier; `confirm` is how many fresh
    seeds confirm each choice. None stands for what held the last time. What was killed from outside is run again in
    any case, what has failed where `retry_failed` says so.
    """

    workers: int = 1
    full_grid: bool | None = None
    confirm: int | None = None
    retry_failed: bool = False

    def __post_init__(self) -> None:
        check_whole("workers", self.workers, least=1, hint="as many as the machine has cores")
        confirm = 0 if self.confirm is None else self.confirm
        if check_whole("confirm", confirm, least=0, hint="0 confirms nothing") > MOST_CONFIRMED:
            raise ValueError(f"expected at most confirm={MOST_CONFIRMED:,}, got confirm={self.confirm}")


@dataclass
class Progress:
    """How far a study is: all runs so far, those that ended now (done, some of them failed or killed), and those ahead.

    Ahead, by cell, are runs that are certain to be needed, those under way included; more may follow from what they
    bring. Found are runs that the store had already, and `took` are seconds on the clock, by the key of their cell.
    """

    study: Study
    order: Order
    runs: dict[str, dict[int, Run]]
    done: int = 0
    failed: int = 0
    killed: int = 0
    found: int = 0
    ahead: Counter[Cell] = field(default_factory=Counter)
    took: dict[str, list[float]] = field(default_factory=dict)
    workers: int = 1

    def seconds_left(self) -> float | None:
        """Say how long the runs ahead will take, as far as one can tell from those that have ended."""
        expected = {cell: self._expected(cell) for cell, count in self.ahead.items() if count}
        known = {cell: seconds for cell, seconds in expected.items() if seconds is not None}
        if not known:
            return None
        typical = sum(known.values()) / len(known)
        return sum(count * known.get(cell, typical) for cell, count in self.ahead.items()) / self.workers

    def _expected(self, cell: Cell) -> float | None:
        """Expect of a run what those of its cell took, or of a smaller size or budget, in proportion."""
        cells = self.study.cells_of(cell.problem, cell.algorithm)
        for other in reversed(cells[: cells.index(cell) + 1]):
            key = other.key
            cpu = [run.total_seconds for run in self.runs.get(key, {}).values() if run.total_seconds is not None]
            took = self.took.get(key, cpu)  # a program that is waited for takes no CPU time of ours
            if took:
                return sum(took) / len(took) * (cell.budget or cell.popsize or 1) / (other.budget or other.popsize or 1)
        return None


class Watcher(Protocol):
    """Who wants to see a study as it goes."""

    def update(self, progress: Progress) -> None:
        """Take notice that a run has ended."""
