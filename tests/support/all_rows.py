"""Every row of n bits, for tests that prove something by enumeration."""

from __future__ import annotations

import numpy as np

from daedal.types import Bits


def all_rows(n: int) -> Bits:
    """Give the 2^n rows, shape (2^n, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
