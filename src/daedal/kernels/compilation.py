"""Says that the kernels are being compiled, the first time that they are."""

from __future__ import annotations

import sys
from typing import Any

from daedal.kernels.numba_cache import is_compiled


def announce(kernel: Any) -> None:
    """Write one line to standard error if the kernel has to be compiled now."""
    if not is_compiled(kernel):
        print("compiling kernels, once (some seconds) ...", file=sys.stderr, flush=True)
