"""Runs what a study still needs, over processes, and writes each run down when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from daedal.evaluation.executor_pool import ExecutorPool
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.objectives.bound import objective_size
from daedal.result import Result
from daedal.studies.lock import store_locked
from daedal.studies.progress import Order, Progress, Watcher
from daedal.studies.schedule import Schedule
from daedal.studies.spec import Cell, Study
from daedal.studies.store import Store
from daedal.studies.stored_algorithm import StoredConfiguration
from daedal.studies.worker import Pool, is_elsewhere, run_config, send, start_processes, without_files

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
    pool: PoolFactory = start_processes,
) -> Progress:
    """Run what is missing, in processes of our own or an executor's; what the store has is never run again.

    A run that raises, or whose process dies, is written down as failed, and the study goes on. Ctrl-C ends it: the
    runs under way are lost, all others are in the store. So does a Dask scheduler that is lost: see `maximize`.
    """
    with store_locked(store.path):
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
