"""Which runs of a study come next, and what becomes of each."""

from __future__ import annotations

import heapq
import signal

from daedal.evaluation.failures import signal_name
from daedal.evaluation.pool import Event, Message
from daedal.result import Result
from daedal.study.environment import environment
from daedal.study.progress import Order, Progress
from daedal.study.run import DONE, FAILED, KILLED, Run
from daedal.study.spec import Cell, Study
from daedal.study.status import needed
from daedal.study.store import Store

_MOST_KILLS = 5
"""How often a run may be killed from outside before it counts as failed."""

_AGAIN = "; the next time "
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Schedule:
    """Which runs come next: small populations first, and all problems and algorithms in turn.

    So a study that is half done can say something about all of them.

    Parameters
    ----------
    study, store
        What to run, and where it is written down.
    order
        How to run it, with nothing left open.
    """

    def __init__(self, study: Study, store: Store, order: Order) -> None:
        self.study = study
        self.store = store
        self.order = order
        runs = store.runs()
        self.progress = Progress(study=study, order=order, runs=self._usable(runs))
        self._killed = {  # before, and how
            (key, seed): run.error or ""
            for key, of_cell in runs.items()
            for seed, run in of_cell.items()
            if run.status == KILLED
        }
        self._pairs = study.pairs()
        self._queued: set[tuple[str, int]] = set()
        self._heap: list[tuple[int, int, int, Cell]] = []
        mine = {cell.key for cell in study.cells()}
        seeds = (study.seeds, study.fresh_seeds(order.confirm or 0))
        self.progress.found = sum(
            any(seed in some for some in seeds) for key in mine for seed in self.progress.runs.get(key, {})
        )
        self._sharing: dict[str, list[int]] = {}  # two names may stand for one thing
        for index, (problem, algorithm) in enumerate(self._pairs):
            for popsize in algorithm.popsizes:
                self._sharing.setdefault(study.cell(problem, algorithm, popsize).key, []).append(index)
        for index in range(len(self._pairs)):
            self._plan(index)

    def _usable(self, runs: dict[str, dict[int, Run]]) -> dict[str, dict[int, Run]]:
        """Leave out what is to be run again."""
        again = {KILLED, FAILED} if self.order.retry_failed else {KILLED}
        return {
            key: {seed: run for seed, run in of_cell.items() if run.status not in again}
            for key, of_cell in runs.items()
        }

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
        self.progress.runs.setdefault(cell.key, {})[seed] = _noted(seed, status, outcome)
        for index in self._sharing[cell.key]:
            self._plan(index)

    def _plan(self, index: int) -> None:
        """Queue the runs of a problem and an algorithm that are certain to be needed."""
        problem, algorithm = self._pairs[index]
        order = self.order
        confirm, full_grid = order.confirm or 0, bool(order.full_grid)
        for popsize, seed in needed(self.study, self.progress.runs, problem, algorithm, confirm, full_grid):
            cell = self.study.cell(problem, algorithm, popsize)
            if (cell.key, seed) not in self._queued:
                self._queued.add((cell.key, seed))
                self.progress.ahead[cell] += 1
                heapq.heappush(self._heap, (algorithm.popsizes.index(popsize), seed, index, cell))


def judged(message: Message, before: str) -> tuple[str, Result | str]:
    """Say what became of a run, which may have been killed before: its status, and its result or its error.

    Who is killed from outside again and again may be so for a reason of its own, such as too much memory.

    Examples
    --------
    >>> judged(Message(0, Event.DIED, -9), "")
    ('killed', 'its process was killed by SIGKILL')
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


def _noted(seed: int, status: str, outcome: Result | str) -> Run:
    """Give what a store would say of a run."""
    if isinstance(outcome, str):
        return Run(seed=seed, status=status, success=False, error=outcome, cpu=environment()["cpu"])
    return Run(
        seed=seed,
        status=status,
        success=outcome.success,
        best=outcome.fitness,
        optimum=outcome.optimum,
        evaluations=outcome.evaluations_to_best,
        seconds=outcome.cpu_seconds_to_best,
        total_seconds=outcome.cpu_seconds,
        batches=outcome.batches,
        generations=outcome.generations,
        cpu=environment()["cpu"],
    )
