"""What a run found, and how."""

from __future__ import annotations

from dataclasses import dataclass

from daedal.evaluation.failures import Failure
from daedal.limits import StopReason
from daedal.optimizers.records import Generation
from daedal.settings.parameters import Setting
from daedal.types import Bits, to_text


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
        Whether anything feasible was found; where every value was -inf (inf when minimising) it was not, and x is one
        of these solutions.
    success
        Whether the target, or the known optimum, was reached; None where neither is known.
    stop
        Why the run ended; `stop.message` says it in a sentence.
    evaluations, evaluations_to_best
        Rows evaluated in all, and up to the generation that found x; duplicates and others that are known count.
    evaluated, cached, failed
        What became of these rows: the objective gave a value; the value was known from before; it failed. The first
        and the last are calls of the objective, which `max_evaluations` limits; what was known is free.
    failures
        The first rows that failed, and why.
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
    """

    x: Bits
    fitness: float
    feasible: bool
    success: bool | None
    stop: StopReason
    evaluations: int
    evaluations_to_best: int
    evaluated: int
    cached: int
    failed: int
    failures: tuple[Failure, ...]
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

    def __repr__(self) -> str:
        size = "" if self.popsize is None else f", popsize={self.popsize}"
        feasible = "" if self.feasible else "feasible=False, "
        error = "" if self.standard_error is None else f"standard_error={self.standard_error:.2g}, "
        return (
            f"Result(fitness={self.fitness:g}, {error}{feasible}x={to_text(self.x)}, success={self.success}, "
            f"stop={self.stop}, evaluations={self.evaluations}, generations={self.generations}, "
            f"cpu_seconds={self.cpu_seconds:.2f}, algorithm={self.algorithm}{size}, seed={self.seed})"
        )
