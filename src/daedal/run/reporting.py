"""The result of a run, in the objective's own signs and order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from daedal.evaluation.seen_rows import SeenRows
from daedal.limits import StopReason, meets
from daedal.objectives.bound import BoundObjective
from daedal.optimizers.base import is_fresh
from daedal.result import Result, Trace
from daedal.run.loop import Run
from daedal.run.outcome import Outcome
from daedal.run.tracing import Found, trace_of

if TYPE_CHECKING:
    from daedal.run.config import RunConfig


def result_of(config: RunConfig, objective: BoundObjective, run: Run, outcome: Outcome) -> Result:
    """Report how a run ended."""
    best, goal, evaluator, settings = outcome.best, config.goal(objective), run.evaluator, config.algorithm.settings()
    feasible = best.fitness > -math.inf and not outcome.violation > 0
    popsize = settings.get("popsize")
    if popsize == "auto":
        popsize = getattr(run.optimizer, "popsize", None)  # the last one
    else:
        settings.pop("popsize", None)
    return Result(
        x=objective.to_objective(best.x),
        fitness=config.sign * best.fitness,
        feasible=feasible,
        violation=0.0 if feasible else outcome.violation,
        violations=outcome.violations,
        success=None if goal is None else feasible and _is_reached(run, outcome, config.sign * goal),
        stop=outcome.stop,
        evaluations=evaluator.evaluations,
        evaluations_to_best=best.evaluations,
        evaluated=evaluator.evaluated,
        cached=evaluator.cached,
        failed=evaluator.failed,
        failures=tuple(evaluator.failures),
        batches=evaluator.batches,
        generations=outcome.history[-1].generation if outcome.history else 0,
        seconds=outcome.seconds,
        cpu_seconds=outcome.cpu_seconds,
        cpu_seconds_to_best=outcome.cpu_seconds_to_best,
        history=outcome.history,
        algorithm=config.algorithm.name,
        settings=settings,
        popsize=popsize if isinstance(popsize, int) else None,
        seed=config.seed,
        optimum=config.optimum(objective),
        explanation=getattr(run.optimizer, "explanation", ""),
        space=config.space,
        names=config.names,
        standard_error=best.standard_error,
        measurements=best.measurements,
        problem=objective.name,
        minimize=config.minimize,
        limits=config.limits,
        again=config.again,
        trace=_trace(objective, run, outcome) if run.tracer.active else None,
    )


def _trace(objective: BoundObjective, run: Run, outcome: Outcome) -> Trace:
    """Give what the search looked like, and what it learned."""
    memory, sign, tracer = run.evaluator.known.memory, run.sign, run.tracer
    return trace_of(
        tracer.last(run.generation, run.optimizer),
        linkage=tracer.linkage,
        source=tracer.source,
        seen=None if memory is None else SeenRows(memory, sign=sign),
        found=Found(x=outcome.best.x, fitness=outcome.best.fitness),
        order=objective.order,
        sign=sign,
    )


def _is_reached(run: Run, outcome: Outcome, target: float) -> bool:
    """Whether a run has reached a target: where values scatter, only a mean that has ended it does so."""
    if is_fresh(run.optimizer):
        return outcome.stop is StopReason.TARGET
    return meets(outcome.best.fitness, target)
