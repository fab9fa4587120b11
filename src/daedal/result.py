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
        Their value, as the objective gave it.
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
    violation: float
    violations: tuple[float, ...]
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

    @property
    def score(self) -> float:
        """What the run counts for beside others: its fitness, or the worst there is, where nothing is feasible."""
        return self.fitness if self.feasible or not self.history else self.history[-1].best

    def __repr__(self) -> str:
        size = "" if self.popsize is None else f", popsize={self.popsize}"
        feasible = "" if self.feasible else f"feasible=False, violation={self.violation:g}, "
        return (
            f"Result(fitness={self.fitness:g}, {feasible}x={to_text(self.x)}, success={self.success}, "
            f"stop={self.stop}, evaluations={self.evaluations}, generations={self.generations}, "
            f"cpu_seconds={self.cpu_seconds:.2f}, algorithm={self.algorithm}{size}, seed={self.seed})"
        )
