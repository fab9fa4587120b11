"""The same seeds for several algorithms: runs over processes, and what they come to."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import time
from dataclasses import dataclass

import numpy as np
import pytest
from process_helpers import children
from run_helpers import without_clocks

from daedal.evaluation.caller import ObjectiveError
from daedal.limits import Limits
from daedal.problems import Problem, Trap
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.searches.presets import find_algorithm
from daedal.studies.runner import run_all
from daedal.types import Bits, Fitness


@dataclass(frozen=True)
class Ones:
    """Counts ones; may take its time, fail, or end its process."""

    n: int
    optimum: float | None = None
    how: str = ""

    def evaluate(self, x: Bits) -> Fitness:
        if self.how == "fails":
            raise RuntimeError("no such ones")
        {"waits": lambda: time.sleep(1000), "ends": lambda: os._exit(3), "": int}[self.how]()
        return x.sum(axis=1).astype(np.float64)


def config(objective: str | Problem, algorithm: str = "umda", *, seed: int = 0, popsize: int | None = 40) -> RunConfig:
    chosen = find_algorithm(algorithm)
    if "popsize" in chosen.settings():
        chosen = chosen.with_settings({"popsize": popsize})
    return RunConfig(objective=objective, algorithm=chosen, seed=seed, limits=Limits(max_generations=4))


def timeless(result: Result) -> dict[str, object]:
    """Everything that a result has to tell, but for the clock."""
    told = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    del told["seconds"], told["cpu_seconds"], told["cpu_seconds_to_best"]
    history = [without_clocks(record) for record in result.history]
    assert result.trace is None  # nobody looks at it, and it would have to go from process to process
    return told | {"x": result.x.tolist(), "history": history}


def test_the_number_of_workers_changes_nothing() -> None:
    names = ("auto", "ils", "pbil", "umda")
    configs = [config("hiff:n=16", name, seed=seed) for seed in (0, 1) for name in names]
    configs += [config(Trap(k=4, n=12), "umda", seed=5), config(Ones(9), "tree", seed=6, popsize=None)]
    assert pickle.loads(pickle.dumps(configs)) == configs
    alone = list(run_all(configs, workers=1))
    assert [index for index, _ in alone] == list(range(len(configs)))  # in their order
    spread = list(run_all(configs, workers=2))
    assert sorted(index for index, _ in spread) == list(range(len(configs)))
    for index, result in spread:
        assert timeless(result) == timeless(alone[index][1])
        assert (result.algorithm, result.seed) == (configs[index].algorithm.name, configs[index].seed)
        assert result.cpu_seconds > 0
    assert list(run_all([], workers=2)) == list(run_all([])) == []


def test_whoever_stops_listening_ends_the_processes() -> None:
    before = children()
    running = run_all([config(Ones(5), popsize=10), *[config(Ones(5, how="waits"))] * 3], workers=2)
    assert next(running)[0] == 0
    assert len(children() - before) > 2  # two, and what ends them if this process is killed
    running.close()  # type: ignore[attr-defined]
    assert children() <= before


@pytest.mark.parametrize(("how", "says"), [("fails", "RuntimeError: no such ones"), ("ends", "worker process ended")])
def test_a_failure_ends_the_processes_and_nobody_elses(how: str, says: str) -> None:
    bystander = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(1000,))
    bystander.start()
    before = children()
    try:
        with pytest.raises(ObjectiveError if how == "fails" else ValueError, match=says):
            list(run_all([config(Ones(5, how="waits")), config(Ones(5, how=how))], workers=2))
        assert children() <= before
        assert bystander.is_alive()
    finally:
        bystander.kill()
        bystander.join()
