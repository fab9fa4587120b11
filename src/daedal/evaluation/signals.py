"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that ask a process to end; the last is not there on every system."""


class Interrupts:
    """Ctrl-C, and other requests to end, under control for a while: they wait until what belongs together is done.

    Handlers are set once, where this is entered, and put back where it is left. In between, a block of `hold` costs a
    fraction of a microsecond. Only Python's own handlers wait, and only those of the main thread, where handlers run.
    A mask would not do: the signal would then come to another thread, and its handler to this one all the same.
    """

    def __init__(self) -> None:
        self._block = _Block()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        try:
            with self._block:
                self._set_handlers()
        except BaseException:  # what came meanwhile
            self._put_back()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back()

    def _set_handlers(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)):
                if callable(handler := signal.getsignal(number)):
                    self._before[number] = handler
                    signal.signal(number, self._handle)

    def _put_back(self) -> None:
        with self._block:  # what comes meanwhile arrives when all handlers are back
            for number in reversed(self._before):
                if signal.getsignal(number) == self._handle:  # nobody has set another one since
                    signal.signal(number, self._before[number])

    def keep(self) -> list[int]:
        """Let requests to end wait from now on, for ever: what belongs together is done, and has to be handed over.

        Gives the signals that have come, and those that will come meanwhile; nobody else hears of them.
        """
        self._block.depth += 1
        return self._block.arrived

    def hold(self) -> _Block:
        """Give a block, to be used with `with`, in which requests to end wait; those that came arrive behind it."""
        return self._block

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._block.depth:
            self._before[number](number, frame)
        elif number not in self._block.arrived:
            self._block.arrived.append(number)


class _Block:
    """A block of code, or blocks within blocks, and the signals that arrived meanwhile."""

    __slots__ = ("arrived", "depth")

    def __init__(self) -> None:
        self.depth = 0
        self.arrived: list[int] = []

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        while self.arrived and not self.depth:
            signal.raise_signal(self.arrived.pop(0))


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C, and other requests to end, wait until the block is done: see `Interrupts`, which is for loops."""
    with Interrupts() as interrupts, interrupts.hold():
        yield


class EndRequest(KeyboardInterrupt):
    """A request to end that is not Ctrl-C, and means the same."""


@contextmanager
def ended_properly(before: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """Let a request to end, or a terminal that goes away, end things as Ctrl-C does; give the signals that came.

    What is to be done before is done in the handler.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def leave(number: int, _: object) -> None:
        came.append(number)
        before()
        raise EndRequest(signal_name(number))

    ours = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]  # nohup ignores
    for one in ours:
        signal.signal(one, leave)
    try:
        yield came
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def signal_name(number: int) -> str:
    """Give the name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
