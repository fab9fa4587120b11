"""Reads what a run has left, saved or in a checkpoint, without going on with it; nothing in a file is run."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.failures import Failure
from daedal.evaluation.memory_cache import MemoryCache
from daedal.evaluation.seen_rows import SeenRows
from daedal.limits import Limits, StopReason, meets
from daedal.optimizers.history import restored_history
from daedal.optimizers.records import Best
from daedal.result import Result, Trace
from daedal.result.saved import load_result, restored_settings
from daedal.run.checkpoint import load_checkpoint
from daedal.run.resume import described_space
from daedal.run.tracer import linkage_from_state, looks_from_state
from daedal.run.tracing import Found, trace_of
from daedal.storage.checkpoint_file import CHECKPOINT, CheckpointError
from daedal.types import State, StateError

_LONGEST = 2**15  # letters of a text


def load_run(path: str | os.PathLike[str]) -> Result:
    """Read a run: one that was saved (`Result.save`), or, as far as it came, the checkpoint of one.

    Of a run that has not ended, `stop` is `StopReason.UNFINISHED`.

    Examples
    --------
    >>> import daedal, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.npz")
    ...     daedal.maximize("onemax:n=20", seed=1).save(path)
    ...     daedal.load(path).fitness
    20.0
    """
    place = Path(path)
    if not (place.is_file() and place.stat().st_size and CHECKPOINT.owns(place)):
        return load_result(place)
    state = load_checkpoint(place)
    try:
        return _result(state)
    except (ValueError, TypeError, OverflowError, KeyError, IndexError) as error:
        raise CheckpointError(f"{place} does not fit its own run: {str(error)[:300]}") from error


def _result(state: State) -> Result:
    config, evaluator, own, found = (state.part(name) for name in ("config", "evaluator", "run", "found"))
    n, sign = config.whole("n"), -1 if config.truth("minimize") else 1
    if not found.given("best"):
        raise StateError("nothing was evaluated yet")
    x, order = found.row("x", n), _order(found, n)
    best = Best.from_json(x, found.inner("best"))
    history = tuple(restored_history(state.part("history")))
    optimum = config.number("optimum") if config.given("optimum") else None
    limits = Limits(**config.inner("limits").fields)  # type: ignore[arg-type]
    violation = found.number("violation") if found.given("violation") else 0.0
    feasible = best.fitness > -math.inf and not violation > 0
    goal = optimum if limits.target is None else limits.target
    counts = {name: evaluator.whole(name) for name in ("evaluated", "cached", "failed", "batches")}
    settings = restored_settings(config.inner("settings"))
    popsize = settings.get("popsize")
    if popsize == "auto":
        popsize = found.whole("popsize") if found.given("popsize") else None  # the last one
    else:
        settings.pop("popsize", None)
    places = np.arange(n) if order is None else order
    return Result(
        x=x[places],
        fitness=sign * best.fitness,
        feasible=feasible,
        violation=violation,
        violations=tuple(float(one) for one in found.listed("violations")) if found.given("violations") else (),  # type: ignore[arg-type]
        success=None if goal is None else feasible and meets(best.fitness, sign * goal),
        stop=StopReason(found.text("stop")) if found.given("stop") else StopReason.UNFINISHED,
        evaluations=counts["evaluated"] + counts["cached"] + counts["failed"],
        evaluations_to_best=best.evaluations,
        **counts,
        failures=tuple(map(Failure.from_json, evaluator.listed("failures"))),
        generations=history[-1].generation if history else 0,
        seconds=own.seconds("seconds"),
        cpu_seconds=own.seconds("cpu_seconds"),
        cpu_seconds_to_best=own.seconds("cpu_seconds_to_best"),
        history=history,
        algorithm=config.text("algorithm")[:_LONGEST],
        settings=settings,
        popsize=popsize if isinstance(popsize, int) else None,
        seed=config.whole("seed"),
        optimum=optimum,
        explanation=found.text("explanation")[:_LONGEST],
        standard_error=best.standard_error,
        measurements=best.measurements,
        space=described_space(config),
        names=tuple(map(str, config.listed("names"))) if config.given("names") else None,
        problem=config.text("objective")[:_LONGEST],
        minimize=sign < 0,
        limits=limits,
        again=config.text("again")[:_LONGEST],
        trace=_trace(state, best, order, sign),
    )


def _order(found: State, n: int) -> NDArray[np.intp] | None:
    if "order" not in found.arrays:
        return None
    order = found.wholes("order", shape=(n,), least=0, most=n - 1)
    if len(np.unique(order)) != n:
        raise StateError("expected an order of the variables, got some of them twice")
    return order.astype(np.intp)


def _trace(state: State, best: Best, order: NDArray[np.intp] | None, sign: int) -> Trace:
    kept, n, prefix = state.part("trace"), len(best.x), "memory/"
    evaluator = state.part("evaluator").arrays
    memory = {name.removeprefix(prefix): array for name, array in evaluator.items() if name.startswith(prefix)}
    return trace_of(
        looks_from_state(kept, n),
        linkage=linkage_from_state(kept, n),
        source=kept.text("source")[:_LONGEST],
        seen=SeenRows(MemoryCache.from_state(n, memory), sign=sign) if memory else None,
        found=Found(x=best.x, fitness=best.fitness),
        order=order,
        sign=sign,
    )
