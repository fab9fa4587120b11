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


@contextmanager
def ended_properly() -> Iterator[None]:
    """Let a request to end, or a terminal that goes away, end things as Ctrl-C does: one after the other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    ours = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]  # nohup ignores
    for one in ours:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
