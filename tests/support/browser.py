"""A real browser for tests: Debian's Chromium without a window, spoken to through a pipe (the DevTools protocol)."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from process_helpers import wait_until

_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]  # out of the way of each other
for end, number in zip(ends, (3, 4)):  # which it reads from, and writes to
    os.dup2(end, number)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_PATIENCE = 90.0  # seconds, on a busy machine


class Browser:
    """A process of Chromium, and the pipes to it: messages are JSON, each ended by a zero byte."""

    def __init__(self, process: subprocess.Popen[bytes], read: int, write: int) -> None:
        self._process, self._read, self._write = process, read, write
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a message, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | (
            {} if session is None else {"sessionId": session}
        )
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _PATIENCE
        while True:
            came = self._next(deadline)
            if came.get("id") != self._number:
                self.events.append(came)
                continue
            assert "error" not in came, (method, came)
            result: dict[str, Any] = came["result"]
            return result

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self._read, 1 << 20) if ready else b""
            assert piece, "the browser does not answer"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, url: str, *, width: int = 1400, height: int = 900, offline: bool = False) -> Tab:
        """Open a page in a tab of this size, and wait until it is loaded."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.ask(f"{domain}.enable")
        if offline:
            off = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            tab.ask("Network.emulateNetworkConditions", **off)
        tab.ask("Emulation.setScrollbarsHidden", hidden=True)
        tab.resize(width, height)
        tab.ask("Page.navigate", url=url)
        tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return tab


class Tab:
    """A page in the browser."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a message to the page."""
        return self._browser.ask(method, self._session, **parameters)

    def close(self) -> None:
        """Close it."""
        self._browser.ask("Target.closeTarget", targetId=self._target)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self) -> None:
        """Have the page shown as a user who likes dark pages sees it."""
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def value(self, expression: str) -> Any:
        """Give the value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        wait_until(lambda: self.value(expression), expression)

    def complaints(self) -> list[str]:
        """Give what the page has complained about: exceptions, errors in the console, what its policy forbids."""
        self.value("0")  # whatever it has said by now
        found = []
        for event in self._own_events():
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(str(parameters["entry"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
        return found

    def requests(self) -> list[str]:
        """Give the addresses that the page has asked for, but for those that carry their own content."""
        found = [
            str(event["params"]["request"]["url"])
            for event in self._own_events()
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in found if not url.startswith(("data:", "blob:", "about:"))]

    def _own_events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def panels(self) -> list[dict[str, float]]:
        """Return the plotted part of every panel: where it is on the page, and its size."""
        found: list[dict[str, float]] = self.value("""
            [...document.querySelectorAll(".panel")].map((panel) => {
                const svg = [...panel.children].find((one) => one.clientWidth > 0);
                const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
                const bounds = svg.getBoundingClientRect();
                const scale = bounds.width / svg.viewBox.baseVal.width;
                return {x: bounds.x + scrollX + scale * left, y: bounds.y + scrollY + scale * top,
                        width: scale * (right - left), height: scale * (bottom - top)};
            })""")
        return found

    def hover(self, x: float, y: float) -> str:
        """Move the mouse to a place of the page, and return what the page says about it."""
        self.value(f"scrollTo({{top: {y} - innerHeight / 2, behavior: 'instant'}})")
        # Scrolling hides the readout, and its event comes with the next frame.
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        top = y - self.value("scrollY")
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x - 1, y=top)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=top)
        said: str = self.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
        return said

    def screenshot(self, path: Path) -> Path:
        """Take a picture of the whole page."""
        height = self.value("Math.ceil(document.documentElement.scrollHeight)")
        width = self.value("innerWidth")
        self.resize(width, min(height, 16_000))
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        self.value("new Promise(done => { scrollTo(0, 0); requestAnimationFrame(() => requestAnimationFrame(done)) })")
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
        return path


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it; skip the test where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        ends = [str(theirs_in), str(theirs_out)]
        words = [sys.executable, "-c", _START, *ends, program, *_QUIET, f"--user-data-dir={profile}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(words, pass_fds=(theirs_in, theirs_out), **quiet)
        for descriptor in (theirs_in, theirs_out):
            os.close(descriptor)
        browser = Browser(process, ours_in, ours_out)
        try:
            yield browser
            browser.ask("Browser.close")
        finally:
            for descriptor in (ours_in, ours_out):
                os.close(descriptor)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
