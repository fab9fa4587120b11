"""What a run found, and how."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Failure
from daedal.limits import Limits, StopReason
from daedal.result.records import Generation
from daedal.result.trace import Trace
from daedal.settings.checks import check_whole
from daedal.settings.lazy import missing_extra
from daedal.settings.parameters import Setting
from daedal.spaces.space import FITNESS, Space
from daedal.spaces.variables import Value
from daedal.types import Bits, to_text

if TYPE_CHECKING:
    from pandas import DataFrame


class Solution(NamedTuple):
    """An evaluated candidate, shape (n,), and its value."""

    x: Bits
    fitness: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Result of a run: the best solution, and how it was found.

    Attributes
    ----------
    x
        The best bits, shape (n,), in the order of the objective's variables.
    fitness
        Their objective value. If the objective is noisy, the mean of several values.
    standard_error, measurements
        If the objective is noisy: the standard error of this mean, and the number of its values. None of them was used
        to choose x. Otherwise None and 1.
    feasible
        True if x is feasible. Otherwise nothing feasible was found, and x is the best of the infeasible candidates.
    violation, violations
        By how much x violates the constraints, in total and each. The total is 0 if x is feasible, and inf if its value
        is -inf.
    success
        True if the target or the known optimum was reached. None if there is neither.
    stop
        Why the run ended. `stop.message` says it in a sentence.
    evaluations, evaluations_to_best
        Calls of the objective, one per candidate, in total and up to the batch that found x. `max_evaluations` limits
        them, and failed evaluations are included.
    failed, failures
        Number of failed evaluations, and the first of them with their reasons.
    repeated
        Candidates that were free, because they were repeated or known.
    batches
        Number of batches. The candidates of a batch can be evaluated at the same time.
    generations
        Number of generations after the first one.
    seconds
        Wall-clock time.
    cpu_seconds, cpu_seconds_to_best
        CPU time of this process, in total and up to the generation that found x. It includes the objective, but not
        the compilation of kernels.
    history
        One record per generation.
    algorithm, settings, popsize, seed
        The algorithm and its settings. `popsize` is None for an algorithm without a population size.
    optimum
        The known optimum of the problem, or None.
    explanation
        What the algorithm chose to do, and why. Empty if it had no choice.
    space, names
        The space, or the names of the bits, if there are any.
    problem
        Name of the objective.
    minimize
        If True, smaller values are better.
    limits
        The limits of the run. Its target is the one that was passed, not the known optimum.
    again
        One line that repeats the run: a command, or a line of Python if the objective is a function.
    trace
        Populations, training curves and what the search learned, for reports and plots. None if nothing was kept.

    Examples
    --------
    >>> import daedal
    >>> space = daedal.Space(size=daedal.Integer(1, 9), mode=daedal.Choice("fast", "small"))
    >>> result = daedal.maximize(lambda values: values["size"] + (values["mode"] == "fast"), space, seed=1)
    >>> result.best
    {'size': 9, 'mode': 'fast'}
    """

    x: Bits
    fitness: float
    feasible: bool
    violation: float
    violations: tuple[float, ...]
    success: bool | None
    stop: StopReason
    evaluations: int
    evaluations_to_best: int
    failed: int
    failures: tuple[Failure, ...]
    repeated: int
    batches: int
    generations: int
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
    history: tuple[Generation, ...]
    algorithm: str
    settings: dict[str, Setting]
    popsize: int | None
    seed: int
    optimum: float | None
    explanation: str = ""
    standard_error: float | None = None
    measurements: int = 1
    space: Space | None = None
    names: tuple[str, ...] | None = None
    problem: str = ""
    minimize: bool = False
    limits: Limits = field(default_factory=Limits)
    again: str = ""
    trace: Trace | None = None

    @property
    def n(self) -> int:
        """Number of bits."""
        return len(self.x)

    @property
    def best(self) -> dict[str, Value] | None:
        """The best values by name; None for bits without names."""
        return None if self.space is None and self.names is None else self.values(self.x)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The best bits as booleans, shape (n,). For example, `X.columns[result.mask]` are the chosen columns."""
        return self.x.astype(np.bool_)

    def top(self, count: int = 10) -> list[Solution]:
        """Return the best candidates that were evaluated, the best first. At most 100 are kept.

        If the objective is noisy, this is x alone.

        Examples
        --------
        >>> import daedal
        >>> [solution.fitness for solution in daedal.maximize("onemax:n=20", seed=1).top(3)]
        [20.0, 18.0, 14.0]
        """
        trace, count = self.trace, check_whole("count", count, least=1)
        if trace is None or not len(trace.top):
            return [Solution(self.x, self.fitness)]
        best = zip(trace.top[:count], trace.top_fitness[:count].tolist(), strict=True)
        return [Solution(x, value) for x, value in best]

    def values(self, x: Bits) -> dict[str, Value]:
        """Return the values of a candidate by name. Bits without names are called x0, x1, ..."""
        if self.space is not None:
            return self.space.value(x)
        names = self.names or [f"x{i}" for i in range(self.n)]
        return dict(zip(names, x.astype(np.bool_).tolist(), strict=True))

    def frame(self, count: int = 1) -> DataFrame:
        """Return the best solutions as a pandas data frame with their values by name and a column "fitness".

        You can pass it to another run as `initial`.
        """
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("a data frame needs pandas", "frame") from error
        rows = [Solution(self.x, self.fitness)] if count == 1 else self.top(count)
        return pandas.DataFrame([{**self.values(row.x), FITNESS: row.fitness} for row in rows])

    @property
    def score(self) -> float:
        """The value by which runs are compared: the fitness, or the worst possible value if nothing is feasible."""
        return self.fitness if self.feasible or not self.history else self.history[-1].best

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report of the run: one HTML file. An existing report is replaced, any other file is kept.

        It opens in any browser, without a network.

        Examples
        --------
        >>> import daedal, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     daedal.maximize("onemax:n=20", seed=1).report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        from daedal.report.page import write_page  # here, because the report is above, and nothing else needs it
        from daedal.report.run_page import run_page

        write_page(path, lambda: run_page(self))

    def _repr_html_(self) -> str:
        from daedal.result.wording import card  # here, because only notebooks use it

        return card(self)

    def __repr__(self) -> str:
        size = "" if self.popsize is None else f", popsize={self.popsize}"
        feasible = "" if self.feasible else f"feasible=False, violation={self.violation:g}, "
        error = "" if self.standard_error is None else f"standard_error={self.standard_error:.2g}, "
        shown = f"x={to_text(self.x)}" if self.best is None else f"best={self.best}"
        return (
            f"Result(fitness={self.fitness:g}, {error}{feasible}{shown}, success={self.success}, "
            f"stop={self.stop}, evaluations={self.evaluations}, generations={self.generations}, "
            f"cpu_seconds={self.cpu_seconds:.2f}, algorithm={self.algorithm}{size}, seed={self.seed})"
        )
