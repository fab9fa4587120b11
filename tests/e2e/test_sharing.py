"""Evaluations by somebody else's workers, a real Dask among them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import daedal

HOW: dict[str, Any] = {"n": 16, "algorithm": "umda", "popsize": 60, "seed": 5, "max_generations": 6}


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def told(result: daedal.Result) -> tuple[object, ...]:
    """Everything but the clock."""
    history = [(one.evaluations, one.best, one.mean, dict(one.info)) for one in result.history]
    counts = (result.evaluations, result.carried_out, result.cached, result.failed)
    return (result.fitness, result.x.tolist(), result.stop, counts, history)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Plain(Executor):
    """No more than the interface asks for, as mpi4py's: no number of workers to be seen."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
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


def test_lambdas_and_closures_travel(client: Any) -> None:
    weights = np.arange(16)
    expected = told(daedal.maximize(lambda x: x @ weights, **HOW))
    assert told(daedal.maximize(lambda x: x @ weights, executor=client.get_executor(), **HOW)) == expected
    assert told(daedal.maximize(lambda x: x @ weights, workers=2, **HOW)) == expected


def test_what_cannot_be_sent_is_named(client: Any) -> None:
    lock = threading.Lock()

    def locked(x: np.ndarray) -> np.ndarray:
        with lock:
            return x.sum(axis=1)

    for how in ({"workers": 2}, {"executor": client.get_executor()}):
        with pytest.raises(TypeError, match=r"the objective cannot be sent to another process .*lock"):
            daedal.maximize(locked, **how, **HOW)


def test_a_dask_worker_that_is_killed_in_the_middle_of_a_batch_changes_nothing(client: Any) -> None:
    def slow(x: np.ndarray) -> np.ndarray:
        time.sleep(0.01 * len(x))
        return x.sum(axis=1)

    victims = list(client.run(os.getpid).values())

    def kill() -> None:
        time.sleep(0.5)  # a generation takes about so long
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = daedal.maximize(slow, executor=client.get_executor(), **HOW)
    killer.join()
    assert told(result) == told(daedal.maximize(ones, **HOW))
    assert result.evaluations == result.carried_out + result.cached + result.failed
    client.wait_for_workers(2)
    assert victims[0] not in client.run(os.getpid).values()
