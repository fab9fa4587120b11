"""What workers and Dask gain: a batch of 1,000 rows that sleep, against one worker.

    python benchmarks/workers.py

Each figure is the time of one worker over that of two, in this run, for the same batch; starting the processes is not
counted, because it is once a run. The Dask part needs the extra dask.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Caller
from daedal.evaluation.dask import dask_executor
from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.options import EvaluationOptions

ROWS = 1000
WANTED = {("workers", 0.02): 1.85, ("workers", 0.001): 1.5, ("Dask", 0.02): 1.7, ("Dask", 0.001): 1.5}


@dataclass(frozen=True)
class Sleeper:
    """An objective that takes its time for every row."""

    seconds: float

    def __call__(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        for _ in x:
            time.sleep(self.seconds)
        return x.sum(axis=1)


def seconds_of(evaluate: Evaluator, rows: NDArray[np.uint8]) -> float:
    evaluate(rows[:4])  # starts the processes
    started = time.perf_counter()
    evaluate(rows)
    return time.perf_counter() - started


def measure(seconds: float, *, workers: int = 1, executor: Executor | None = None) -> float:
    rows = np.random.default_rng(1).integers(0, 2, (ROWS, 40), dtype=np.uint8)
    options = EvaluationOptions(deduplicate=False, workers=workers, executor=executor)
    with Evaluator(Caller(Sleeper(seconds)), n=40, options=options) as evaluate:
        return seconds_of(evaluate, rows)


def main() -> None:
    print("| 1,000 rows | seconds a row | one worker, s | two, s | gain | wanted |\n|---|---|---|---|---|---|")
    for seconds in (0.02, 0.001):
        alone = measure(seconds)
        report("workers", seconds, alone, measure(seconds, workers=2))
        with dask_executor("local:2") as executor:
            report("Dask", seconds, alone, measure(seconds, executor=executor))


def report(name: str, seconds: float, alone: float, two: float) -> None:
    wanted = WANTED[name, seconds]
    print(f"| {name} | {seconds} | {alone:.2f} | {two:.2f} | {alone / two:.2f} | {wanted} |", flush=True)


if __name__ == "__main__":
    main()
