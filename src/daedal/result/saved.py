"""Results as plain values and arrays, which a run file keeps, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Failure
from daedal.limits import Limits, StopReason
from daedal.result.records import Generation
from daedal.result.result import Result
from daedal.result.trace import Curve, Trace
from daedal.settings.parameters import plain
from daedal.spaces.space import describe, described
from daedal.types import Bits, Json, from_text, to_text

_APART = ("history", "trace")  # fields of a result that have a place of their own in a file
_PACKED = ("rows", "top", "seen")
_FIGURES = tuple(field.name for field in dataclasses.fields(Generation) if field.name != "info")


def result_to_json(result: Result) -> dict[str, Json]:
    """Return all of a result but its records and its trace as plain values."""
    fields = {one.name: getattr(result, one.name) for one in dataclasses.fields(Result) if one.name not in _APART}
    return fields | {
        "x": to_text(result.x),
        "violations": list(result.violations),
        "stop": result.stop.value,
        "failures": [[failure.x, failure.error] for failure in result.failures],
        "settings": {name: plain(value) for name, value in result.settings.items()},
        "space": None if result.space is None else describe(result.space),
        "names": None if result.names is None else list(result.names),
        "limits": {name: plain(value) for name, value in dataclasses.asdict(result.limits).items()},
    }


def result_from_json(
    kept: Mapping[str, Any], records: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]] | None
) -> Result:
    """Return the result that the other functions have taken apart; ValueError for anything else."""
    try:
        x = from_text(kept["x"])
        result = Result(
            **{
                **kept,
                "x": x,
                "violations": tuple(map(float, kept["violations"])),
                "stop": StopReason(kept["stop"]),
                "failures": tuple(Failure(str(one), str(error)) for one, error in kept["failures"]),
                "settings": dict(kept["settings"]),
                "space": None if kept["space"] is None else described(kept["space"]),
                "names": None if kept["names"] is None else tuple(map(str, kept["names"])),
                "limits": Limits(**kept["limits"]),
                "history": tuple(map(record_from_json, records)),
                "trace": None if arrays is None else _trace(arrays, len(x)),
            }
        )
        if (result.space is not None and result.space.n != result.n) or len(result.names or x) != result.n:
            raise ValueError(f"expected names, or a space, of {result.n} bits")
        repr(result)  # whatever has to be a number is one
        return result
    except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def record_to_json(record: Generation) -> dict[str, Json]:
    """Return the figures of a generation as plain values."""
    return {**{name: getattr(record, name) for name in _FIGURES}, "info": dict(record.info)}


def record_from_json(kept: Mapping[str, Any]) -> Generation:
    """Return the record that `record_to_json` gave."""
    try:
        info = {str(name): value for name, value in kept["info"].items() if _is_number(value)}
        figures = {name: kept[name] for name in _FIGURES}
    except (KeyError, AttributeError) as error:
        raise ValueError(f"a record of a generation is damaged ({type(error).__name__}: {error})") from error
    if not all(_is_number(value) for name, value in figures.items() if name != "sd"):
        raise ValueError(f"a record of a generation has values that are no numbers: {figures!r:.80}")
    return Generation(**figures, info=info)


def _is_number(value: object) -> bool:
    """Return True for a number that is not too large for a float or a table."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def trace_to_arrays(trace: Trace) -> dict[str, NDArray[Any]]:
    """Return a trace as plain arrays."""
    arrays: dict[str, NDArray[Any]] = {
        "generations": trace.generations,
        "ones": trace.ones,
        "fitness": trace.fitness,
        "look": trace.look.astype(np.int64),
        "top_fitness": trace.top_fitness,
        "seen_fitness": trace.seen_fitness,
        "flips": trace.flips,
        "others": trace.others,
        "source": np.array(trace.source),
        "curves": np.array([[curve.generation, len(curve.epochs)] for curve in trace.curves], np.int64).reshape(-1, 2),
        "epochs": np.concatenate([np.empty(0, np.int64), *(curve.epochs for curve in trace.curves)]),
        "errors": np.concatenate([np.empty(0), *(curve.errors for curve in trace.curves)]),
        **{name: np.packbits(getattr(trace, name), axis=1) for name in _PACKED},
    }
    if trace.linkage is not None:
        arrays["linkage"] = trace.linkage
    return arrays


def _trace(arrays: Mapping[str, NDArray[Any]], n: int) -> Trace:
    looks = len(arrays["generations"])
    rows, top, seen = (_bits(arrays[name], n) for name in _PACKED)
    curves, linkage = arrays["curves"].reshape(-1, 2), arrays.get("linkage")
    ends = np.cumsum(curves[:, 1])[:-1]
    parts = zip(np.split(arrays["epochs"], ends), np.split(arrays["errors"], ends), strict=True)
    look = arrays["look"].astype(np.int64)
    if len(look) != len(rows) or (len(look) and not 0 <= look.min() <= look.max() < looks):
        raise ValueError("expected the looks that rows belong to")
    return Trace(
        generations=arrays["generations"].astype(np.int64),
        ones=_numbers(arrays["ones"], looks, n).astype(np.float32),
        rows=rows,
        fitness=_numbers(arrays["fitness"], len(rows)),
        look=look,
        linkage=None if linkage is None else _numbers(linkage, n, n).astype(np.float32),
        source=str(arrays["source"]),
        curves=tuple(
            Curve(generation=int(generation), epochs=epochs, errors=errors)
            for (generation, _), (epochs, errors) in zip(curves, parts, strict=False)
        ),
        top=top,
        top_fitness=_numbers(arrays["top_fitness"], len(top)),
        flips=_numbers(arrays["flips"], n),
        others=_numbers(arrays["others"], n),
        seen=seen,
        seen_fitness=_numbers(arrays["seen_fitness"], len(seen)),
    )


def _numbers(array: NDArray[Any], *shape: int) -> NDArray[np.float64]:
    if array.shape != shape or array.dtype.kind != "f":
        raise ValueError(f"expected numbers of shape {shape} in a trace, got shape={array.shape}")
    return array.astype(np.float64)


def _bits(packed: NDArray[Any], n: int) -> Bits:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n // 8):
        raise ValueError(f"expected packed rows of {n} bits in a trace, got shape={packed.shape}")
    return np.unpackbits(packed, axis=1, count=n)
