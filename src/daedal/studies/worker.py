"""How a run comes to another process or machine, and what is done with it there."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from daedal.evaluation.executor_pool import ExecutorPool
from daedal.evaluation.pickling import pack, unpack
from daedal.evaluation.process_pool import ProcessPool
from daedal.kernels.threads import Shared
from daedal.limits import StopReason
from daedal.objectives.process import kill_programs
from daedal.objectives.spec import by_value
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.settings.parameters import current
from daedal.settings.plugins import file_digest, send_by_value

Pool: TypeAlias = ProcessPool | ExecutorPool


def start_processes(count: int, function: Callable[[Any], Any]) -> ProcessPool:
    """Start worker processes, which end the programs that they have started before they end themselves."""
    return ProcessPool(count, function, on_exit=kill_programs)


def send(pool: Pool, ticket: int, config: RunConfig) -> None:
    """Give a run to a worker that is idle."""
    if isinstance(pool, ExecutorPool) and is_elsewhere(pool.executor):
        pool.start(ticket, pack(without_files(config), "the run"))
        return
    try:
        pool.start(ticket, config)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{config.algorithm.name} cannot be sent to another process ({error}); give it a name of its own at the "
            "top of its file"
        ) from error


def is_elsewhere(executor: Executor) -> bool:
    """Whether its workers may be on machines that do not have the files of a study: those of Dask."""
    return hasattr(executor, "_client")


def without_files(config: RunConfig) -> RunConfig:
    """Give a run whose code travels with it, to a machine that may not have the files that it comes from."""
    configuration = config.algorithm.configuration
    for part in (configuration, *current(configuration).values()):
        send_by_value(part)
    return replace(config, objective=by_value(config.objective))


def run_config(work: RunConfig | bytes) -> Result:
    """Make a run of a study, in a worker."""
    config: RunConfig = unpack(work) if isinstance(work, bytes) else work
    _check_unchanged(config.algorithm.source, config.algorithm.digest)
    result = run_quietly(config)
    if result.stop is StopReason.INTERRUPTED:  # no Ctrl-C comes here
        raise RuntimeError("the objective raised KeyboardInterrupt")
    return result


_QUIET = Shared(lambda: redirect_stdout(sys.stderr))  # an executor's workers may be threads of one process


def run_quietly(config: RunConfig) -> Result:
    """Make one of many runs: what the objective prints goes to standard error, nobody is warned, nothing is traced."""
    with _QUIET:
        return config.run(warn=False, traced=False)


@cache
def _check_unchanged(source: str | None, digest: str | None) -> None:
    """Refuse an algorithm whose file is not what it was; once, for what is loaded does not change with its file."""
    path = "" if source is None else source.rpartition(":")[0]
    if digest is not None and Path(path).is_file() and file_digest(path) != digest:
        raise ValueError(f"{path} has changed since the study was read; run the study again")
