"""How kernels are compiled, and what is said when they have to be.

Every module of kernels imports this one, so that stale machine code is gone before any is loaded.
"""

from __future__ import annotations

import logging
from typing import Any

from numba import njit

from daedal.kernels.numba_cache import discard_stale, is_compiled

OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nnan", "nsz"}, "error_model": "numpy", "cache": True}
"""How models' kernels are compiled: a * b + c may be one operation, 1/0 is inf, the machine code is kept on disk.

Sums are not reordered. Whether Numba puts a called kernel into its caller's code depends on what happens to be in the
cache; with free order of sums, so would the last digit of results, and the same seed would not give the same run.
"""

EXACT: dict[str, Any] = {"cache": True}
"""How kernels of problems are compiled: their arithmetic is that of Python."""


@njit(**OPTIONS)
def _nothing() -> None:
    """Show where Numba keeps the machine code of this folder."""


discard_stale(_nothing)


def announce(kernel: Any) -> None:
    """Say so if the kernel has to be compiled now; without other handlers, Python writes it to standard error."""
    if not is_compiled(kernel):
        logging.getLogger("daedal").warning("compiling kernels, once (some seconds) ...")
