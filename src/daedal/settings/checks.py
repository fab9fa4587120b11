"""Checks of settings: a refusal says what was expected, what came and, where that helps, what to do."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from numbers import Integral
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def check_whole(name: str, value: object, *, least: int, of: str = "", hint: str = "") -> int:
    """Give a whole number as an int; refuse anything else, or less, with a hint at what to do."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        owner, advice = f" of {of}" if of else "", f"; {hint}" if hint else ""
        expected = f"a whole number of at least {least}"
        raise ValueError(f"expected {name}{owner} to be {expected}, got {name}={value!r}{advice}")
    return int(value)


def check_multiple(owner: str, n: int, step: int, what: str, *, least: int = 1) -> None:
    """Refuse a number of variables that is no multiple of what a block takes."""
    check_whole("n", n, least=least, of=owner)
    if n % step:
        below = n - n % step
        fits = f"{below} or {below + step}" if below >= least else f"{below + step}"
        raise ValueError(f"{owner} needs n to be a multiple of {what}, got n={n}; try {fits}")


def check_between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside low..high, nan included."""
    if not low <= value <= high:
        raise ValueError(f"expected {name} between {low:g} and {high:g}, got {name}={value:g}")


def check_at_least(name: str, value: float, low: float) -> None:
    """Refuse a number below low, nan and inf included."""
    if not (value >= low and math.isfinite(value)):
        raise ValueError(f"expected {name} of at least {low:g}, got {name}={value:g}")


def check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among the known ones."""
    if value not in known:
        raise ValueError(f"expected {name} to be one of {', '.join(known)}, got {name}={value!r}")


def check_fits(count: int, what: str, *, available: int | None = None, advice: str = "take less") -> None:
    """Refuse what takes more bytes than are available, before they are taken; None: than the machine has."""
    available = machine_bytes() if available is None else available
    if count > available:
        needed, there = readable_bytes(count), readable_bytes(available)
        raise ValueError(f"{what} takes about {needed} of memory, and this machine has {there}; {advice}")


def readable_seconds(seconds: float) -> str:
    """Write a time for a human reader, as in "3 hours".

    Examples
    --------
    >>> readable_seconds(0.8), readable_seconds(5000), readable_seconds(200_000)
    ('0.8 seconds', '83 minutes', '2.3 days')
    """
    units = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
    unit, name = next((one for one in units if seconds >= 2 * one[0]), units[-1])
    amount = seconds / unit
    return f"{amount:.2g} {name}" if amount < 10 else f"{amount:,.0f} {name}"


def machine_bytes(limits: Iterable[str] = _LIMITS) -> int:
    """Give the physical memory of this machine, or of this container; 16 GiB where it does not say.

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


def readable_bytes(count: int) -> str:
    """Write a number of bytes for a human reader, as in "3 GiB"."""
    power = max(count.bit_length() - 1, 0) // 10
    if power >= len(_UNITS):
        return f"2^{count.bit_length() - 1} bytes"
    amount = count / 1024**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 100 else f"{amount:.3g} {_UNITS[power]}"
