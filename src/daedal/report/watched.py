"""A page that follows its source: made again when the file changes, and kept as it was while that cannot be read."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from daedal.report.page import Page, embedded, render
from daedal.settings.checks import describe_error, printable

_LEAST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds between two questions of the page
_SHARE = 4.0  # the pause, in times that making the page takes
_COMPANIONS = ("", "-wal")  # what a database has not yet in its file


class Watched:
    """The page of a source as it is now, for several threads.

    Parameters
    ----------
    source
        The file.
    make
        What makes the page out of it; it may raise.
    """

    def __init__(self, source: Path, make: Callable[[], Page]) -> None:
        self._source, self._make = source, make
        self._lock = Lock()
        self._seen: object = None
        self._error = ""
        self._pause = _LEAST_PAUSE
        self._page = Page(title="", head="")
        self._version = ""
        self._when = ""
        self._read()  # what is wrong at the beginning is an error

    def html(self) -> str:
        """Give the whole page."""
        with self._lock:
            self._update()
            return render(self._page, version=self._version)

    def news(self, version: str) -> str:
        """Give what is new since a version of the page, as JSON, and a line that says how things stand."""
        with self._lock:
            self._update()
            said = f"{self._source.name} as of {self._when}; this page updates itself."
            if self._error:
                said = f"{self._source.name} cannot be read just now: {self._error}. The page is as of {self._when}."
            found: dict[str, object] = {"note": printable(said), "bad": bool(self._error), "again": self._pause}
            if version != self._version:
                found |= {"version": self._version, "title": self._page.title, "body": self._page.body()}
                found["figures"] = self._page.figures()
            return embedded(found)  # type: ignore[arg-type]

    def _update(self) -> None:
        """Read the source again if it has changed, or could not be read the last time."""
        if self._error or self._signature() != self._seen:
            try:
                self._read()
            except Exception as error:  # noqa: BLE001  the next time may be better, and whoever watches is told
                self._error = describe_error(error)

    def _read(self) -> None:
        seen, began = self._signature(), time.monotonic()
        self._page = self._make()
        self._seen, self._error, self._when = seen, "", time.strftime("%H:%M:%S")
        content = embedded([self._page.title, self._page.body(), self._page.figures()])
        self._version = hashlib.sha256(content.encode()).hexdigest()[:16]
        self._pause = min(_LONGEST_PAUSE, max(_LEAST_PAUSE, _SHARE * (time.monotonic() - began)))

    def _signature(self) -> object:
        return [_state_of(f"{self._source}{ending}") for ending in _COMPANIONS]


def _state_of(path: str) -> tuple[int, int, int] | None:
    """Give what changes with a file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
