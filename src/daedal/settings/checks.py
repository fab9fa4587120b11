"""Checks of what users give (settings, numbers, texts), and how daedal writes numbers and texts for them.

An error says what was expected, what came and, if that helps, what to do.
"""

from __future__ import annotations

import math
import os
import re
import reprlib
from collections.abc import Iterable
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daedal.types import Fitness

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def check_whole(name: str, value: object, *, least: int, of: str = "", hint: str = "") -> int:
    """Return a whole number as an int; raise ValueError for anything else, or less, with a hint at what to do."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        owner, advice = f" of {of}" if of else "", f"; {hint}" if hint else ""
        expected = f"a whole number of at least {least}"
        raise ValueError(f"expected {name}{owner} to be {expected}, got {name}={value!r}{advice}")
    return int(value)


def check_multiple(owner: str, n: int, step: int, what: str, *, least: int = 1) -> None:
    """Check that a number of variables is a multiple of the size of a block."""
    check_whole("n", n, least=least, of=owner)
    if n % step:
        below = n - n % step
        fits = f"{below} or {below + step}" if below >= least else f"{below + step}"
        raise ValueError(f"{owner} needs n to be a multiple of {what}, got n={n}; try {fits}")


def check_between(name: str, value: float, low: float, high: float) -> None:
    """Check that a number is in low..high; nan is not."""
    if not low <= value <= high:
        raise ValueError(f"expected {name} between {low:g} and {high:g}, got {name}={value:g}")


def check_at_least(name: str, value: float, low: float) -> None:
    """Check that a number is finite and at least low."""
    if not (value >= low and math.isfinite(value)):
        raise ValueError(f"expected {name} of at least {low:g}, got {name}={value:g}")


def check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Check that a word is among the known ones."""
    if value not in known:
        raise ValueError(f"expected {name} to be one of {', '.join(known)}, got {name}={value!r}")


def check_fits(count: int, what: str, *, available: int | None = None, advice: str = "take less") -> None:
    """Check that a number of bytes is available before they are allocated. None stands for all bytes of the machine."""
    available = machine_bytes() if available is None else available
    if count > available:
        needed, there = readable_bytes(count), readable_bytes(available)
        raise ValueError(f"{what} takes about {needed} of memory, and this machine has {there}; {advice}")


def machine_bytes(limits: Iterable[str] = _LIMITS) -> int:
    """Return the physical memory of this machine, or of this container; 16 GiB if it cannot be determined.

    `limits` are the files in which Linux tells a container how much it may have.
    """
    try:
        count = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return 16 * 2**30
    for path in limits:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            count = min(count, int(Path(path).read_text(encoding="ascii")))
    return count


# ------------------------------------------------------------ numbers


def as_numbers(values: object, *, source: str = "as fitness") -> Fitness:
    """Return a new array of float64 of what NumPy reads as real numbers; raise ValueError for everything else.

    A pandas Series whose index says that its numbers are in another order than the candidates is refused, too.

    Examples
    --------
    >>> as_numbers([1, True, 2.5])
    array([1. , 1. , 2.5])
    """
    import numpy as np  # here, because the command line's help does without NumPy

    why = ""
    try:
        if type(values) is not np.ndarray:
            why = _unclear(values)
        array = np.asarray(values)
        kind = array.dtype.kind
        if not why and (kind in "iubf" or (kind == "O" and all(hasattr(one, "__float__") for one in array.flat))):
            return array.astype(np.float64)
    except Exception as error:  # noqa: BLE001  conversions of other people's classes may raise anything
        why = describe_error(error)[:120]
    shown = " ".join(reprlib.repr(values).split())
    came = f"{type(values).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"
    raise ValueError(f"expected numbers {source}, got {came}{why and f': {why}'}")


def _unclear(values: Any) -> str:
    """Return why it is unclear which number belongs to which candidate. Empty if it is clear.

    A permutation of 0, 1, ... as the index of a pandas Series comes from sorting, so that the labels are right, or from
    looking something up, so that the order is. Other labels have nothing to do with candidates.
    """
    import numpy as np

    if np.ma.is_masked(values):  # NumPy would return the hidden values
        return "some are masked; use values.filled(np.nan)"
    if not hasattr(values, "to_numpy") or not isinstance(index := getattr(values, "index", None), Iterable):
        return ""
    labels = np.asarray(index)
    numbered = labels.ndim == 1 and labels.dtype.kind in "iuf"
    if not numbered or np.array_equal(labels, np.arange(len(labels))):
        return ""
    if not np.array_equal(np.sort(labels), np.arange(len(labels))):
        return ""
    return (
        f"its index is in another order than the candidates, {reprlib.repr(labels.tolist())}; return "
        "series.sort_index() to go by the index, or series.to_numpy() to go by the order"
    )


# ------------------------------------------------------------ texts

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What a terminal obeys or reorders by, what ends a line, and lone surrogates, which no encoding has."""

_LONGEST = 1000  # characters of an exception's text

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def readable_seconds(seconds: float) -> str:
    """Return a time as text, as in "3 hours".

    Examples
    --------
    >>> readable_seconds(0.8), readable_seconds(5000), readable_seconds(200_000)
    ('0.8 seconds', '83 minutes', '2.3 days')
    """
    units = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
    unit, name = next((one for one in units if seconds >= 2 * one[0]), units[-1])
    amount = seconds / unit
    return f"{amount:.2g} {name}" if amount < 10 else f"{amount:,.0f} {name}"


def readable_bytes(count: int) -> str:
    """Return a number of bytes as text, as in "3 GiB"."""
    power = max(count.bit_length() - 1, 0) // 10
    if power >= len(_UNITS):
        return f"2^{count.bit_length() - 1} bytes"
    amount = count / 1024**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 100 else f"{amount:.3g} {_UNITS[power]}"


def storable(text: str) -> str:
    r"""Return a text with lone surrogates as escapes, as in file names that are not UTF-8.

    Examples
    --------
    >>> storable("a\udcff")
    'a\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    r"""Return a text with invisible characters as escapes, so that a terminal does not obey them.

    Examples
    --------
    >>> print(visible("red\x1b[31m\n"))
    red\x1b[31m\n
    """
    return _UNSEEN.sub(_escaped, text)


def printable(text: str) -> str:
    r"""Return a text in one line, with single spaces and with invisible characters as escapes.

    Examples
    --------
    >>> print(printable("two\nlines\a"))
    two lines\x07
    """
    return visible(" ".join(text.split()))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def describe_error(error: BaseException) -> str:
    """Return an exception in one line: its class and its message, unless that raises."""
    kind = printable(type(error).__name__)
    try:
        text = printable(str(error))
    except Exception:  # noqa: BLE001  a user's class may do anything
        return kind
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return f"{kind}: {text}" if text else kind


def _escaped(found: re.Match[str]) -> str:
    sign = found.group()
    number = ord(sign)
    return _SHORT.get(sign) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
