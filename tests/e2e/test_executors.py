"""Evaluations by somebody else's workers, a real Dask among them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
from cli_helpers import read_report, timeless
from process_helpers import wait_until

import daedal

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

HOW: dict[str, Any] = {"n": 16, "algorithm": "umda", "popsize": 60, "seed": 5, "max_generations": 6}


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def told(result: daedal.Result) -> tuple[object, ...]:
    """Everything but the clock."""
    history = [(one.evaluations, one.best, one.mean, dict(one.info)) for one in result.history]
    counts = (result.evaluations, result.repeated, result.failed)
    return (result.fitness, result.x.tolist(), result.stop, counts, history)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
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


# A cluster that goes away


class Cluster:
    """A scheduler and a worker, as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        how = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.scheduler = self._start("scheduler", *how, "--port", "0", "--host", "127.0.0.1")
        wait_until(lambda: self.file.exists() and self.file.read_text().endswith("}"))
        self.worker = self._start("worker", *how, "--nthreads", "1", "--no-nanny")
        self.address = json.loads(self.file.read_text())["address"]
        with distributed.Client(self.address) as client:
            client.wait_for_workers(1, timeout=60)

    def _start(self, kind: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.file.parent)

    def close(self) -> None:
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.close()


LINE = ("--n", 12, "-a", "umda", "--popsize", 30, "--seed", 3, "--by-row", "--json")
STANDS = """
import pathlib, time

FOLDER, calls = pathlib.Path(__file__).parent, 0

def ones(row):
    return float(row.sum())

def stands(row):
    global calls
    calls += 1
    if calls == 40:
        (FOLDER / "stands").touch()
        time.sleep(1000)
    return ones(row)
"""


@pytest.mark.parametrize(
    ("lost", "policy"), [("scheduler", "raise"), ("scheduler", "worst"), ("scheduler", "retry:2"), ("worker", "raise")]
)
def test_a_cluster_that_is_lost_ends_the_run_in_good_order(
    lost: str, policy: str, cluster: Cluster, here: Any, tmp_path: Path
) -> None:
    def kill() -> None:
        wait_until((tmp_path / "stands").exists)
        getattr(cluster, lost).kill()

    mine, file = tmp_path / "mine.py", tmp_path / "run.db"
    mine.write_text(STANDS)
    how = ("--dask", cluster.address, "--dask-timeout", 1, "--on-error", policy, "--run", file)
    killer = threading.Thread(target=kill)
    killer.start()
    done = here("solve", f"{mine}:stands", *LINE, *how)
    killer.join()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: the Dask scheduler")
    report = read_report(here("resume", file, f"{mine}:ones", "--json"))
    assert report["evaluations"] > 40
    if policy != "worst":  # where nothing counts as failed, it goes on as if nothing had been
        whole = read_report(here("solve", f"{mine}:ones", *LINE))
        assert timeless(report) == timeless(whole)


def test_a_scheduler_that_is_lost_ends_a_study_with_what_it_has(cluster: Cluster, here: Any, tmp_path: Path) -> None:
    def kill() -> None:
        wait_until((tmp_path / "stands").exists)
        cluster.scheduler.kill()

    signs_in = "    if calls == 1:\n        (FOLDER / ('run-' + str(len(list(FOLDER.glob('run-*')))))).touch()\n"
    text = STANDS.replace("    if calls == 40", f'{signs_in}    if (FOLDER / "run-3").exists()')
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "study.toml").write_text(
        "runs = 9\npopsizes = [30]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'mine.py:stands', n = 12, target = 12, by_row = true }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db")
    killer = threading.Thread(target=kill)
    killer.start()
    done = here(*words, "--dask", cluster.address, "--dask-timeout", 1)
    killer.join()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: the Dask scheduler")
    found = json.loads(here("study", "status", "--store", tmp_path / "results.db", "--json").stdout)
    assert found["failed"] == 0
    assert 0 < found["done"] < 9
