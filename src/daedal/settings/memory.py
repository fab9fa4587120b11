"""What fits into this machine."""

from __future__ import annotations

import os

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_WITHOUT_SYSCONF = 16 * 2**30


def machine_bytes() -> int:
    """Give the physical memory of this machine, or 16 GiB where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return _WITHOUT_SYSCONF


def readable_bytes(count: int) -> str:
    """Write a number of bytes for a human reader.

    Examples
    --------
    >>> readable_bytes(3 * 2**30)
    '3 GiB'
    """
    power = max(count.bit_length() - 1, 0) // 10
    if power >= len(_UNITS):
        return f"2^{count.bit_length() - 1} bytes"
    amount = count / 1024**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 100 else f"{amount:.3g} {_UNITS[power]}"


def check_fits(count: int, what: str) -> None:
    """Refuse what takes more memory than the machine has, before it is taken."""
    if count > machine_bytes():
        raise ValueError(
            f"{what} takes about {readable_bytes(count)} of memory, and this machine has "
            f"{readable_bytes(machine_bytes())}; take less"
        )
