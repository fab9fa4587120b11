"""What the bare matrix products of a shape cost: the yardstick of the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def cpu_times(*functions: Callable[[], object], seconds: float = 0.03, repeats: int = 15) -> list[float]:
    """CPU seconds of one call of each: minima over repeats of about the given length, taken in turns.

    In turns, so that a change of the machine's speed meets all of them.
    """
    inner = []
    for function in functions:
        function()
        inner.append(max(1, int(seconds / max(_timed(function, 1), 1e-7))))
    rounds = [[_timed(*pair) for pair in zip(functions, inner, strict=True)] for _ in range(repeats)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _timed(function: Callable[[], object], inner: int) -> float:
    started = time.process_time()
    for _ in range(inner):
        function()
    return (time.process_time() - started) / inner


def five_products(rows: int, n: int, m: int) -> Callable[[], None]:
    """Make the products of one mini-batch: x W, h W^T, dz W, x^T dh, dz^T h, float32, into given arrays."""
    rng = np.random.default_rng(0)
    x, dz, z = (rng.random((rows, n), dtype=np.float32) for _ in range(3))
    h, dh = (rng.random((rows, m), dtype=np.float32) for _ in range(2))
    w, g1, g2 = (rng.random((n, m), dtype=np.float32) for _ in range(3))

    def products() -> None:
        np.dot(x, w, out=h)
        np.dot(h, w.T, out=z)
        np.dot(dz, w, out=dh)
        np.dot(x.T, dh, out=g1)
        np.dot(dz.T, h, out=g2)

    return products


def two_products(rows: int, n: int, m: int) -> Callable[[], None]:
    """Make the products of one reconstruction: x W and h W^T."""
    rng = np.random.default_rng(0)
    x, z = (rng.random((rows, n), dtype=np.float32) for _ in range(2))
    h = rng.random((rows, m), dtype=np.float32)
    w = rng.random((n, m), dtype=np.float32)

    def products() -> None:
        np.dot(x, w, out=h)
        np.dot(h, w.T, out=z)

    return products
