"""The engine alone: how long a replay takes, and what ten million evaluations take.

    python benchmarks/engine.py            # about five minutes and 2 GB

Replay: a run of 100,000 evaluations is recorded in a run file and interrupted right after its last one. CPU seconds of
resuming it, next to those of the search itself in the same process. Memory: `mix` without its model evaluates ten
million candidates of 100 bits; CPU time per evaluation, with and without the objective, and the peak of memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import daedal

WEIGHTS = np.random.default_rng(1).normal(size=(100, 60))


def rugged(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a function of 100 bits that no search of this length exhausts."""
    return np.asarray(np.sin((2.0 * x - 1) @ WEIGHTS).sum(axis=1))


def measured(evaluations: int, **keywords: Any) -> tuple[daedal.Result, float]:
    """Return a result, and the CPU time of the run."""
    began = time.process_time()
    result = daedal.maximize(rugged, 100, algorithm="mix", model=False, seed=1, max_evaluations=evaluations, **keywords)
    return result, time.process_time() - began


def objective_seconds(result: daedal.Result) -> float:
    """Return the CPU time that the objective took, from batches of the average size of a run."""
    x = np.zeros((max(1, result.evaluations // result.batches), 100), np.int64)
    calls = 10_000
    began = time.process_time()
    for _ in range(calls):
        rugged(x)
    return (time.process_time() - began) / (calls * len(x)) * result.evaluations


def replay(evaluations: int) -> None:
    """Print how long a recorded run takes to be replayed."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run.db")
        measured(200)  # so that everything is loaded
        result, alone = measured(evaluations)
        alone -= objective_seconds(result)
        _, recorded = measured(evaluations, run=run)
        recorded -= objective_seconds(result)
        result, replayed = measured(evaluations + 1, run=run)
        assert result.evaluations == evaluations + 1
        print(
            f"{evaluations:,} evaluations, CPU without the objective: {alone:.2f} s; with a run file {recorded:.2f} s; "
            f"replayed {replayed:.2f} s, {replayed / alone:.2f} times as long as the run"
        )


def many(evaluations: int) -> None:
    """Print what a long run takes."""
    result, cpu = measured(evaluations)
    objective = objective_seconds(result)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    each = 1e6 / result.evaluations
    print(
        f"{result.evaluations:,} evaluations of 100 bits: {each * (cpu - objective):.1f} us of CPU each without the "
        f"objective, which takes {each * objective:.1f} us; peak of memory {peak:.2f} GB"
    )


def main() -> None:
    """Measure both, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", type=int, default=0, help="Replay a run of this length.")
    parser.add_argument("--many", type=int, default=0, help="Run this long.")
    words = parser.parse_args()
    if words.replay:
        replay(words.replay)
    if words.many:
        many(words.many)
    if not (words.replay or words.many):
        for option in ("--replay=100000", "--many=10000000"):
            subprocess.run([sys.executable, __file__, option], check=True)


if __name__ == "__main__":
    main()
