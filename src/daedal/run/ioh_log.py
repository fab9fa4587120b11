"""Logs of runs for IOHanalyzer, written by the logger of the package `ioh`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from daedal import __version__
from daedal.objectives.bound import AnyObjective, BoundObjective
from daedal.problems.pbo import PBO, import_ioh
from daedal.problems.registry import find_problem
from daedal.types import Bits, Fitness


@contextmanager
def ioh_log(
    folder: str | os.PathLike[str],
    algorithm: str,
    *,
    objective: AnyObjective,
    bound: BoundObjective,
    minimize: bool,
    seed: int,
) -> Iterator[Callable[[Bits, Fitness], None]]:
    """Open the log of one run in a new folder inside `folder`; the function that it returns logs evaluations.

    The function takes candidates, shape (rows, n), and values, shape (rows,), both as the objective has them. If the
    objective is a function of PBO, `ioh` evaluates each candidate once more. So values and files are those of its own
    loggers, which log a transformed instance with the values of the original function.
    """
    ioh = import_ioh()
    value = 0.0  # of the candidate that is logged
    native = find_problem(objective) if isinstance(objective, str) else objective
    if isinstance(native, PBO) and not minimize:
        problem = native.made()
    else:
        problem = ioh.wrap_problem(
            lambda _: value,
            name=f"daedal-{id(bound)}",  # where ioh keeps it: several logs may be open at the same time
            problem_class=ioh.ProblemClass.INTEGER,
            dimension=bound.n,
            instance=1,
            optimization_type=ioh.OptimizationType.MIN if minimize else ioh.OptimizationType.MAX,
        )
        problem.set_id(0)
        problem.set_name(_file_name(bound.name))
    Path(folder).mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write logs to the folder {os.fspath(folder)}; name another one")
    described = problem.meta_data
    triggers = [ioh.logger.trigger.OnImprovement()]  # the logger uses them without owning them
    logger = ioh.logger.Analyzer(
        triggers=triggers,
        root=os.fspath(folder),
        folder_name=f"{_file_name(algorithm)}-f{described.problem_id}-{described.name}-n{bound.n}-seed{seed}",
        algorithm_name=_file_name(algorithm),
        algorithm_info=f"daedal {__version__}",
    )
    logger.add_run_attribute("seed", float(seed))
    problem.attach_logger(logger)

    def write(x: Bits, values: Fitness) -> None:
        nonlocal value
        for row, value in zip(x.tolist(), values.tolist(), strict=True):  # noqa: B007  the wrapped problem returns it
            problem(row)

    try:
        yield write
    finally:
        problem.reset()
        logger.close()


def _file_name(text: str) -> str:
    """Return a text as the name of a file, which JSON needs no escapes for."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", text)[-80:].strip("_.") or "run"
