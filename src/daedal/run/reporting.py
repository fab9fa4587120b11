"""The result of a run, in the objective's own sign and order of variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from daedal.limits import StopReason, meets
from daedal.objectives.bound import BoundObjective
from daedal.result import Result
from daedal.run.loop import Outcome, Run
from daedal.run.tracing import trace_of

if TYPE_CHECKING:
    from daedal.run.config import RunConfig


def result_of(config: RunConfig, objective: BoundObjective, run: Run, outcome: Outcome) -> Result:
    """Report how a run ended."""
    best, goal, engine, settings = outcome.best, config.goal(objective), run.engine, config.algorithm.settings()
    feasible = abs(best.fitness) < math.inf and not outcome.violation > 0
    popsize = settings.get("popsize")
    if popsize == "auto":
        popsize = engine.popsize  # the last one
    else:
        settings.pop("popsize", None)
    explanation = engine.explanation if isinstance(engine.explanation, str) else engine.explanation()
    trace = None
    if run.tracer.active:
        run.tracer.finish(len(outcome.history) - 1, engine)
        known = None if engine.by_means or engine.repeat else engine.archive
        trace = trace_of(
            run.tracer, known, best=best.x, value=config.sign * best.fitness, order=objective.order, sign=config.sign
        )
    return Result(
        x=objective.to_objective(best.x),
        fitness=best.fitness,
        feasible=feasible,
        violation=0.0 if feasible else outcome.violation,
        violations=outcome.violations,
        success=None if goal is None else feasible and _is_reached(run, outcome, config.sign * goal, config.sign),
        stop=outcome.stop,
        evaluations=run.evaluations,
        evaluations_to_best=best.evaluations,
        failed=run.failed,
        repeated=outcome.repeated,
        failures=tuple(run.failures),
        batches=run.batches,
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
        explanation=explanation,
        space=config.space,
        names=config.names,
        standard_error=best.standard_error,
        measurements=best.measurements,
        problem=objective.name,
        minimize=config.minimize,
        limits=config.limits,
        again=config.again,
        trace=trace,
    )


def _is_reached(run: Run, outcome: Outcome, target: float, sign: int) -> bool:
    """Return whether a run has reached a target; of noisy values only a mean that ended the run does."""
    if run.engine.by_means:
        return outcome.stop is StopReason.TARGET
    return meets(sign * outcome.best.fitness, target)
