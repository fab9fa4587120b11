"""Changes of the whole process that several threads may want at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class Shared:
    """A change that the first of several users makes, and the last one takes back, in whatever order they come and go.

    If each made and took it back for itself, the one who came second would find what the first had set, and would leave
    the process with it.

    Parameters
    ----------
    change
        Gives the context in which the change holds.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._users = 0
        self._made: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                made = self._change()
                made.__enter__()
                self._made = made
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._made is not None:
                made, self._made = self._made, None
                made.__exit__(None, None, None)
