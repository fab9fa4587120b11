"""Logs of runs that IOHanalyzer reads, written by the logger of the package `ioh`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from daedal import __version__
from daedal.objectives.bound import AnyObjective, BoundObjective
from daedal.problems.pbo import PBO, import_ioh
from daedal.problems.registry import find_problem
from daedal.types import Bits, Fitness


class IOHLog:
    """The log of one run: one call of the objective after the other, in a new folder inside `folder`.

    Rows that were known are no calls, and not in it; those that failed count, as the worst there is. For a function of
    PBO, ioh evaluates each row once more, so that values and files are those of its own loggers: a transformed instance
    is logged with the values of the function itself.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, objective: AnyObjective, bound: BoundObjective, sign: int, seed: int
    ) -> None:
        self.folder = Path(folder)
        self.objective = objective
        self.bound = bound
        self.sign = sign
        self.seed = seed
        self._value = 0.0  # what the row that is logged has been found to be worth
        self._problem: Any = None  # ioh's: it counts, and calls the logger
        self._logger: Any = None
        self._triggers: list[Any] = []  # say when to write a line; the logger uses them without holding them

    def open(self, algorithm: str) -> None:
        """Make the folder, with a number behind its name where there is one already; refuse where none can be made."""
        ioh = import_ioh()
        self._problem = self._ioh_problem(ioh)
        self.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise PermissionError(f"expected a folder for logs at {self.folder}, got one that cannot be written to")
        described = self._problem.meta_data
        name = f"{_plain(algorithm)}-f{described.problem_id}-{described.name}-n{self.bound.n}-seed{self.seed}"
        self._triggers = [ioh.logger.trigger.OnImprovement()]
        self._logger = ioh.logger.Analyzer(
            triggers=self._triggers,
            root=str(self.folder),
            folder_name=name,
            algorithm_name=_plain(algorithm),
            algorithm_info=f"daedal {__version__}",
        )
        self._logger.add_run_attribute("seed", float(self.seed))
        self._problem.attach_logger(self._logger)

    def write(self, x: Bits, values: Fitness) -> None:
        """Log rows, shape (rows, n), in the objective's own order, and their values, shape (rows,), in its own sign."""
        for row, value in zip(x.tolist(), values.tolist(), strict=True):
            self._value = value
            self._problem(row)

    def close(self) -> None:
        """Write what is left, with what the whole run came to."""
        if self._logger is not None:
            self._problem.reset()
            self._logger.close()

    def _ioh_problem(self, ioh: Any) -> Any:
        """Give the problem that ioh logs: one of its own, or one that answers with the values that it is told."""
        problem = find_problem(self.objective) if isinstance(self.objective, str) else self.objective
        if isinstance(problem, PBO) and self.sign > 0:
            return problem.made()
        wrapped = ioh.wrap_problem(
            lambda _: self._value,
            name=f"daedal-{id(self)}",  # under which ioh keeps it: two logs may be open at once
            problem_class=ioh.ProblemClass.INTEGER,
            dimension=self.bound.n,
            instance=1,
            optimization_type=ioh.OptimizationType.MAX if self.sign > 0 else ioh.OptimizationType.MIN,
        )
        wrapped.set_id(0)
        wrapped.set_name(_plain(self.bound.name))
        return wrapped


def _plain(name: str) -> str:
    """Write a name as one for files, and for JSON without escapes: other signs than letters and digits are "_"."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", name)[-80:].strip("_.") or "run"
