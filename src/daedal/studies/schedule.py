"""Which runs of a study come next, and what becomes of each."""

from __future__ import annotations

import heapq
import signal

from daedal.evaluation.pool import Event, Message
from daedal.evaluation.signals import signal_name
from daedal.result import Result
from daedal.studies.progress import Order, Progress
from daedal.studies.run import DONE, FAILED, KILLED
from daedal.studies.spec import Cell, Study
from daedal.studies.status import needed
from daedal.studies.store import Store

_MOST_KILLS = 5
"""How often a run may be killed from outside before it counts as failed."""

_AGAIN = "; the next time "
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Schedule:
    """Which runs come next: small populations, or budgets, first, and all problems and algorithms in turn.

    So a study that is half done can say something about all of them. The order leaves nothing open.
    """

    def __init__(self, study: Study, store: Store, order: Order) -> None:
        self.study = study
        self.store = store
        self.order = order
        runs = store.runs()
        again = {KILLED, FAILED} if order.retry_failed else {KILLED}
        usable = {
            key: {seed: run for seed, run in of_cell.items() if run.status not in again}
            for key, of_cell in runs.items()
        }
        self.progress = Progress(study=study, order=order, runs=usable)
        self._killed = {  # before, and how
            (key, seed): run.error or ""
            for key, of_cell in runs.items()
            for seed, run in of_cell.items()
            if run.status == KILLED
        }
        self._pairs = study.pairs()
        self._queued: set[tuple[str, int]] = set()
        self._heap: list[tuple[int, int, int, Cell]] = []
        self._sharing: dict[str, list[int]] = {}  # two names may stand for one thing
        for index, (problem, algorithm) in enumerate(self._pairs):
            for cell in study.cells_of(problem, algorithm):
                self._sharing.setdefault(cell.key, []).append(index)
        known, fresh = study.seeds, study.fresh_seeds(order.confirm or 0)
        found = (seed for key in self._sharing for seed in usable.get(key, {}))
        self.progress.found = sum(seed in known or seed in fresh for seed in found)
        for index in range(len(self._pairs)):
            self._plan(index)

    @property
    def waiting(self) -> int:
        """How many runs wait for a worker."""
        return len(self._heap)

    def take(self) -> tuple[Cell, int]:
        """Give the next run."""
        _, seed, _, cell = heapq.heappop(self._heap)
        return cell, seed

    def take_down(self, cell: Cell, seed: int, message: Message) -> None:
        """Write down what became of a run, and plan what follows from it."""
        status, outcome = judged(message, self._killed.get((cell.key, seed), ""))
        cell.problem.check_unchanged()
        self.store.record(cell, seed, outcome, status=status)
        self.progress.ahead[cell] -= 1
        self.progress.done += 1
        self.progress.failed += status == FAILED
        self.progress.killed += status == KILLED
        if status == KILLED:
            return  # what it would have brought nobody knows; the next time it is run again
        self.progress.runs.setdefault(cell.key, {})[seed] = self.store.run(cell, seed)
        for index in self._sharing[cell.key]:
            self._plan(index)

    def _plan(self, index: int) -> None:
        """Queue the runs of a problem and an algorithm that are certain to be needed."""
        problem, algorithm = self._pairs[index]
        confirm, full_grid = self.order.confirm or 0, bool(self.order.full_grid)
        places = {cell.key: place for place, cell in enumerate(self.study.cells_of(problem, algorithm))}
        for cell, seed in needed(self.study, self.progress.runs, problem, algorithm, confirm, full_grid):
            if (cell.key, seed) not in self._queued:
                self._queued.add((cell.key, seed))
                self.progress.ahead[cell] += 1
                heapq.heappush(self._heap, (places[cell.key], seed, index, cell))


def judged(message: Message, before: str) -> tuple[str, Result | str]:
    """Say what became of a run, which may have been killed before: its status, and its result or its error.

    Who is killed from outside again and again may be so for a reason of its own, such as too much memory.
    """
    if message.event is Event.DONE:
        return DONE, message.value
    if message.event is Event.RAISED:
        return FAILED, message.value
    if isinstance(message.value, int) and message.value >= 0:
        return FAILED, f"its process ended in the middle, with exit code {message.value}"
    if isinstance(message.value, int):
        how = f"its process was killed by {signal_name(-message.value)}"
        if -message.value not in _FROM_OUTSIDE:
            return FAILED, how
    else:  # somebody else's worker; whoever waited beside the one to blame is lost, too
        how = f"its worker was lost: {message.value}"
    how = f"{before}{_AGAIN}{how}" if before else how
    return FAILED if how.count(_AGAIN) + 1 >= _MOST_KILLS else KILLED, how
