"""Times on the clock, for eyes."""

from __future__ import annotations


def elapsed(seconds: float) -> str:
    """Write a time that has passed, so that it is seen to pass.

    Examples
    --------
    >>> elapsed(12.3), elapsed(134), elapsed(9000)
    ('12 s', '2 min 14 s', '2 h 30 min')
    """
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def duration(seconds: float) -> str:
    """Write a time about, as short as it can be read at a glance.

    Examples
    --------
    >>> duration(12.3), duration(600), duration(9000)
    ('12 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
