"""The records of a run's generations as a store keeps them: by column, as JSON, compressed."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence

from daedal.optimizers.base import Generation


def packed_history(history: Sequence[Generation]) -> bytes:
    """Give the records by column, compressed; text inside, so that any program can read it."""
    columns: dict[str, list[float | None]] = {
        name: [_finite(getattr(record, name)) for record in history]
        for name in ("evaluations", "best", "mean", "cpu_seconds")
    }
    names = dict.fromkeys(name for record in history for name in record.info)
    columns |= {name: [_finite(record.info.get(name, math.nan)) for record in history] for name in names}
    return zlib.compress(json.dumps(columns, separators=(",", ":"), allow_nan=False).encode())


def unpacked_history(packed: bytes) -> dict[str, list[float]]:
    """Give the columns again; nan for what is unknown or infinite."""
    columns: dict[str, list[float | None]] = json.loads(zlib.decompress(packed))
    return {name: [math.nan if value is None else value for value in found] for name, found in columns.items()}


def _finite(value: float) -> float | None:
    """JSON has no infinity and no nan."""
    return value if math.isfinite(value) else None
