"""The same seeds for several algorithms: what each of them solves, and what it costs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daedal.evaluation.pool import Event
from daedal.limits import StopReason
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.studies.run import DONE, Run
from daedal.studies.statistics import mean_sd
from daedal.studies.worker import run_quietly, send, start_processes


def run_all(configs: Sequence[RunConfig], *, workers: int = 1) -> Iterator[tuple[int, Result]]:
    """Make runs, spread over processes, and give each one's index and result as it ends.

    The results do not depend on the number of workers. A run that raises ends them all. Whoever stops listening ends
    the processes.
    """
    if workers == 1:
        for index, config in enumerate(configs):
            result = run_quietly(config)
            if result.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # one run makes the best of it, a comparison has no use for half a run
            yield index, result
        return
    waiting = list(enumerate(configs))[::-1]
    ended = 0
    with start_processes(min(workers, len(configs)), _run_or_error) as pool:
        while ended < len(configs):
            while waiting and pool.idle:
                send(pool, *waiting.pop())
            for message in pool.wait():
                if message.event is Event.DIED:
                    raise ValueError("a worker process ended in the middle of a run; does the objective end it?")
                if isinstance(message.value, Exception):
                    raise message.value
                if message.event is Event.RAISED:
                    raise ValueError(message.value)
                ended += 1
                yield message.ticket, message.value


def _run_or_error(config: RunConfig) -> Result | Exception:
    """Make one run in a worker; what it raises is sent as it is."""
    try:
        return run_quietly(config)
    except (ValueError, TypeError, OSError) as error:
        return error


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the runs of one algorithm came to: means over its runs, evaluations up to the best.

    Solved is None where neither a target nor the optimum is known.
    """

    runs: int
    solved: int | None
    best: float
    evaluations: float
    evaluations_sd: float
    cpu_seconds: float
    cpu_seconds_per_evaluation: float


def as_run(result: Result) -> Run:
    """Give what the analysis of studies needs to know of a result."""
    return Run(
        seed=result.seed,
        status=DONE,
        success=result.success,
        best=result.score,
        optimum=result.optimum,
        evaluations=result.evaluations_to_best,
        seconds=result.cpu_seconds_to_best,
        total_seconds=result.cpu_seconds,
        batches=result.batches,
        generations=result.generations,
        calls=result.evaluated,
    )


def summarise(results: Sequence[Result]) -> Summary:
    """Sum up the runs of one algorithm, at least one."""
    evaluations, evaluations_sd = mean_sd(result.evaluations_to_best for result in results)
    cpu = [result.cpu_seconds for result in results]
    known = [result.success for result in results if result.success is not None]
    return Summary(
        runs=len(results),
        solved=sum(known) if known else None,
        best=statistics.fmean(result.score for result in results),
        evaluations=evaluations,
        evaluations_sd=evaluations_sd,
        cpu_seconds=statistics.fmean(cpu),
        cpu_seconds_per_evaluation=sum(cpu) / sum(result.evaluations for result in results),
    )
