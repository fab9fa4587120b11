"""`daedal report --watch` as a process, for tests that request its page."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def watched(environment: dict[str, str], *words: object) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Serve a page and yield its port; at the end, press Ctrl-C."""
    command = [sys.executable, "-m", "daedal", "report", *map(str, words), "--watch"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child would inherit that it is ignored
    try:
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert found is not None, said + process.stderr.read()
        yield int(found[1]), process
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "")
    finally:
        process.kill()
        process.communicate()
