"""Words for messages."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Give a number with its noun, in the plural where it has to be.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
