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
    """A row that was evaluated, shape (n,), and its value."""

    x: Bits
    fitness: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a run found, and how.

    Attributes
    ----------
    x
        The best bits, shape (n,), in the order of the objective's own variables.
    fitness
        Their value, as the objective gave it; where values scatter, the mean of several.
    standard_error, measurements
        Where values scatter: the standard error of that mean, and how many evaluations it is the mean of, none of which
        had a part in the choice of x. None, and 1, for an exact objective.
    feasible
        Whether anything feasible was found; where every value was -inf (inf when minimising), or every row violated a
        constraint, it was not, and x is the best of these solutions.
    violation, violations
        By how much x violates constraints, in sum and each, in their order; 0 where it is feasible. The sum is inf
        where the value says that x is infeasible.
    success
        Whether the target, or the known optimum, was reached; None where neither is known.
    stop
        Why the run ended; `stop.message` says it in a sentence.
    evaluations, evaluations_to_best
        Calls of the objective, one per candidate, in all and up to the batch that found x. `max_evaluations` limits
        them, and evaluations that fail are included.
    failed, failures
        How many of them failed, and the first of these, with the reasons.
    repeated
        Candidates that were free, because they were repeated or known.
    batches
        Batches in which they were asked for; what can be evaluated side by side is in one batch.
    generations
        Generations after the first one.
    seconds
        Time on the clock.
    cpu_seconds, cpu_seconds_to_best
        CPU time of this process in all, and up to the generation that found x. The objective's is included, the
        compilation of kernels is not.
    history
        One record a generation.
    algorithm, settings, popsize, seed
        What was run; popsize is None for an algorithm without a population size.
    optimum
        The known optimum of the problem, or None.
    explanation
        What the algorithm chose to do, and why, in a sentence; nothing where it had no choice.
    space, names
        The space, or the names of the bits, where any were given; a subset of columns with names has both.
    problem
        What the objective is called.
    minimize
        Whether small values were looked for.
    limits
        What would have ended the run; its target is that of the user, beside which there may be an optimum.
    again
        One line that makes the run again: a command, or a line of Python where the objective is a function.
    trace
        What the search looked like on the way, and what it learned; None where nobody kept it.

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
        """The best bits as booleans, shape (n,): `X.columns[result.mask]` are those that are chosen."""
        return self.x.astype(np.bool_)

    def top(self, count: int = 10) -> list[Solution]:
        """Give the best different rows that were evaluated, best first: at most 100 are kept.

        Where values scatter, or rows were not remembered, it is x alone.

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
        """Give what a row, shape (n,), stands for, by name: x0, x1, ... where bits have no names."""
        if self.space is not None:
            return self.space.value(x)
        names = self.names or [f"x{i}" for i in range(self.n)]
        return dict(zip(names, x.astype(np.bool_).tolist(), strict=True))

    def frame(self, count: int = 1) -> DataFrame:
        """Give the best solutions as a pandas data frame: their values by name, and their fitness.

        There is one row, the best one, unless more are asked for: see `top`. It can be given to another run as
        `initial`.
        """
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("a data frame needs pandas", "frame") from error
        rows = [Solution(self.x, self.fitness)] if count == 1 else self.top(count)
        return pandas.DataFrame([{**self.values(row.x), FITNESS: row.fitness} for row in rows])

    @property
    def score(self) -> float:
        """What the run counts for beside others: its fitness, or the worst there is, where nothing is feasible."""
        return self.fitness if self.feasible or not self.history else self.history[-1].best

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page that shows the run: one HTML file, which replaces a report that is there, and nothing else.

        It opens in any browser, without a network. Needs Plotly: pip install "daedal[report]".

        Examples
        --------
        >>> import daedal, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     daedal.maximize("onemax:n=20", seed=1).report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        from daedal.report.source import report_run  # here: it is above, and nothing else has use for it

        report_run(self, path)

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
