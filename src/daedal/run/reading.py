"""Reads the result of a run from its file, also of one that is under way or was interrupted."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from daedal.archive import Archive, to_candidates
from daedal.evaluation.answers import FAILURES_KEPT, Failure, best_of, merits
from daedal.limits import Limits, StopReason, meets
from daedal.result import Result
from daedal.result.records import Generation
from daedal.result.result import record_from_json, result_from_json
from daedal.run.known import from_keys
from daedal.run.resume import space_of
from daedal.run.run_file import Evaluation, RunFile, read_run
from daedal.run.tracer import Tracer
from daedal.types import Bits, Fitness, to_text


def load_run(path: str | os.PathLike[str]) -> Result:
    """Return the result of a run from its file; nothing in the file is run.

    Of a run that is under way, or was killed, it is what is known so far.
    """
    with closing(read_run(path)) as file:
        outcome, records = file.outcome, file.records
        try:
            if outcome is not None:
                return result_from_json(outcome, records, file.trace)
            return _so_far(file, records)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            if str(error).startswith(os.fspath(path)):
                raise
            raise ValueError(f"{os.fspath(path)} is damaged ({str(error)[:300]})") from error


def _so_far(file: RunFile, records: Sequence[Mapping[str, Any]]) -> Result:
    """Return what is known of a run that has no outcome."""
    kept, found = file.description, list(file.evaluations())
    if not found:
        raise ValueError(f"{os.fspath(file.path)} has no evaluations yet")
    history = tuple(map(record_from_json, records))
    n, sign, space = int(kept["n"]), -1 if kept["minimize"] else 1, space_of(kept)
    rows = from_keys([one.key for one in found], n, space)
    best = _best(rows, found, sign=sign, noisy=kept["noise"] is not None)
    paid = [one for one in found if not one.known]
    failed = [Failure(_shown(row, space), one.error) for row, one in zip(rows, found, strict=True) if one.error]
    to_best = sum(not one.known for one in found[: best["place"] + 1])
    limits, last = Limits(**kept["limits"]), history[-1] if history else None
    goal = kept["optimum"] if limits.target is None else limits.target
    feasible = math.isfinite(best["fitness"]) and not best["violation"] > 0
    popsize = kept["chosen"].get("popsize")
    return Result(
        x=best["x"],
        fitness=best["fitness"],
        feasible=feasible,
        violation=0.0 if feasible else best["violation"] or math.inf,
        violations=best["violations"],
        success=_is_solved(best, goal, sign, feasible=feasible, noisy=kept["noise"] is not None),
        stop=StopReason.UNFINISHED,
        evaluations=len(paid),
        evaluations_to_best=to_best,
        failed=len(failed),
        repeated=max(len(found) - len(paid), 0 if last is None else last.repeated),
        failures=tuple(failed[:FAILURES_KEPT]),
        batches=0 if last is None else last.batches,
        generations=0 if last is None else last.generation,
        seconds=0.0 if last is None else last.seconds,
        cpu_seconds=0.0 if last is None else last.cpu_seconds,
        cpu_seconds_to_best=_seconds_to(to_best, history),
        history=history,
        algorithm=str(kept["algorithm"]),
        settings={name: value for name, value in kept["chosen"].items() if name != "popsize"},
        popsize=popsize if isinstance(popsize, int) else None,
        seed=int(kept["seed"]),
        optimum=kept["optimum"],
        standard_error=best["standard_error"],
        measurements=best["measurements"],
        space=space,
        names=None if kept["names"] is None else tuple(map(str, kept["names"])),
        problem=str(kept["objective"]),
        minimize=sign < 0,
        limits=limits,
        again=str(kept["again"]),
        trace=best["trace"],
    )


def _best(rows: Bits, found: Sequence[Evaluation], *, sign: int, noisy: bool) -> dict[str, Any]:
    """Return the best solution among evaluations: rows, shape (rows, n), in the objective's own order."""
    values = np.array([math.nan if one.value is None else one.value for one in found])
    best: dict[str, Any] = {"violation": 0.0, "violations": (), "standard_error": None, "measurements": 1}
    columns = max((len(one.outputs) for one in found if one.outputs is not None), default=0)
    if columns:
        outputs = np.array([one.outputs or (math.nan,) * columns for one in found])
        standing = best_of(rows, outputs, sign)
        values = merits(outputs, sign)
        if standing is not None:
            best |= {"violation": standing.violation, "violations": standing.violations}
    worth: Fitness = np.where(np.isnan(values), -np.inf, sign * values)
    place = _most_surely_good(rows, worth, best) if noisy else int(np.argmax(worth))
    fitness = best.pop("mean", worth[place]) * sign if not columns else float(outputs[place, 0])
    archive = Archive(rows.shape[1])
    for candidate, value in zip(to_candidates(rows), worth.tolist(), strict=True):
        archive.add(candidate, value, None)
    known = None if noisy else archive
    trace = Tracer(rows.shape[1]).trace(known, best=rows[place], value=sign * fitness, sign=sign)
    return best | {"x": rows[place].copy(), "fitness": float(fitness), "place": place, "trace": trace}


def _most_surely_good(rows: Bits, worth: Fitness, best: dict[str, Any]) -> int:
    """Return the place of the candidate whose mean is most surely good, and note that mean."""
    from daedal.searches.noisy import UNSURE, Mean, noise_of

    means: dict[bytes, Mean] = {}
    places: dict[bytes, int] = {}
    for place, (row, value) in enumerate(zip(rows, worth.tolist(), strict=True)):
        means.setdefault(row.tobytes(), Mean()).add(value)
        places.setdefault(row.tobytes(), place)
    noise = noise_of(means.values())
    key = min(means, key=lambda one: UNSURE * noise / math.sqrt(means[one].count) - means[one].mean)
    found = means[key]
    best |= {"mean": found.mean, "standard_error": found.error, "measurements": found.count}
    return places[key]


def _is_solved(best: Mapping[str, Any], goal: float | None, sign: int, *, feasible: bool, noisy: bool) -> bool | None:
    """Return whether the goal is reached; of noisy values, only the mean that ends a run can tell."""
    if goal is None:
        return None
    return feasible and not noisy and meets(sign * best["fitness"], sign * goal)


def _seconds_to(evaluations: int, history: Sequence[Generation]) -> float:
    return next((one.cpu_seconds for one in history if one.evaluations >= evaluations), 0.0)


def _shown(row: Bits, space: Any) -> str:
    return to_text(row) if space is None else str(space.value(row))
