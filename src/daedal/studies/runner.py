"""The runner of a study: makes the runs that are missing in other processes, and records each when it ends."""

from __future__ import annotations

import heapq
import pickle
import statistics
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
from daedal.studies.analysis import mean_sd
from daedal.studies.plan import needed
from daedal.studies.spec import Cell, StoredConfiguration, Study
from daedal.studies.store import DONE, FAILED, KILLED, Run, Store
from daedal.threads import Shared

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
            cpu = [run.cpu_seconds for run in self.runs.get(key, {}).values() if run.cpu_seconds is not None]
            took = self.took.get(key, cpu)  # a program that is waited for takes no CPU time of ours
            if took:
                return sum(took) / len(took) * (cell.budget or cell.popsize or 1) / (other.budget or other.popsize or 1)
        return None


class Watcher(Protocol):
    """Who wants to see a study as it goes."""

    def update(self, progress: Progress) -> None:
        """Take notice that a run has ended."""


_MOST_KILLS = 5
"""How often a run may be killed from outside before it counts as failed."""

_AGAIN = "; the next time "
_FROM_OUTSIDE = {*ENDINGS, 9}  # SIGKILL, which Windows lacks


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
        run = self.store.record(cell, seed, outcome, status=status)
        self.progress.ahead[cell] -= 1
        self.progress.done += 1
        self.progress.failed += status == FAILED
        self.progress.killed += status == KILLED
        if status == KILLED:
            return  # what it would have brought nobody knows; the next time it is run again
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


Pool: TypeAlias = ProcessPool | ExecutorPool


def send(pool: Pool, ticket: int, config: RunConfig) -> None:
    """Give a run to a worker that is idle."""
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
    """Whether its workers may be on machines that do not have the files of a study: those of Dask."""
    return hasattr(executor, "_client")


def without_files(config: RunConfig) -> RunConfig:
    """Give a run whose code travels with it, to a machine that may not have the files that it comes from."""
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
    """Make one of many runs: what the objective prints goes to standard error, nobody is warned, nothing is traced."""
    with _QUIET:
        return config.run(warn=False, traced=False)


@cache
def _check_unchanged(source: str | None, digest: str | None) -> None:
    """Refuse an algorithm whose file is not what it was; once, for what is loaded does not change with its file."""
    path = "" if source is None else source.rpartition(":")[0]
    if digest is not None and Path(path).is_file() and file_digest(path) != digest:
        raise ValueError(f"{path} has changed since the study was read; run the study again")


PoolFactory: TypeAlias = Callable[[int, Callable[[Any], Result]], Pool]
"""Makes workers: so many, with what they do."""


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
    """Run what is missing, in processes of our own or an executor's; what the store has is never run again.

    A run that raises, or whose process dies, is written down as failed, and the study goes on. Ctrl-C ends it: the
    runs under way are lost, all others are in the store. So does a Dask scheduler that is lost: see `maximize`.
    """
    with store.locked():
        for one in study.algorithms:
            if isinstance(one.algorithm.configuration, StoredConfiguration):
                one.algorithm.configuration.refuse()
        if study.budgets and order.confirm:
            raise ValueError(
                "a study with budgets chooses no population size, so there is nothing to confirm: leave out --confirm"
            )
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
    """Compile the kernels here, once, before several processes would do so at the same time."""
    for algorithm in study.algorithms:
        config = study.cells_of(study.problems[0], algorithm)[0].config(study.seed)
        with suppress(Exception):  # what is wrong with it, its runs will say
            n = objective_size(config.objective, config.n)
            config.algorithm.configuration.prepare(n, config.limits.max_evaluations)


def _workers(study: Study, order: Order, executor: Executor | None, timeout: float, pool: PoolFactory) -> Pool:
    """Find whoever makes the runs; never more processes than there can be runs."""
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
    """Make runs, spread over processes, and give each one's index and result as it ends.

    The results do not depend on the number of workers. A run that raises ends them all. Whoever stops listening ends
    the processes.
    """
    if workers == 1:
        for index, config in enumerate(configs):
            result = run_quietly(config)
            if result.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # one run makes the best of it, a comparison has no use for half a run
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
    """Make one run in a worker; what it raises is sent as it is."""
    try:
        return run_quietly(config)
    except (ValueError, TypeError, OSError) as error:
        return error


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the runs of one algorithm came to: means over its runs, evaluations up to the best.

    Solved is None where neither a target nor the optimum is known.
    """

    runs: int
    solved: int | None
    best: float
    evaluations_to_best: float
    evaluations_to_best_sd: float
    cpu_seconds: float
    cpu_seconds_per_evaluation: float


def summarise(results: Sequence[Result]) -> Summary:
    """Sum up the runs of one algorithm, at least one."""
    evaluations, evaluations_sd = mean_sd(result.evaluations_to_best for result in results)
    cpu = [result.cpu_seconds for result in results]
    known = [result.success for result in results if result.success is not None]
    return Summary(
        runs=len(results),
        solved=sum(known) if known else None,
        best=statistics.fmean(result.score for result in results),
        evaluations_to_best=evaluations,
        evaluations_to_best_sd=evaluations_sd,
        cpu_seconds=statistics.fmean(cpu),
        cpu_seconds_per_evaluation=sum(cpu) / sum(result.evaluations for result in results),
    )
