"""The same seeds for several algorithms: jobs over processes, and what they come to."""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import daedal
from daedal.evaluation.caller import ObjectiveError
from daedal.limits import Limits
from daedal.optimizers.presets import find_algorithm
from daedal.problems import Problem, Trap
from daedal.result import Result
from daedal.study.comparison import Job, Summary, run_jobs, summarise
from daedal.types import Bits, Fitness


@dataclass(frozen=True)
class Ones:
    """Counts ones; may take its time, or fail, once a row has as many of them."""

    n: int
    optimum: float | None = None
    seconds: float = 0.0
    fails: bool = False

    def evaluate(self, x: Bits) -> Fitness:
        time.sleep(self.seconds)
        if self.fails:
            raise RuntimeError("no such ones")
        return x.sum(axis=1).astype(np.float64)


def job(objective: str | Problem, algorithm: str = "umda", *, seed: int = 0, **rest: object) -> Job:
    given: dict[str, object] = {"popsize": 40, "limits": Limits(max_generations=4), "shuffle": True} | rest
    return Job(objective=objective, algorithm=find_algorithm(algorithm), seed=seed, **given)  # type: ignore[arg-type]


def timeless(result: Result) -> dict[str, object]:
    """Everything that a result has to tell, but for the clock."""
    told = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    del told["seconds"], told["cpu_seconds"], told["cpu_seconds_to_best"]
    told["x"] = result.x.tolist()
    told["history"] = [dataclasses.replace(record, cpu_seconds=0.0) for record in result.history]
    return told


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


# Figures


@pytest.fixture(scope="module")
def result() -> Result:
    return daedal.maximize("onemax:n=6", algorithm="umda", popsize=20, seed=1)


def test_figures_calculated_by_hand(result: Result) -> None:
    rows = [(True, 10.0, 100, 300, 1.0), (False, 7.0, 400, 500, 2.0), (True, 10.0, 100, 200, 6.0)]
    results = [
        dataclasses.replace(
            result,
            success=success,
            fitness=fitness,
            evaluations_to_best=to_best,
            evaluations=all_of_them,
            cpu_seconds=cpu,
        )
        for success, fitness, to_best, all_of_them, cpu in rows
    ]
    found = summarise(results)
    assert found == Summary(
        runs=3,
        solved=2,
        best=9.0,
        evaluations=200.0,
        evaluations_sd=pytest.approx(math.sqrt((100**2 + 200**2 + 100**2) / 2)),  # n - 1 = 2 below
        cpu_seconds=3.0,
        cpu_seconds_per_evaluation=pytest.approx(9.0 / 1000),
    )
    assert summarise(results[::-1]) == found


def test_one_run_has_no_deviation(result: Result) -> None:
    found = summarise([result])
    assert (found.runs, found.solved, found.evaluations_sd) == (1, 1, 0.0)
    assert found.evaluations == result.evaluations_to_best
    assert found.cpu_seconds_per_evaluation == result.cpu_seconds / result.evaluations


def test_none_solved_is_not_the_same_as_not_known(result: Result) -> None:
    assert summarise([dataclasses.replace(result, success=False)] * 2).solved == 0
    assert summarise([dataclasses.replace(result, success=None)] * 2).solved is None


def test_a_run_that_found_nothing_feasible_is_in_the_mean(result: Result) -> None:
    assert summarise([result, dataclasses.replace(result, fitness=-math.inf)]).best == -math.inf


# Jobs


def test_a_job_is_a_run() -> None:
    limits = Limits(max_evaluations=90, max_generations=9, patience=8, target=11.5)
    for shuffle in (True, False):
        done = job("trap:k=4,n=12", "pbil", seed=3, limits=limits, shuffle=shuffle, popsize=30).run()
        expected = daedal.maximize(
            "trap:k=4,n=12",
            algorithm="pbil",
            popsize=30,
            seed=3,
            max_evaluations=90,
            max_generations=9,
            patience=8,
            target=11.5,
            shuffle=shuffle,
        )
        assert timeless(done) == timeless(expected)
        assert done.evaluations == 90


def test_a_job_can_be_sent() -> None:
    one = job(Trap(k=4, n=12), "boa")
    assert pickle.loads(pickle.dumps(one)) == one


def test_one_worker_takes_the_jobs_in_their_order() -> None:
    jobs = [job("onemax:n=8", seed=seed) for seed in range(5)]
    done = list(run_jobs(jobs, workers=1))
    assert [index for index, _ in done] == [0, 1, 2, 3, 4]
    assert [result.seed for _, result in done] == [0, 1, 2, 3, 4]
    assert list(run_jobs([])) == []


def test_the_number_of_workers_changes_nothing() -> None:
    names = sorted(daedal.algorithms())
    jobs = [job("hiff:n=16", name, seed=seed) for seed in (0, 1) for name in names]
    jobs += [job(Trap(k=4, n=12), "umda", seed=5), job(Ones(9), "tree", seed=6, popsize=None)]
    alone = dict(run_jobs(jobs, workers=1))
    spread = list(run_jobs(jobs, workers=2))
    assert sorted(index for index, _ in spread) == list(range(len(jobs)))
    for index, result in spread:
        assert timeless(result) == timeless(alone[index])
        assert (result.algorithm, result.seed) == (jobs[index].algorithm.name, jobs[index].seed)
        assert result.cpu_seconds > 0


def test_whoever_stops_listening_ends_the_processes() -> None:
    before = set(multiprocessing.active_children())
    jobs = [job(Ones(5), popsize=10), *[job(Ones(5, seconds=100.0))] * 3]
    running = run_jobs(jobs, workers=2)
    assert next(running)[0] == 0
    assert len(set(multiprocessing.active_children()) - before) == 2
    started = time.monotonic()
    running.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 20
    assert wait_until(lambda: not set(multiprocessing.active_children()) - before)


def test_a_failure_ends_the_processes_and_nobody_elses() -> None:
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(100,))
    bystander.start()
    try:
        jobs = [job(Ones(5, seconds=100.0)), job(Ones(5, fails=True))]
        with pytest.raises(ObjectiveError, match="the objective raised RuntimeError: no such ones"):
            list(run_jobs(jobs, workers=2))
        assert wait_until(lambda: set(multiprocessing.active_children()) <= {bystander})
        assert bystander.is_alive()
    finally:
        bystander.kill()
        bystander.join()
