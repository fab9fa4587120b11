"""Standard error shared with a live display, with a terminal of our own for it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from threading import Thread, Timer

import pytest
from rich.live import Live

from daedal.cli.stderr_capture import captured_stderr

END = b"<the end of the test>"


class Terminal:
    """A terminal to write to, and what was shown on it."""

    def __init__(self) -> None:
        self._screen, self.descriptor = pty.openpty()
        self._pieces: list[bytes] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read up to the end mark: a terminal may lose what is under way when its other side is closed."""
        shown = b""
        while END not in shown:
            self._pieces.append(os.read(self._screen, 65536))
            shown = (shown + self._pieces[-1])[-100_000:]

    def write(self, text: bytes) -> None:
        os.write(self.descriptor, text)

    def lines(self) -> list[str]:
        """Close it, and give the lines that were shown, those of displays that are gone included."""
        self.write(END)
        self._reader.join(600)
        os.close(self.descriptor)
        os.close(self._screen)
        shown = b"".join(self._pieces).partition(END)[0].decode()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\r", "\n").splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in (("TERM", "xterm"), ("COLUMNS", "100"), ("LINES", "30")):
        monkeypatch.setenv(name, value)
    return Terminal()


def test_what_is_written_stands_above_the_display_in_whole_lines(terminal: Terminal) -> None:
    child = "import os, sys; print('of a child', file=sys.stderr); os.write(2, b'of C\\n')"
    with (
        captured_stderr(terminal.descriptor) as console,
        Live("the display", console=console, auto_refresh=False) as live,
    ):
        for number in range(20):
            terminal.write(b"no end of line, ")
            live.refresh()  # comes in between
            terminal.write(f"but @{number}@\n".encode())
        subprocess.run([sys.executable, "-c", child], check=True, stderr=terminal.descriptor)
    found = terminal.lines()
    assert [line for line in found if "@" in line] == [f"no end of line, but @{number}@" for number in range(20)]
    assert [line for line in found if line.startswith("of ")] == ["of a child", "of C"]
    assert found.count("the display") > 20


def test_nothing_of_much_is_lost(terminal: Terminal) -> None:
    with captured_stderr(terminal.descriptor) as console, Live("the display", console=console, auto_refresh=False):
        for number in range(3000):
            terminal.write(f"<{number}>\n".encode())
        terminal.write(b"\033[31mred\033[0m \xff \033[" + b"9" * 6000 + b"m is no colour\n")
        terminal.write(b"x" * 20_000)  # a line that does not end
        terminal.write(b"\n\nno end of line")
    text = "\n".join(terminal.lines())
    assert re.findall(r"<(\d+)>", text) == [str(number) for number in range(3000)]
    assert text.count("x") == 20_000
    assert "9m is no colour\n" in text
    assert text.splitlines()[-1] == "no end of line"


def test_writers_that_live_on_keep_nobody_waiting(terminal: Terminal) -> None:
    endless = "import os\nos.write(1, b'ready\\n')\nwhile True:\n    os.write(2, b'more\\n')"
    command = [sys.executable, "-c", endless]
    with captured_stderr(terminal.descriptor):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal.descriptor)
        far_away = Timer(60, child.kill)
        far_away.start()
        assert child.stdout is not None
        child.stdout.readline()
    assert child.poll() != -signal.SIGKILL
    far_away.cancel()
    child.kill()
    child.communicate()
    terminal.write(b"the last\n")  # it is what it was
    assert "the last" in terminal.lines()
