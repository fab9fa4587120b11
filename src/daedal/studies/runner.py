"""The runner of a study: makes the runs that are missing in other processes, and records each when it ends."""

from __future__ import annotations

import heapq
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from daedal.evaluation.executor_pool import ExecutorPool
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.evaluation.process_pool import ProcessPool
from daedal.evaluation.signals import ENDINGS, signal_name
from daedal.evaluation.worker import Event, Message, pack, unpack
from daedal.limits import StopReason
from daedal.objectives.bound import objective_size
from daedal.objectives.spec import by_value
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.settings.checks import check_whole
from daedal.settings.parameters import current
from daedal.settings.plugins import file_digest, send_by_value
from daedal.studies.plan import needed
from daedal.studies.spec import Cell, Study
from daedal.studies.store import DONE, FAILED, KILLED, Run, Store
from daedal.threads import Shared

MOST_CONFIRMED = 100_000
"""Maximum number of runs that confirm a choice."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """How a study is run.

    `full_grid` runs every population size in full, and `confirm` is the number of other seeds that confirm each choice;
    None: as the last time. Runs that were killed from outside are always made again, and failed ones if `retry_failed`.
    """

    workers: int = 1
    full_grid: bool | None = None
    confirm: int | None = None
    retry_failed: bool = False

    def __post_init__(self) -> None:
        check_whole("workers", self.workers, least=1, hint="as many as the machine has cores")
        confirm = 0 if self.confirm is None else self.confirm
        if check_whole("confirm", confirm, least=0, hint="0 confirms nothing") > MOST_CONFIRMED:
            raise ValueError(f"confirm must be at most {MOST_CONFIRMED:,}, got confirm={self.confirm}")


@dataclass
class Progress:
    """How far a study is.

    Attributes
    ----------
    runs, found
        All runs so far, and how many of them the store had already.
    done, failed, killed
        Runs that ended now; those that failed or were killed are counted in `done`, too.
    ahead
        Runs by cell that are certain to be needed, including those under way.
    took
        Seconds of the runs that ended now, by the key of their cell.
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
        """Estimate the time of the runs ahead from those that have ended."""
        expected = {cell: self._expected(cell) for cell, count in self.ahead.items() if count}
        known = {cell: seconds for cell, seconds in expected.items() if seconds is not None}
        if not known:
            return None
        typical = sum(known.values()) / len(known)
        return sum(count * known.get(cell, typical) for cell, count in self.ahead.items()) / self.workers

    def _expected(self, cell: Cell) -> float | None:
        """Return the mean time of the runs of a cell, or of a smaller size or budget in proportion."""
        cells = self.study.cells_of(cell.problem, cell.algorithm)
        for other in reversed(cells[: cells.index(cell) + 1]):
            key = other.key
            cpu = [run.cpu_seconds for run in self.runs.get(key, {}).values() if run.cpu_seconds is not None]
            took = self.took.get(key, cpu)  # a program that is waited for takes no CPU time of ours
            if took:
                return sum(took) / len(took) * (cell.budget or cell.popsize or 1) / (other.budget or other.popsize or 1)
        return None


class Watcher(Protocol):
    """Anything that follows a study."""

    def update(self, progress: Progress) -> None:
        """Do something when a run has ended."""


_FROM_OUTSIDE = {*ENDINGS, 9}  # SIGKILL, which Windows lacks


class Schedule:
    """The order of runs: small populations or budgets first, and all problems and algorithms in turn.

    So a study that is half done can say something about all of them.
    """

    def __init__(self, study: Study, store: Store, order: Order) -> None:
        self.study = study
        self.store = store
        self.order = order
        again = {KILLED, FAILED} if order.retry_failed else {KILLED}
        usable = {
            key: {seed: run for seed, run in of_cell.items() if run.status not in again}
            for key, of_cell in store.runs().items()
        }
        self.progress = Progress(study=study, order=order, runs=usable)
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
        """Number of runs that wait for a worker."""
        return len(self._heap)

    def take(self) -> tuple[Cell, int]:
        """Return the next run."""
        _, seed, _, cell = heapq.heappop(self._heap)
        return cell, seed

    def take_down(self, cell: Cell, seed: int, message: Message) -> None:
        """Record what became of a run, and plan what follows from it."""
        status, outcome = judged(message)
        cell.problem.check_unchanged()
        run = self.store.record(cell, seed, outcome, status=status)
        self.progress.ahead[cell] -= 1
        self.progress.done += 1
        self.progress.failed += status == FAILED
        self.progress.killed += status == KILLED
        if status == KILLED:
            return  # its outcome is unknown; the next time it is run again
        self.progress.runs.setdefault(cell.key, {})[seed] = run
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


def judged(message: Message) -> tuple[str, Result | str]:
    """Return what became of a run: its status, and its result or its error."""
    match message.event, message.value:
        case Event.DONE, result:
            return DONE, result
        case Event.RAISED, error:
            return FAILED, error
        case _, int(code) if code >= 0:
            return FAILED, f"its process ended in the middle, with exit code {code}"
        case _, int(code):
            return KILLED if -code in _FROM_OUTSIDE else FAILED, f"its process was killed by {signal_name(-code)}"
    return KILLED, f"its worker was lost: {message.value}"  # of an executor


Pool: TypeAlias = ProcessPool | ExecutorPool


def send(pool: Pool, ticket: int, config: RunConfig) -> None:
    """Send a run to an idle worker."""
    if isinstance(pool, ExecutorPool) and is_elsewhere(pool.executor):
        pool.start(ticket, pack(without_files(config), "the run"))
        return
    try:
        pool.start(ticket, config)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{config.algorithm.name} cannot be sent to another process ({error}); give it a name of its own at the "
            "top of its file"
        ) from error


def is_elsewhere(executor: Executor) -> bool:
    """Return True if workers may be on machines without the files of a study, as with Dask."""
    return hasattr(executor, "_client")


def without_files(config: RunConfig) -> RunConfig:
    """Return a run whose code is sent with it, to a machine that may not have the files that it comes from."""
    configuration = config.algorithm.configuration
    for part in (configuration, *current(configuration).values()):
        send_by_value(part)
    return replace(config, objective=by_value(config.objective))


def run_config(work: RunConfig | bytes) -> Result:
    """Make a run of a study, in a worker."""
    config: RunConfig = unpack(work) if isinstance(work, bytes) else work
    _check_unchanged(config.algorithm.source, config.algorithm.digest)
    result = run_quietly(config)
    if result.stop is StopReason.INTERRUPTED:  # no Ctrl-C comes here
        raise RuntimeError("the objective raised KeyboardInterrupt")
    return result


_QUIET = Shared(lambda: redirect_stdout(sys.stderr))  # an executor's workers may be threads of one process


def run_quietly(config: RunConfig) -> Result:
    """Make one of many runs, without warnings and traces; what the objective prints goes to standard error."""
    with _QUIET:
        return config.run(warn=False, traced=False)


@cache
def _check_unchanged(source: str | None, digest: str | None) -> None:
    """Refuse an algorithm whose file has changed. Once is enough, because a loaded file does not change."""
    path = "" if source is None else source.rpartition(":")[0]
    if digest is not None and Path(path).is_file() and file_digest(path) != digest:
        raise ValueError(f"{path} has changed since the study was read; run the study again")


PoolFactory: TypeAlias = Callable[[int, Callable[[Any], Result]], Pool]
"""Makes a number of workers that call a function."""


def run_study(
    study: Study,
    store: Store,
    order: Order,
    watcher: Watcher | None = None,
    *,
    executor: Executor | None = None,
    executor_timeout: float = EXECUTOR_TIMEOUT,
    pool: PoolFactory = ProcessPool,
) -> Progress:
    """Make the missing runs of a study, in processes or with an executor.

    A run that raises, or whose process dies, is recorded as failed, and the study continues. Ctrl-C ends the study, and
    so does a lost Dask scheduler: the runs under way are lost, all others are in the store.
    """
    with store.locked():
        study = study.runnable()
        if study.budgets and order.confirm:
            raise ValueError("a study with budgets chooses no population size to confirm; leave out --confirm")
        confirm, full_grid = store.remember(study, confirm=order.confirm, full_grid=order.full_grid)
        schedule = Schedule(study, store, replace(order, confirm=confirm, full_grid=full_grid))
        if watcher is not None:
            watcher.update(schedule.progress)
        if schedule.waiting:
            _prepare(study)
            with _workers(study, schedule.order, executor, executor_timeout, pool) as workers:
                schedule.progress.workers = workers.size
                _work_through(schedule, workers, watcher)
        return schedule.progress


def _prepare(study: Study) -> None:
    """Compile the kernels once, before several processes would do so at the same time."""
    for algorithm in study.algorithms:
        config = study.cells_of(study.problems[0], algorithm)[0].config(study.seed)
        with suppress(Exception):  # what is wrong with it, its runs will say
            n = objective_size(config.objective, config.n)
            config.algorithm.configuration.prepare(n, config.limits.max_evaluations)


def _workers(study: Study, order: Order, executor: Executor | None, timeout: float, pool: PoolFactory) -> Pool:
    """Return the workers; never more processes than runs."""
    if executor is None:
        return pool(min(order.workers, len(study.cells()) * (study.runs + (order.confirm or 0))), run_config)
    if is_elsewhere(executor):
        for cell in study.cells():
            without_files(cell.config(study.seed))
    return ExecutorPool(executor, run_config, timeout=timeout)


def _work_through(schedule: Schedule, workers: Pool, watcher: Watcher | None) -> None:
    under_way: dict[int, tuple[Cell, int, float]] = {}
    tickets = count()
    while schedule.waiting or under_way:
        while workers.idle and schedule.waiting:
            cell, seed = schedule.take()
            ticket = next(tickets)
            under_way[ticket] = cell, seed, time.monotonic()
            send(workers, ticket, cell.config(seed))
        for message in workers.wait():
            cell, seed, began = under_way.pop(message.ticket)
            schedule.progress.took.setdefault(cell.key, []).append(time.monotonic() - began)
            schedule.take_down(cell, seed, message)
        if watcher is not None:
            watcher.update(schedule.progress)


def run_all(configs: Sequence[RunConfig], *, workers: int = 1) -> Iterator[tuple[int, Result]]:
    """Make runs in processes, and yield the index and the result of each as it ends.

    The results do not depend on the number of workers. A run that raises ends all others.
    """
    if workers == 1:
        for index, config in enumerate(configs):
            result = run_quietly(config)
            if result.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # a comparison has no use for half a run
            yield index, result
        return
    waiting = list(enumerate(configs))[::-1]
    ended = 0
    with ProcessPool(min(workers, len(configs)), _run_or_error) as pool:
        while ended < len(configs):
            while waiting and pool.idle:
                send(pool, *waiting.pop())
            for message in pool.wait():
                if message.event is Event.DIED:
                    raise ValueError("a worker process ended in the middle of a run; does the objective end it?")
                if isinstance(message.value, Exception):
                    raise message.value
                if message.event is Event.RAISED:
                    raise ValueError(message.value)
                ended += 1
                yield message.ticket, message.value


def _run_or_error(config: RunConfig) -> Result | Exception:
    """Make one run in a worker, or return the exception that it raises."""
    try:
        return run_quietly(config)
    except (ValueError, TypeError, OSError) as error:
        return error
