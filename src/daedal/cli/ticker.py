"""Something that happens again and again while something else goes on, and what shows that it does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_WHEEL, _ASCII_WHEEL = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_TURNS_A_SECOND = 8

_TICKING = threading.Lock()
"""Held during a tick, and while this process forks: a child of an objective's never finds a console locked for ever."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TICKING.acquire, after_in_parent=_TICKING.release, after_in_child=_TICKING.release)


class Ticker:
    """Calls a function every so many seconds, in a thread of its own, and first after that time.

    A display drives itself so: a run need not say that it goes on, and a thousand generations a second cost nothing.
    What cannot be written any more, because a terminal is gone or a disk is full, ends the ticking and nothing else.

    Parameters
    ----------
    function
        What is called.
    seconds
        Time between two calls.
    """

    def __init__(self, function: Callable[[], object], seconds: float) -> None:
        self.function = function
        self.seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; when this is back, nothing is called any more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _tick(self) -> None:
        while not self._ended.wait(self.seconds):
            with _TICKING:
                try:
                    self.function()
                except (OSError, ValueError):  # a stream that is closed is a ValueError
                    return


def wheel(seconds: float, *, ascii_only: bool = False) -> str:
    """Give a sign that turns as time passes."""
    signs = _ASCII_WHEEL if ascii_only else _WHEEL
    return signs[int(seconds * _TURNS_A_SECOND) % len(signs)]
