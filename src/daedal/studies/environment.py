"""What runs are made with."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def environment() -> dict[str, str]:
    """Say what runs are made with: versions, and the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    processors = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        **{name: version(name) for name in ("daedal", "numpy", "numba")},
        "python": platform.python_version(),
        "cpu": processors[0] if processors else platform.processor() or platform.machine(),
    }
