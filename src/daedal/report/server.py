"""Serves a page that follows its file, to browsers on this machine only."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from threading import Lock
from urllib.parse import parse_qs, urlsplit

from daedal.report.page import Page, policy, render
from daedal.settings.checks import check_whole, describe_error, printable
from daedal.storage.files import restated

LOOPBACK = "127.0.0.1"
_HTML, _JSON, _PLAIN = (f"{kind}; charset=utf-8" for kind in ("text/html", "application/json", "text/plain"))
_SLOWEST = 20.0  # seconds that a request may take to arrive
_LEAST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds between two questions of the page
_SHARE = 4.0  # the pause, in times that making the page takes


class Watched:
    """The page of a file as it is now, for several threads. While the file cannot be read, the last page stays.

    Parameters
    ----------
    source
        The file.
    make
        Makes the page from it; it may raise.
    """

    def __init__(self, source: Path, make: Callable[[], Page]) -> None:
        self._source, self._make, self._lock = source, make, Lock()
        self._error = ""
        self._read()  # an error at the beginning is raised

    def html(self) -> str:
        """Return the whole page."""
        with self._lock:
            self._update()
            return render(self._page, version=self._version)

    def news(self, version: str) -> str:
        """Return a line about the state as JSON, and the page if it is newer than a version."""
        with self._lock:
            self._update()
            said = f"{self._source.name} as of {self._when}. This page updates itself."
            if self._error:
                said = f"{self._source.name} cannot be read: {self._error}. The page is as of {self._when}."
            found: dict[str, object] = {"note": printable(said), "bad": bool(self._error), "again": self._pause}
            if version != self._version:
                found |= {"version": self._version, "title": self._page.title, "body": self._page.body()}
            return json.dumps(found)

    def _update(self) -> None:
        """Read the source again if it has changed, or could not be read the last time."""
        try:
            if self._error or self._signature() != self._seen:
                self._read()
        except Exception as error:  # noqa: BLE001  the page shows it, and the file may be readable later
            self._error = describe_error(error)

    def _read(self) -> None:
        seen, began = self._signature(), time.monotonic()
        self._page = self._make()
        self._seen, self._error, self._when = seen, "", time.strftime("%H:%M:%S")
        self._version = hashlib.sha256(f"{self._page.title}\0{self._page.body()}".encode()).hexdigest()[:16]
        self._pause = min(_LONGEST_PAUSE, max(_LEAST_PAUSE, _SHARE * (time.monotonic() - began)))

    def _signature(self) -> object:
        found = [place.stat() for place in (self._source, Path(f"{self._source}-wal")) if place.exists()]
        return [(one.st_ino, one.st_size, one.st_mtime_ns) for one in found]


def serve(watched: Watched, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve a page until Ctrl-C, and call `ready` with its address. With port 0, the system chooses a free port."""
    if check_whole("port", port, least=0) > 65_535:
        raise ValueError(f"ports end at 65535, got port={port}")
    try:
        server = PageServer(watched, port)
    except OSError as error:
        sentence = f"cannot listen on port {port} of {LOOPBACK}: {error.strerror}; choose another with --port"
        raise restated(error, sentence) from error
    with server:
        ready(f"http://{LOOPBACK}:{server.port}/")
        server.serve_forever()


class PageServer(ThreadingTCPServer):
    """Server of one page, on the loopback interface only."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, watched: Watched, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.watched = watched
        self.port = int(self.socket.getsockname()[1])
        self.hosts = {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")}
        if self.port == 80:
            self.hosts |= {LOOPBACK, "localhost"}

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore browsers that have closed the connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """Handler that answers GET and HEAD for the page and its news, and refuses everything else."""

    server: PageServer
    timeout = _SLOWEST

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        # Otherwise another site could read this page through a name that leads here (DNS rebinding).
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif asked.path == "/" and not asked.query:
            self._answer(HTTPStatus.OK, _HTML, self.server.watched.html())
        elif asked.path == "/data":
            version = parse_qs(asked.query).get("version", [""])[0]
            self._answer(HTTPStatus.OK, _JSON, self.server.watched.news(version))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815

    def _refuse(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse in one line, which repeats no part of the request."""
        self._answer(HTTPStatus(code), _PLAIN, f"{HTTPStatus(code).phrase}\n")

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy(watch=True) + "; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        """Return the name of the server, without that of Python."""
        return "daedal"

    def log_message(self, format: str, *args: object) -> None:
        """Print no line per request."""
