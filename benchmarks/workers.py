"""What workers and Dask gain: a batch of 1,000 rows that sleep, against one worker; what a timeout costs.

    python benchmarks/workers.py

Each figure is the time of one worker over that of two, in this run, for the same batch; starting the processes is not
counted, because it is once a run. The Dask part needs the extra dask. What a row that hangs costs, beyond its timeout,
is compared with the start of a worker.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from daedal.evaluation.evaluator import Evaluator
from numpy.typing import NDArray

from daedal.evaluation.caller import Caller
from daedal.evaluation.dask import dask_executor
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


class Hanging:
    """An objective that hangs for rows that begin with a one."""

    def __call__(self, row: NDArray[np.int64]) -> float:
        if row[0]:
            time.sleep(1000)
        return float(row.sum())


def seconds_of_a_timeout(timeout: float = 3.0, hanging: int = 4) -> tuple[float, float]:
    """Give the seconds of the start of a worker with its first row, and of each row that hangs beyond its timeout."""
    rows = np.zeros((2 * hanging, 40), dtype=np.uint8)
    rows[::2, 0] = 1
    options = EvaluationOptions(deduplicate=False, timeout=timeout, on_error="worst")
    with Evaluator(Caller(Hanging(), vectorized=False), n=40, options=options) as evaluate:
        started = time.perf_counter()
        evaluate(rows[1:2])
        start = time.perf_counter() - started
        started = time.perf_counter()
        evaluate(rows)
        return start, (time.perf_counter() - started) / hanging - timeout


def main() -> None:
    print("| 1,000 rows | seconds a row | one worker, s | two, s | gain | wanted |\n|---|---|---|---|---|---|")
    for seconds in (0.02, 0.001):
        alone = measure(seconds)
        report("workers", seconds, alone, measure(seconds, workers=2))
        with dask_executor("local:2") as executor:
            report("Dask", seconds, alone, measure(seconds, executor=executor))
    start, beyond = seconds_of_a_timeout()
    print(f"\nstart of a worker {start:.2f} s; a row that hangs costs its timeout and {beyond:.2f} s")


def report(name: str, seconds: float, alone: float, two: float) -> None:
    wanted = WANTED[name, seconds]
    print(f"| {name} | {seconds} | {alone:.2f} | {two:.2f} | {alone / two:.2f} | {wanted} |", flush=True)


if __name__ == "__main__":
    main()
