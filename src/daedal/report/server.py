"""Serves a page to browsers on this machine, and to nobody else."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from daedal.report.page import policy
from daedal.report.watched import Watched
from daedal.settings.checks import check_whole
from daedal.storage.atomic import restated

LOOPBACK = "127.0.0.1"
_HTML, _JSON, _PLAIN = (f"{kind}; charset=utf-8" for kind in ("text/html", "application/json", "text/plain"))
_SLOWEST = 20.0  # seconds that a request may take to come


def serve(watched: Watched, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve a page until Ctrl-C; `ready` is told its address. Port 0: the system chooses one that is free."""
    if check_whole("port", port, least=0) > 65_535:
        raise ValueError(f"expected port to be at most 65535, got port={port}")
    try:
        server = PageServer(watched, port)
    except OSError as error:
        sentence = f"cannot listen on port {port} of {LOOPBACK}: {error.strerror}; choose another with --port"
        raise restated(error, sentence) from error
    with server:
        ready(f"http://{LOOPBACK}:{server.port}/")
        server.serve_forever()


class PageServer(ThreadingHTTPServer):
    """The server of one page, on the loopback interface alone."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, watched: Watched, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.watched = watched
        self.port = int(self.socket.getsockname()[1])
        self.hosts = {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")}
        if self.port == 80:
            self.hosts |= {LOOPBACK, "localhost"}

    def server_bind(self) -> None:
        """Take the port, without a question to whoever knows names."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of browsers that are gone."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the page and its news; anything else is refused."""

    server: PageServer
    timeout = _SLOWEST

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        # A name that leads here from elsewhere is how foreign pages would read this one (DNS rebinding).
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
        """Refuse in one line, which repeats nothing of what was asked."""
        self._answer(HTTPStatus(code), _PLAIN, f"{HTTPStatus(code).phrase}\n")

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy(watch=True) + "; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
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
        """Say who answers, and not with which Python."""
        return "daedal"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the terminal is for people."""
