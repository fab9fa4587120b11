"""Ctrl-C and other requests to end, held back until what belongs together is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDINGS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end; Windows has no SIGHUP."""


class Interrupts:
    """Ctrl-C and other requests to end, under control for a while.

    Only Python handlers of the main thread are replaced, because handlers run there. A signal mask would not do:
    another thread would get the signal, and the handler would run in the main thread all the same.
    """

    def __init__(self, *, held: bool = False) -> None:
        self._held = held  # whether requests wait
        self._kept = False  # and for good
        self._arrived: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        try:
            if threading.current_thread() is threading.main_thread():
                for number in ENDINGS:
                    if callable(handler := signal.getsignal(number)):
                        self._before[number] = handler
                        signal.signal(number, self._handle)
        except BaseException:  # a request that came meanwhile
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held = True  # a request that comes meanwhile arrives when all handlers are back
        for number in reversed(self._before):
            if signal.getsignal(number) == self._handle:  # no other handler was set since
                signal.signal(number, self._before[number])
        while self._arrived and not self._kept:
            signal.raise_signal(self._arrived.pop(0))

    def keep(self) -> list[int]:
        """Hold requests back from now on, without an end, because a finished result has to be handed over.

        Returns
        -------
        list
            The signals that have come. Those that come later are added.
        """
        self._held = self._kept = True
        return self._arrived

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._held:
            self._before[number](number, frame)
        elif number not in self._arrived:
            self._arrived.append(number)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold requests to end back until the block is done."""
    with Interrupts(held=True):
        yield


class EndRequest(KeyboardInterrupt):
    """A request to end other than Ctrl-C, with the same meaning."""


@contextmanager
def ended_properly() -> Iterator[list[int]]:
    """Let SIGTERM and a closed terminal end the block as Ctrl-C does, and yield the list of signals that came."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def leave(number: int, _: object) -> None:
        came.append(number)
        raise EndRequest(signal_name(number))

    ours = [one for one in ENDINGS[1:] if signal.getsignal(one) is signal.SIG_DFL]  # nohup ignores SIGHUP
    for one in ours:
        signal.signal(one, leave)
    try:
        yield came
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
