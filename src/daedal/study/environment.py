"""What runs are made with."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def environment() -> dict[str, str]:
    """Say what runs are made with: versions, and the processor.

    Examples
    --------
    >>> sorted(environment())
    ['cpu', 'daedal', 'numba', 'numpy', 'python']
    """
    return {
        "daedal": version("daedal"),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "python": platform.python_version(),
        "cpu": _cpu(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
