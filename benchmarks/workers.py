"""What workers bring: evaluations and time with several candidates in flight, asynchronous and in whole batches.

    python benchmarks/workers.py --virtual               # simulated workers, any machine, about two minutes
    python benchmarks/workers.py --real [--dask]         # worker processes, and a local Dask cluster

In virtual time an evaluation takes a lognormal time of mean 1 (or exactly 1), and daedal itself none. The runs are
those of `mix` and of the default until the optimum is found. Real objectives sleep, so that two cores are enough for
four workers. Every figure is a ratio or a share within one call of this script.
"""

from __future__ import annotations

import argparse
import heapq
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import daedal
from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.limits import Limits
from daedal.problems.registry import find_problem
from daedal.searches.algorithm import NARROW
from daedal.searches.presets import find_algorithm

FUNCTIONS = ("trap:k=5,n=50", "hiff:n=64", "nk:n=30,k=4,seed=1")
MOST = 200_000

Objective = Callable[[Sequence[int]], list[float]]


def shuffled(name: str, seed: int) -> tuple[Objective, int, float]:
    """Return a problem whose variables are shuffled and masked by the seed, its size and its optimum."""
    problem = find_problem(name)
    rng = np.random.default_rng([seed, 1])
    order, mask = rng.permutation(problem.n), rng.integers(0, 2, problem.n, dtype=np.uint8)
    assert problem.optimum is not None

    def values(candidates: Sequence[int]) -> list[float]:
        rows = np.empty((len(candidates), problem.n), np.uint8)
        rows[:, order] = to_rows(candidates, problem.n) ^ mask
        return [float(value) for value in problem.evaluate(rows)]

    return values, problem.n, problem.optimum


def search(name: str, n: int, seed: int, workers: int, width: int) -> Engine:
    """Return an engine with a search on it, as a run makes it; `width` is 1 for batches of up to 16 workers."""
    engine = Engine(n, seed=seed)
    engine.width = width
    engine.left = MOST
    algorithm = find_algorithm(name).resolved(n, max_evaluations=MOST, workers=workers)
    engine.start(algorithm.configuration.search(engine, Limits(max_evaluations=MOST)))
    return engine


def in_batches(engine: Engine, objective: Objective, optimum: float, workers: int, draw: Callable[[], float]) -> float:
    """Run to the optimum; each batch is finished before the next one. Return the virtual time."""
    now = 0.0
    while engine.best_value < optimum - 1e-6 and (batch := engine.ask()):
        free = [now] * workers
        for _ in batch:
            heapq.heapreplace(free, free[0] + draw())
        now = max(free)
        engine.tell(batch, objective(batch))
        engine.left = MOST - len(engine.archive)
    return now


def as_free(engine: Engine, objective: Objective, optimum: float, workers: int, draw: Callable[[], float]) -> float:
    """Run to the optimum; each worker gets the next candidate as soon as it is free. Return the virtual time."""
    now, queue, running = 0.0, deque[int](), list[tuple[float, int]]()
    while engine.best_value < optimum - 1e-6:
        queue.extend(engine.ask())
        while queue and len(running) < workers:
            if engine.is_wanted(candidate := queue.popleft()):
                heapq.heappush(running, (now + draw(), candidate))
        if not running:
            break
        now, candidate = heapq.heappop(running)
        engine.tell([candidate], objective([candidate]))
        engine.left = MOST - len(engine.archive)
    return now


def virtual(names: Sequence[str], widths: Sequence[int], seeds: Sequence[int], algorithm: str) -> None:
    """Print a table of evaluations, virtual time and how busy the workers are."""
    print(f"{algorithm}, seeds {seeds[0]}-{seeds[-1]}; means, next to those of one worker")
    print("| function | workers | durations | driver | solved | evaluations | ratio | time | busy |")
    print("|---|--:|---|---|--:|--:|--:|--:|--:|")
    for name in names:
        alone = math.nan
        for workers in widths:
            for durations in ("equal", "lognormal"):
                for driver in (in_batches, as_free):
                    made, times, solved = list[int](), list[float](), 0
                    for seed in seeds:
                        rng = np.random.default_rng([seed, 2])
                        objective, n, optimum = shuffled(name, seed)
                        width = workers if driver is as_free or workers > NARROW else 1
                        engine = search(algorithm, n, seed, workers, width)
                        draw = (
                            (lambda rng=rng: float(rng.lognormal(-0.5, 1)))
                            if durations == "lognormal"
                            else (lambda: 1.0)
                        )
                        times.append(driver(engine, objective, optimum, workers, draw))
                        made.append(len(engine.archive))
                        solved += engine.best_value >= optimum - 1e-6
                    evaluations, clock = statistics.mean(made), statistics.mean(times)
                    alone = evaluations if math.isnan(alone) else alone
                    print(
                        f"| {name} | {workers} | {durations} | {driver.__name__} | {solved}/{len(seeds)} | "
                        f"{evaluations:,.0f} | {evaluations / alone:.2f} | {clock:,.0f} | "
                        f"{evaluations / clock / workers:.2f} |",
                        flush=True,
                    )


def slow(x: np.ndarray[Any, Any]) -> float:
    """Sleep for half a second."""
    time.sleep(0.5)
    return float(x.sum())


def uneven(x: np.ndarray[Any, Any]) -> float:
    """Sleep for a time that depends on the candidate and is lognormal, with a mean of 0.1 s."""
    rng = np.random.default_rng(int("".join(map(str, x.tolist())), 2))
    time.sleep(0.1 * float(rng.lognormal(-0.5, 1)))
    return float(x[::2].sum() - x[1::2].sum())


def seconds(objective: Any, **keywords: Any) -> float:
    """Return how long a run takes, worker processes included."""
    began = time.perf_counter()
    daedal.maximize(objective, n=40, vectorized=False, seed=1, **keywords)
    return time.perf_counter() - began


def real(*, dask: bool) -> None:
    """Print how much faster runs with workers are."""
    one = seconds(slow, max_evaluations=60)
    for workers in (2, 4):
        took = seconds(slow, max_evaluations=60, workers=workers)
        print(f"60 evaluations of 0.5 s, default: {workers} workers {one / took:.2f} times as fast as one", flush=True)
    batches = seconds(uneven, max_evaluations=800, workers=8, algorithm="mix")
    free = seconds(uneven, max_evaluations=800, workers=8, algorithm="mix", asynchronous=True)
    print(f"800 evaluations of uneven times, mix, 8 processes: asynchronous takes {free / batches:.2f} of the time")
    if dask:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=4, threads_per_worker=2, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            executor = client.get_executor()
            seconds(uneven, max_evaluations=50, executor=executor)
            batches = seconds(uneven, max_evaluations=800, executor=executor, algorithm="mix")
            free = seconds(uneven, max_evaluations=800, executor=executor, algorithm="mix", asynchronous=True)
        print(f"the same on a Dask cluster of 8 threads: asynchronous takes {free / batches:.2f} of the time")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--virtual", action="store_true", help="Simulate workers.")
    parser.add_argument("--real", action="store_true", help="Use worker processes.")
    parser.add_argument("--dask", action="store_true", help="With --real: use a local Dask cluster, too.")
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS[:2], help="Functions for --virtual.")
    parser.add_argument("--widths", nargs="+", type=int, default=[1, 8], help="Numbers of workers for --virtual.")
    parser.add_argument("--seeds", default="3000-3019", help="Seeds for --virtual. Default: 3000-3019.")
    parser.add_argument("--algorithm", default="mix", help="Default: mix.")
    words = parser.parse_args()
    if words.virtual:
        first, _, last = words.seeds.partition("-")
        virtual(words.functions, words.widths, range(int(first), int(last or first) + 1), words.algorithm)
    if words.real:
        real(dask=words.dask)


if __name__ == "__main__":
    main()
