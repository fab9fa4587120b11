"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def _can_hold() -> bool:
    """Whether Ctrl-C can be held here: it arrives in the main thread only, and a handler in C cannot be put back."""
    return threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not None


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done, so that what belongs together is done together.

    Examples
    --------
    >>> with interrupts_held():
    ...     pass
    """
    if not _can_hold():
        yield
        return
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C; processes that are started meanwhile go on ignoring it."""
    if not _can_hold():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
