"""Evaluations by somebody else's workers, a real Dask among them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from process_helpers import wait_until

import daedal

HOW: dict[str, Any] = {"n": 16, "algorithm": "umda", "popsize": 60, "seed": 5, "max_generations": 6}


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def told(result: daedal.Result) -> tuple[object, ...]:
    """Everything but the clock."""
    history = [(one.evaluations, one.best, one.mean, dict(one.info)) for one in result.history]
    counts = (result.evaluations, result.evaluated, result.cached, result.failed)
    return (result.fitness, result.x.tolist(), result.stop, counts, history)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(processes=True, **how) as cluster, distributed.Client(cluster) as client:
        yield client


class Plain(Executor):
    """No more than the interface asks for, as mpi4py's: no number of workers to be seen."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_the_result_does_not_depend_on_who_evaluates(client: Any) -> None:
    expected = told(daedal.maximize(ones, **HOW))
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
        Plain() as plain,
    ):
        for executor in (client.get_executor(), threads, processes, plain):
            assert told(daedal.maximize(ones, executor=executor, **HOW)) == expected
            assert executor.submit(abs, -3).result() == 3  # it is still its owner's


def test_closures_travel_and_what_cannot_is_named(client: Any) -> None:
    weights, lock = np.arange(16), threading.Lock()

    def locked(x: np.ndarray) -> np.ndarray:
        with lock:
            return x.sum(axis=1)

    expected = told(daedal.maximize(lambda x: x @ weights, **HOW))
    for how in ({"workers": 2}, {"executor": client.get_executor()}):
        assert told(daedal.maximize(lambda x: x @ weights, **how, **HOW)) == expected
        with pytest.raises(TypeError, match="lock"):
            daedal.maximize(locked, **how, **HOW)


def test_a_dask_worker_that_is_killed_in_the_middle_of_a_batch_changes_nothing(client: Any, tmp_path: Path) -> None:
    victim = tmp_path / "victim"

    def first_stands(x: np.ndarray) -> np.ndarray:
        """Until it is killed."""
        with suppress(FileExistsError):
            with victim.open("x") as note:
                note.write(f"{os.getpid()}\n")
            time.sleep(1000)
        return x.sum(axis=1)

    def kill() -> None:
        wait_until(lambda: victim.exists() and victim.read_text().endswith("\n"))
        os.kill(int(victim.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = daedal.maximize(first_stands, executor=client.get_executor(), **HOW)
    killer.join()
    assert told(result) == told(daedal.maximize(ones, **HOW))
    assert result.evaluations == result.evaluated + result.cached + result.failed
