"""Unexpected values, as texts and as Python objects."""

from __future__ import annotations

import decimal
import fractions
import math
import random
from typing import Any

import numpy as np

TEXTS = (
    "", " ", "0", "-0", "-1", "1", "2", "7", "1.5", "-1.5", "1e3", "1e308", "1e-320", "1e400", "nan", "-nan", "inf",
    "-inf", "9" * 30, "9" * 5000, "-" + "9" * 30, str(2**31), str(2**63), str(2**64), str(10**15), "0x10", "1_000",
    "１２", "½", "٣", "true", "none", "None", "auto", "null", "\udcff", "a\udce9b", "a\nb", "a\tb",
    "\x1b[31mred\x1b[0m", "\x07", "=1+1", "@x", "-", "--", "---", ".", "..", "/", "~", "*", "%s%n%d", "{}",
    "{0.__class__}", "$(touch pwned)", "`touch pwned`", ";touch pwned", "'", '"', "\\", "💥" * 9, "x" * 300,
    "x" * 70000, "\u202eabc", "é" * 200, "a:b", ":", "a=b", "=", ",", ",,", "retry:0", "retry:-1", "retry:99",
    "retry:2,", "retry:1,worst", "0s", "1s", "-1s", "5h", "1e9s", "local:0", "local:-1", "tcp://127.0.0.1:1",
    "tcp://", "[", "]", "[red]x[/red]", "[/]", "<b>", "&", "\\textbf{x}", "$x$", "|", "a|b",
)  # fmt: skip
"""Texts without a zero byte, which a command line cannot hold."""

NUMBERS = (
    0, 1, 2, 3, -1, -2, 10**12, 10**30, -(10**30), 2**31, 2**63, 2**64, -(2**63), 0.0, -0.0, 0.5, 1.0, -0.5, 1e-320,
    1e308, -1e308, 1e12, math.nan, math.inf, -math.inf, True, False, None, "", "auto", "none", "1", "nan", "0.5",
    "\udcff", "tournament", "rtr", "x" * 9999, b"x", (), [], {}, [1], (1, 2), {1: 2}, 1j, object, len,
    decimal.Decimal("0.5"), decimal.Decimal("NaN"), fractions.Fraction(1, 3), np.float32(0.5), np.float64("nan"),
    np.int8(3), np.uint8(200), np.bool_(True), np.array(3), np.array([1, 2]), np.float16(1e4), np.array(0.5),
    np.str_("3"), range(3),
)  # fmt: skip


def odd_text(rng: random.Random) -> str:
    """Draw a text, or combine two."""
    return rng.choice(TEXTS) if rng.random() < 0.9 else rng.choice(TEXTS)[:50] + rng.choice(TEXTS)[:50]


def odd_value(rng: random.Random) -> Any:
    """Draw a value."""
    return rng.choice(NUMBERS)
