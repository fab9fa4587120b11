"""Runs what a study still needs, over processes, and writes each run down when it ends."""

from __future__ import annotations

import fcntl
import heapq
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import IO, Protocol

from daedal.evaluation import memory_cache as cache
from daedal.evaluation.executor_pool import ExecutorPool
from daedal.evaluation.failures import signal_name
from daedal.evaluation.pickling import pack, unpack
from daedal.evaluation.process_pool import Event, Message, ProcessPool
from daedal.limits import StopReason
from daedal.objectives.process import kill_programs
from daedal.objectives.spec import travelling
from daedal.optimizers.eda import check_count
from daedal.result import Result
from daedal.study.comparison import Job
from daedal.study.environment import environment
from daedal.study.run import DONE, FAILED, KILLED, Run
from daedal.study.spec import Cell, Study
from daedal.study.status import needed
from daedal.study.store import Store

MOST_CONFIRMED = 100_000
"""More runs than anybody will make to confirm a choice."""

_MOST_KILLS = 5
"""How often a run may be killed from outside before it counts as failed."""

_AGAIN = "; the next time "
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@dataclass(frozen=True, kw_only=True)
class Order:
    """How a study is to be run.

    Parameters
    ----------
    workers
        Processes; the results do not depend on it.
    full_grid
        Whether to run every population size in full, though the answer is known earlier. None: as the last time.
    confirm
        How many fresh seeds confirm each choice. None: as the last time, and none at first.
    retry_failed
        Whether to run again what has failed. What was killed from outside is run again in any case.
    """

    workers: int = 1
    full_grid: bool | None = None
    confirm: int | None = None
    retry_failed: bool = False

    def __post_init__(self) -> None:
        check_count("workers", self.workers, 1, "as many as the machine has cores")
        if self.confirm is None:
            return
        if check_count("confirm", self.confirm, 0, "0 confirms nothing") > MOST_CONFIRMED:
            raise ValueError(f"expected at most confirm={MOST_CONFIRMED:,}, got confirm={self.confirm}")


class Watcher(Protocol):
    """Who wants to see a study as it goes."""

    def update(self, progress: Progress) -> None:
        """Take notice that a run has ended."""


@dataclass
class Progress:
    """How far a study is.

    Attributes
    ----------
    done, failed, killed
        Runs that ended now, those among them that failed, and those that were killed from outside.
    found
        Runs that the store had already.
    ahead
        Runs that are certain to be needed, those under way included, by cell; more may follow from what they bring.
    runs
        All runs so far, as `Store.runs` gives them.
    took
        Seconds on the clock of the runs that ended now, by the key of their cell.
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
        """Expect of a run what those of its cell took, or of a smaller size, in proportion."""
        sizes = cell.algorithm.popsizes
        for size in reversed(sizes[: sizes.index(cell.popsize) + 1]):
            key = self.study.cell(cell.problem, cell.algorithm, size).key
            cpu = [run.total_seconds for run in self.runs.get(key, {}).values() if run.total_seconds is not None]
            took = self.took.get(key, cpu)  # a program that is waited for takes no CPU time of ours
            if took:
                return sum(took) / len(took) * (cell.popsize or 1) / (size or 1)
        return None


def run_study(
    study: Study, store: Store, order: Order, watcher: Watcher | None = None, *, executor: Executor | None = None
) -> Progress:
    """Run what is missing; what the store has is never run again.

    Parameters
    ----------
    study, store, order
        What to run, where to write it down, and how.
    watcher
        Who wants to see it go.
    executor
        Who runs it, instead of processes of our own: Dask's `client.get_executor()`, say.

    A run that raises, or whose process dies, is written down as failed, and the study goes on. Ctrl-C ends it: the
    runs under way are lost, all others are in the store.
    """
    with _alone(store.path):
        confirm, full_grid = store.remember(study, confirm=order.confirm, full_grid=order.full_grid)
        schedule = _Schedule(study, store, replace(order, confirm=confirm, full_grid=full_grid))
        if watcher is not None:
            watcher.update(schedule.progress)
        if schedule.waiting:
            _prepare(study)
            with _crew(study, schedule.order, executor) as crew:
                schedule.progress.workers = crew.size
                _work_through(schedule, crew, watcher)
        return schedule.progress


def _prepare(study: Study) -> None:
    """Compile the kernels here, once, before several processes would do so at the same time."""
    cache.prepare()
    for algorithm in study.algorithms:
        algorithm.algorithm.model.prepare()


def _crew(study: Study, order: Order, executor: Executor | None) -> ProcessPool | ExecutorPool:
    """Find whoever makes the runs; never more processes than there can be runs."""
    if executor is not None:
        return ExecutorPool(executor, _run)
    most = len(study.cells()) * (study.runs + (order.confirm or 0))
    return ProcessPool(min(order.workers, most), _run, on_exit=kill_programs)


def _work_through(schedule: _Schedule, crew: ProcessPool | ExecutorPool, watcher: Watcher | None) -> None:
    under_way: dict[int, tuple[Cell, int]] = {}
    began: dict[int, float] = {}
    tickets = count()
    while schedule.waiting or under_way:
        while crew.idle and schedule.waiting:
            cell, seed = schedule.take()
            ticket = next(tickets)
            under_way[ticket] = cell, seed
            began[ticket] = time.monotonic()
            crew.start(ticket, travelled(cell.job(seed)) if _is_elsewhere(crew) else cell.job(seed))
        for news in crew.wait():
            cell, seed = under_way.pop(news.ticket)
            schedule.progress.took.setdefault(cell.key, []).append(time.monotonic() - began.pop(news.ticket))
            schedule.take_down(cell, seed, news)
        if watcher is not None:
            watcher.update(schedule.progress)


def _is_elsewhere(crew: ProcessPool | ExecutorPool) -> bool:
    """Whether its workers may be on machines that do not have the files of a study: those of Dask."""
    return isinstance(crew, ExecutorPool) and hasattr(crew.executor, "_client")


def travelled(job: Job) -> bytes:
    """Give a run with the function itself in it, for a machine that may not have its file."""
    return pack(replace(job, objective=travelling(job.objective)), "the objective")


def _run(work: Job | bytes) -> Result:
    """Make one run, in a worker."""
    job: Job = unpack(work) if isinstance(work, bytes) else work
    result = job.run()
    if result.stop is StopReason.INTERRUPTED:  # no Ctrl-C comes here
        raise RuntimeError("the objective raised KeyboardInterrupt")
    return result


class _Schedule:
    """Which runs come next: small populations first, and all problems and algorithms in turn.

    So a study that is half done can say something about all of them.
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

    def take_down(self, cell: Cell, seed: int, news: Message) -> None:
        """Write down what became of a run, and plan what follows from it."""
        status, outcome = _judged(news, self._killed.get((cell.key, seed), ""))
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


def _judged(news: Message, before: str) -> tuple[str, Result | str]:
    """Say what became of a run, which may have been killed before.

    Who is killed from outside again and again may be so for a reason of its own, such as too much memory.
    """
    if news.event is Event.DONE:
        return DONE, news.value
    if news.event is Event.RAISED:
        return FAILED, news.value
    if isinstance(news.value, int) and news.value >= 0:
        return FAILED, f"its process ended in the middle, with exit code {news.value}"
    if isinstance(news.value, int):
        how = f"its process was killed by {signal_name(-news.value)}"
        if -news.value not in _FROM_OUTSIDE:
            return FAILED, how
    else:  # somebody else's worker; whoever waited beside the one to blame is lost, too
        how = f"its worker was lost: {news.value}"
    how = f"{before}{_AGAIN}{how}" if before else how
    return FAILED if how.count(_AGAIN) + 1 >= _MOST_KILLS else KILLED, how


def _noted(seed: int, status: str, outcome: Result | str) -> Run:
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
        cpu=environment()["cpu"],
    )


def _opened(beside: Path, path: Path) -> IO[str]:
    try:
        return beside.open("w")
    except PermissionError as error:
        raise PermissionError(
            f"expected to write a store of study results in '{path}', but the file or its folder is read-only; "
            "make both writable or name another file"
        ) from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep a second study from doing the same work for the same store at the same time.

    A file beside the store is locked, which ends with the process, however it ends.
    """
    path = path.resolve()  # whatever name it goes by
    beside = path.with_name(path.name + ".lock")
    with _opened(beside, path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not beside.exists() or os.stat(beside).st_ino != os.fstat(file.fileno()).st_ino:
                raise BlockingIOError  # whoever held it has just removed it
        except BlockingIOError as error:
            raise ValueError(
                f"expected to run a study with {path} alone, but another process is doing so; wait for its end, or "
                "name another store"
            ) from error
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)
