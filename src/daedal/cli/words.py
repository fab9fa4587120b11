"""What several commands read and write alike."""

from __future__ import annotations

import math

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def pairs(words: list[str]) -> dict[str, str]:
    """Read the words of `--set`."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise ValueError(f"expected --set key=value, as in --set corruption=0.05, got {word!r}")
        key = key.strip().replace("-", "_")
        if key in found:
            raise ValueError(f"expected --set {key} once, got it twice")
        found[key] = value.strip()
    return found


def finite(value: float | None) -> float | None:
    """JSON has no infinity: null stands for the fitness of a run that found nothing feasible."""
    return value if value is None or math.isfinite(value) else None
