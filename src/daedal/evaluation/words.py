"""Words for errors and messages."""

from __future__ import annotations

import signal


def counted(count: int, noun: str) -> str:
    """Give a number with its noun, in the plural where it has to be.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signal_name(number: int) -> str:
    """Give the name of a signal; most real-time signals have none.

    Examples
    --------
    >>> signal_name(9), signal_name(40)
    ('SIGKILL', 'signal 40')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def named(error: BaseException) -> str:
    """Give an error in one line: its kind, and what it says.

    Examples
    --------
    >>> named(ValueError("no such thing"))
    'ValueError: no such thing'
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
