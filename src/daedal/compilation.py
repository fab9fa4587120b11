"""Says that the kernels are being compiled, the first time that they are."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel is in memory, or in Numba's cache on disk, made after the kernel's source."""
    if kernel.signatures:
        return True
    source = Path(inspect.getfile(kernel.py_func))
    index = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__qualname__}-*.nbi")
    return any(file.stat().st_mtime >= source.stat().st_mtime for file in index)


def announce(kernel: Any) -> None:
    """Write one line to standard error if the kernel has to be compiled now."""
    if not is_compiled(kernel):
        print("compiling kernels, once (some seconds) ...", file=sys.stderr, flush=True)
