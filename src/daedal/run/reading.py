"""Reads what a run has left, saved or in a checkpoint, without going on with it; nothing in a file is run."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

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
from daedal.run.found import FoundSoFar, read_found
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
    config, evaluator, own = (state.part(name) for name in ("config", "evaluator", "run"))
    n, sign = config.whole("n"), -1 if config.truth("minimize") else 1
    found = read_found(state.part("found"), n)
    if found.best is None:
        raise StateError("nothing was evaluated yet")
    history = tuple(restored_history(state.part("history")))
    counts: dict[str, Any] = {name: evaluator.whole(name) for name in ("evaluated", "cached", "failed", "batches")}
    settings = restored_settings(config.inner("settings"))
    popsize = found.popsize if settings.get("popsize") == "auto" else settings.pop("popsize", None)
    return Result(
        **_judged(config, found, sign),
        stop=found.stop or StopReason.UNFINISHED,
        evaluations=counts["evaluated"] + counts["cached"] + counts["failed"],
        evaluations_to_best=found.best.evaluations,
        **counts,
        failures=tuple(map(Failure.from_json, evaluator.listed("failures"))),
        generations=history[-1].generation if history else 0,
        seconds=own.seconds("seconds"),
        cpu_seconds=own.seconds("cpu_seconds"),
        cpu_seconds_to_best=own.seconds("cpu_seconds_to_best"),
        history=history,
        settings=settings,
        popsize=popsize if isinstance(popsize, int) else None,
        seed=config.whole("seed", most=None),
        explanation=found.explanation[:_LONGEST],
        standard_error=found.best.standard_error,
        measurements=found.best.measurements,
        space=described_space(config),
        names=tuple(map(str, config.listed("names"))) if config.given("names") else None,
        minimize=sign < 0,
        algorithm=config.text("algorithm")[:_LONGEST],
        problem=config.text("objective")[:_LONGEST],
        again=config.text("again")[:_LONGEST],
        trace=_trace(state, found.best, found.order, sign),
    )


def _judged(config: State, found: FoundSoFar, sign: int) -> dict[str, Any]:
    """Give the best solution as the objective has it, and whether it is what was looked for."""
    best, order = found.best, found.order
    assert best is not None
    optimum = config.number("optimum") if config.given("optimum") else None
    limits = Limits(**config.inner("limits").fields)  # type: ignore[arg-type]
    goal = optimum if limits.target is None else limits.target
    feasible = best.fitness > -math.inf and not found.violation > 0
    return {
        "x": best.x if order is None else best.x[order],
        "fitness": sign * best.fitness,
        "feasible": feasible,
        "violation": 0.0 if feasible else found.violation or math.inf,
        "violations": found.violations,
        "success": None if goal is None else feasible and meets(best.fitness, sign * goal),
        "optimum": optimum,
        "limits": limits,
    }


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
