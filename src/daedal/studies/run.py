"""What is known of a run, and the records of its generations as a store keeps them."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from daedal.result.records import Generation

DONE, FAILED, KILLED = "done", "failed", "killed"

_COLUMNS = """
problem algorithm preset popsize budget seed status success best optimum evaluations_to_best evaluations
unique_evaluations batches generations cpu_seconds_to_best cpu_seconds stop error x settings content daedal numpy numba
python cpu finished cell
"""
_WHOLE = "popsize budget seed evaluations_to_best evaluations unique_evaluations batches generations"
COLUMNS: dict[str, type] = {
    **dict.fromkeys(_COLUMNS.split(), str),
    "success": bool,
    **dict.fromkeys(_WHOLE.split(), int),
    **dict.fromkeys(("best", "optimum", "cpu_seconds_to_best", "cpu_seconds"), float),
}
"""What is known of a run. Problem and algorithm are called as in the study; the preset is the algorithm's own name."""

_LARGEST_HISTORY = 2**28
"""Bytes of JSON, however few they are in the file: those of a million generations."""


@dataclass(slots=True)  # not frozen, which takes twice as long: there may be 100,000
class Run:
    """What the analysis needs to know of a run.

    Failed: it raised, or ended its process; killed: its process was killed from outside. Success is None where it
    cannot be known, False for a run that did not end well. Evaluations and CPU seconds count until the best solution;
    batches are None in stores from before they were counted; calls of the objective, and evaluations in total, those
    that were known included, are those of the whole run.
    """

    seed: int
    status: str
    success: bool | None
    best: float | None = None
    optimum: float | None = None
    evaluations: int | None = None
    seconds: float | None = None
    total_seconds: float | None = None
    batches: int | None = None
    generations: int | None = None
    calls: int | None = None
    total_evaluations: int | None = None
    error: str | None = None
    cpu: str | None = None


def packed_history(history: Sequence[Generation]) -> bytes:
    """Give the records by column, as JSON, compressed: any program can read it."""
    columns: dict[str, list[float | None]] = {
        name: [_finite(getattr(record, name)) for record in history]
        for name in ("evaluations", "best", "mean", "cpu_seconds")
    }
    names = dict.fromkeys(name for record in history for name in record.info)
    columns |= {name: [_finite(record.info.get(name, math.nan)) for record in history] for name in names}
    return zlib.compress(json.dumps(columns, separators=(",", ":"), allow_nan=False).encode())


def unpacked_history(packed: bytes, *, largest: int = _LARGEST_HISTORY) -> dict[str, list[float]]:
    """Give the columns again, nan for what is unknown or infinite; ValueError for anything else than a history."""
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(packed, largest)
        if opened.unconsumed_tail:
            raise ValueError(f"it has more than {largest:,} bytes")
        columns = json.loads(text)
        return {name: [math.nan if one is None else float(one) for one in found] for name, found in columns.items()}
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"expected the history of a run, got none: {error}") from error


def _finite(value: float) -> float | None:
    """JSON has no infinity and no nan."""
    return value if math.isfinite(value) else None
