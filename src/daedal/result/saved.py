"""Results in files: arrays and JSON in one sealed .npz; reading one runs no code."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.failures import Failure
from daedal.limits import Limits, StopReason
from daedal.optimizers.history import history_state, restored_history
from daedal.result.result import Result
from daedal.result.trace import Curve, Trace
from daedal.settings.parameters import Setting, plain
from daedal.spaces.description import describe, described
from daedal.storage.checkpoint_file import RUN_FORM, CheckpointError, read_checkpoint_file, write_checkpoint_file
from daedal.types import LARGEST_COUNT, Bits, Json, State, StateError

_COUNTS = ("evaluations", "evaluations_to_best", "evaluated", "cached", "failed", "batches", "generations")
_TIMES = ("seconds", "cpu_seconds", "cpu_seconds_to_best")
_TEXTS = ("algorithm", "explanation", "problem", "again")
_PACKED = ("rows", "top", "seen")
_LONGEST = 2**15  # letters of a text, as in a checkpoint


def save_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result to a file, in place of a saved run that may be there."""
    parts = {"result": _result_state(result), "history": history_state(result.history)}
    if result.trace is not None:
        parts["trace"] = _trace_state(result.trace)
    state = State.join(parts)
    write_checkpoint_file(os.path.abspath(path), arrays=state.arrays, fields=state.fields, form=RUN_FORM)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read what `save_result` wrote."""
    arrays, fields = read_checkpoint_file(path, what="a saved run", form=RUN_FORM)
    state = State(arrays=arrays, fields=fields)
    try:
        trace = _trace(state.part("trace")) if state.given("trace") else None
        result = _result(state.part("result"), history=tuple(restored_history(state.part("history"))), trace=trace)
        if trace is not None and trace.ones.shape[1] != result.n:
            raise StateError(f"expected a trace of {result.n} variables, got one of {trace.ones.shape[1]}")
        return result
    except (ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(f"{os.fspath(path)} is no saved run: {error}") from error


def _result_state(result: Result) -> State:
    fields: dict[str, Json] = {name: getattr(result, name) for name in (*_COUNTS, *_TIMES, *_TEXTS)}
    fields |= {
        "seed": result.seed,
        "fitness": result.fitness,
        "feasible": result.feasible,
        "violation": result.violation,
        "violations": list(result.violations),
        "success": result.success,
        "stop": result.stop.value,
        "failures": [[failure.x, failure.error] for failure in result.failures],
        "settings": {name: plain(value) for name, value in result.settings.items()},
        "popsize": result.popsize,
        "optimum": result.optimum,
        "standard_error": result.standard_error,
        "measurements": result.measurements,
        "space": None if result.space is None else describe(result.space),
        "names": None if result.names is None else list(result.names),
        "minimize": result.minimize,
        "limits": {name: plain(value) for name, value in dataclasses.asdict(result.limits).items()},
    }
    return State(arrays={"x": result.x}, fields=fields)


def _result(state: State, **known: Any) -> Result:
    n = len(state.array("x"))
    names = tuple(map(str, state.listed("names"))) if state.given("names") else None
    space = described(state.inner("space").fields) if state.given("space") else None
    if (names is not None and len(names) != n) or (space is not None and space.n != n):
        raise StateError(f"expected names, or a space, of {n} bits, got others")
    kept: dict[str, Any] = {name: state.whole(name) for name in _COUNTS}
    kept |= {name: state.seconds(name) for name in _TIMES}
    kept |= {name: state.text(name)[:_LONGEST] for name in _TEXTS}
    return Result(
        x=state.row("x", n),
        fitness=state.number("fitness"),
        seed=state.whole("seed", most=None),
        feasible=state.truth("feasible"),
        violation=state.number("violation"),
        violations=tuple(map(_number, state.listed("violations"))),
        success=state.truth("success") if state.given("success") else None,
        stop=StopReason(state.text("stop")),
        failures=tuple(map(Failure.from_json, state.listed("failures"))),
        settings=restored_settings(state.inner("settings")),
        popsize=state.whole("popsize") if state.given("popsize") else None,
        optimum=state.number("optimum") if state.given("optimum") else None,
        standard_error=state.number("standard_error") if state.given("standard_error") else None,
        measurements=state.whole("measurements"),
        space=space,
        names=names,
        minimize=state.truth("minimize"),
        limits=Limits(**state.inner("limits").fields),  # type: ignore[arg-type]
        **kept,
        **known,
    )


def restored_settings(kept: State) -> dict[str, Setting]:
    """Give settings by name, as a file has them: single values."""
    odd = [name for name, value in kept.fields.items() if isinstance(value, list | dict)]
    if odd:
        raise StateError(f"expected the setting {odd[0][:60]!r} to be one value, got several")
    return dict(kept.fields)  # type: ignore[arg-type]


def _trace_state(trace: Trace) -> State:
    n = trace.ones.shape[1]
    arrays: dict[str, NDArray[Any]] = {
        "generations": trace.generations,
        "ones": trace.ones,
        "fitness": trace.fitness,
        "look": trace.look.astype(np.int64),
        "top_fitness": trace.top_fitness,
        "seen_fitness": trace.seen_fitness,
        "around": np.stack([trace.flips, trace.others]),
        "curves": np.array([[curve.generation, len(curve.epochs)] for curve in trace.curves], np.int64).reshape(-1, 2),
        "epochs": np.concatenate([np.empty(0, np.int64), *(curve.epochs for curve in trace.curves)]),
        "errors": np.concatenate([np.empty(0), *(curve.errors for curve in trace.curves)]),
        **{name: np.packbits(getattr(trace, name), axis=1) for name in _PACKED},
    }
    if trace.linkage is not None:
        arrays["linkage"] = trace.linkage
    return State(arrays=arrays, fields={"n": n, "source": trace.source})


def _trace(state: State) -> Trace:
    n = state.whole("n")
    generations = state.wholes("generations", shape=(-1,), least=0, most=LARGEST_COUNT)
    looks, linkage = len(generations), state.arrays.get("linkage")
    rows, top, seen = (_bits(state, name, n) for name in _PACKED)
    curves = state.wholes("curves", shape=(-1, 2), least=0, most=LARGEST_COUNT)
    ends = np.cumsum(curves[:, 1])
    epochs = state.wholes("epochs", shape=(-1,), least=0, most=LARGEST_COUNT)
    around = _floats(state, "around", (2, n))
    if linkage is not None and (linkage.shape != (n, n) or not np.isfinite(linkage).all()):
        raise StateError(f"expected numbers for pairs of {n} variables, got shape={linkage.shape}")
    if curves[:, 1].sum() != len(epochs):
        raise StateError(f"expected {curves[:, 1].sum()} measurements of training, got {len(epochs)}")
    parts = zip(np.split(epochs, ends[:-1]), np.split(_floats(state, "errors", epochs.shape), ends[:-1]), strict=True)
    return Trace(
        generations=generations,
        ones=_floats(state, "ones", (looks, n)).astype(np.float32),
        rows=rows,
        fitness=_floats(state, "fitness", (len(rows),)),
        look=state.wholes("look", shape=(len(rows),), least=0, most=max(0, looks - 1)),
        linkage=None if linkage is None else linkage.astype(np.float32),
        source=state.text("source")[:_LONGEST],
        curves=tuple(
            Curve(generation=int(generation), epochs=one, errors=other)
            for generation, (one, other) in zip(curves[:, 0], parts, strict=False)
        ),
        top=top,
        top_fitness=_floats(state, "top_fitness", (len(top),)),
        flips=around[0],
        others=around[1],
        seen=seen,
        seen_fitness=_floats(state, "seen_fitness", (len(seen),)),
    )


def _number(value: Json) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise StateError(f"expected a number, got {value!r:.60}")
    return float(value)


def _floats(state: State, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Give numbers of a shape; nan among them is what is not known."""
    array = state.array(name)
    if array.shape != shape or array.dtype.kind != "f":
        raise StateError(f"expected numbers of shape {shape} as {name}, got shape={array.shape}")
    return array.astype(np.float64)


def _bits(state: State, name: str, n: int) -> Bits:
    packed = state.array(name)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n // 8):
        raise StateError(f"expected packed rows of {n} bits as {name}, got shape={packed.shape}")
    return np.unpackbits(packed, axis=1, count=n)
