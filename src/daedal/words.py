"""Words for errors."""

from __future__ import annotations


def named(error: BaseException) -> str:
    """Give an error in one line: its kind, and what it says.

    Examples
    --------
    >>> named(ValueError("no such thing"))
    'ValueError: no such thing'
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
