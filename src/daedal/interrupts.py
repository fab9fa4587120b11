"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done, so that what belongs together is done together.

    Examples
    --------
    >>> with interrupts_held():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():  # it only ever arrives in the main thread
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
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
