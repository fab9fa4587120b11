"""One BLAS thread: daedal is parallel over processes, and two threads on busy cores are slower than one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  Numba calls SciPy's BLAS: it has to be loaded before it can be limited.

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread while the context lasts; afterwards the caller's number is restored."""
    limiter: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limiter
