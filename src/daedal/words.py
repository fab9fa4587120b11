"""Words for errors."""

from __future__ import annotations

import signal


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
