"""The same seeds for several algorithms: what each of them solves, and what it costs."""

from __future__ import annotations

import multiprocessing
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from dataclasses import dataclass

from daedal.evaluation.caller import Objective
from daedal.evaluation.signals import interrupts_ignored
from daedal.limits import Limits, StopReason
from daedal.optimize import maximize, minimize
from daedal.optimizers.presets import Algorithm
from daedal.problems import Problem
from daedal.result import Result


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: everything that another process needs for it."""

    objective: str | Problem | Objective
    n: int | None = None
    vectorized: bool = True
    algorithm: Algorithm
    popsize: int | None
    seed: int
    limits: Limits
    shuffle: bool = True
    minimise: bool = False
    timeout: float | None = None

    def run(self) -> Result:
        """Run it; what the objective prints goes to standard error."""
        with redirect_stdout(sys.stderr):
            return (minimize if self.minimise else maximize)(
                self.objective,
                self.n,
                algorithm=self.algorithm,
                popsize=self.popsize,
                seed=self.seed,
                max_evaluations=self.limits.max_evaluations,
                max_generations=self.limits.max_generations,
                patience=self.limits.patience,
                target=self.limits.target,
                max_seconds=self.limits.max_seconds,
                vectorized=self.vectorized,
                shuffle=self.shuffle,
                timeout=self.timeout,
            )


def run_jobs(jobs: Sequence[Job], *, workers: int = 1) -> Iterator[tuple[int, Result]]:
    """Run jobs, spread over processes, and give each one's index and result as it ends.

    The results do not depend on the number of workers. Whoever stops listening ends the processes.
    """
    if workers == 1:
        for index, job in enumerate(jobs):
            result = job.run()
            if result.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # one run makes the best of it, a comparison has no use for half a run
            yield index, result
        return
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        with interrupts_ignored():  # which the processes, started here, inherit: Ctrl-C is the parent's business
            futures = {pool.submit(job.run): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise ValueError("a worker process ended in the middle of a run; does the objective end it?") from error
        except BaseException:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            pool.shutdown(cancel_futures=True)
            raise


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the runs of one algorithm came to.

    Attributes
    ----------
    solved
        Runs that reached the target or the known optimum; None where neither is known.
    best
        Mean of the best fitness.
    evaluations, evaluations_sd
        Mean and standard deviation of the evaluations up to the best.
    cpu_seconds
        Mean CPU time of a run.
    cpu_seconds_per_evaluation
        CPU time of all runs over their evaluations.
    """

    runs: int
    solved: int | None
    best: float
    evaluations: float
    evaluations_sd: float
    cpu_seconds: float
    cpu_seconds_per_evaluation: float


def summarise(results: Sequence[Result]) -> Summary:
    """Sum up the runs of one algorithm, at least one.

    Examples
    --------
    >>> import daedal
    >>> runs = [daedal.maximize("onemax:n=10", algorithm="umda", popsize=100, seed=seed) for seed in range(3)]
    >>> summarise(runs).solved
    3
    """
    to_best = [result.evaluations_to_best for result in results]
    cpu = [result.cpu_seconds for result in results]
    known = [result.success for result in results if result.success is not None]
    return Summary(
        runs=len(results),
        solved=sum(known) if known else None,
        best=statistics.fmean(result.fitness for result in results),
        evaluations=statistics.fmean(to_best),
        evaluations_sd=statistics.stdev(to_best) if len(results) > 1 else 0.0,
        cpu_seconds=statistics.fmean(cpu),
        cpu_seconds_per_evaluation=sum(cpu) / sum(result.evaluations for result in results),
    )
