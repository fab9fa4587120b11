"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that ask a process to end; the last is not there on every system."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C, and other requests to end, wait until the block is done: what belongs together is done together.

    Only Python's own handlers wait. A mask would not do: the signal would then come to another thread, and its handler
    to this one all the same.

    Examples
    --------
    >>> with interrupts_held():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread only
        yield
        return
    before: dict[int, Any] = {}
    arrived: list[int] = []
    over = False

    def hold(number: int, frame: FrameType | None) -> None:
        if over:  # an exception came while the handlers were put back
            before[number](number, frame)
        elif number not in arrived:
            arrived.append(number)

    try:
        for number in (getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)):
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, hold)
        yield
    finally:
        over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C; processes that are started meanwhile go on ignoring it."""
    before = signal.getsignal(signal.SIGINT)
    # It arrives in the main thread only, and a handler in C cannot be put back.
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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


class Interrupts:
    def __enter__(self) -> Interrupts:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def hold(self) -> Any:
        return interrupts_held()
