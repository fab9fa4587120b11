"""Standard output and standard error, shared with objectives, their children, and a live display."""

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

from daedal.cli.output import captured_stderr

WRITES = """\
import ctypes, os, sys
from daedal.cli.output import stdout_kept

def write(word):
    print(word, "printed", file=sys.stdout)
    print(word, "kept", file=known)
    os.write(1, f"{word} written\\n".encode())
    os.system(f"echo {word} by a child")
    ctypes.CDLL(None).printf(f"{word} in C\\n".encode())  # C buffers it if it is not for a terminal

known = sys.stdout
print("result 1")
with stdout_kept():
    write("noise")
print("result 2")
"""
END = b"<the end of the test>"


def test_what_others_write_to_standard_output_goes_to_standard_error() -> None:
    done = subprocess.run([sys.executable, "-c", WRITES], capture_output=True, text=True, check=True)
    assert done.stdout == "result 1\nresult 2\n"
    assert sorted(done.stderr.splitlines()) == sorted(
        f"noise {way}" for way in ("printed", "kept", "written", "by a child", "in C")
    )


class Terminal:
    """A terminal to write to, and what was shown on it."""

    def __init__(self) -> None:
        self._screen, self.descriptor = pty.openpty()
        self._shown = b""
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read up to the end mark, because a terminal may lose text when its other side is closed."""
        while END not in self._shown[-100_000:]:
            self._shown += os.read(self._screen, 65536)

    def write(self, text: bytes) -> None:
        os.write(self.descriptor, text)

    def lines(self) -> list[str]:
        """Close it, and return all lines that it showed, those of erased pictures included."""
        self.write(END)
        self._reader.join(600)
        os.close(self.descriptor)
        os.close(self._screen)
        shown = self._shown.partition(END)[0].decode()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown).replace("\r", "\n").splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in (("TERM", "xterm"), ("COLUMNS", "100"), ("LINES", "30")):
        monkeypatch.setenv(name, value)
    return Terminal()


def test_captured_text_appears_above_the_display_in_whole_lines(terminal: Terminal) -> None:
    child = "import os, sys; print('of a child', file=sys.stderr); os.write(2, b'of C\\n')"
    with (
        captured_stderr(terminal.descriptor) as console,
        Live("the display", console=console, auto_refresh=False) as live,
    ):
        for number in range(20):
            terminal.write(b"no end of line, ")
            live.refresh()  # in between
            terminal.write(f"but @{number}@\n".encode())
        subprocess.run([sys.executable, "-c", child], check=True, stderr=terminal.descriptor)
    found = terminal.lines()
    assert [line for line in found if "@" in line] == [f"no end of line, but @{number}@" for number in range(20)]
    assert [line for line in found if line.startswith("of ")] == ["of a child", "of C"]
    assert found.count("the display") > 20


def test_no_captured_text_is_lost(terminal: Terminal) -> None:
    with captured_stderr(terminal.descriptor) as console, Live("the display", console=console, auto_refresh=False):
        for number in range(3000):
            terminal.write(f"<{number}>\n".encode())
        terminal.write(b"\033[31mred\033[0m \xff \033[" + b"9" * 6000 + b"m is no color\n")
        terminal.write(b"x" * 20_000)  # a line that does not end
        terminal.write(b"\n\nno end of line")
    text = "\n".join(terminal.lines())
    assert re.findall(r"<(\d+)>", text) == [str(number) for number in range(3000)]
    assert text.count("x") == 20_000
    assert "9m is no color\n" in text
    assert text.splitlines()[-1] == "no end of line"


def test_capturing_ends_although_a_child_still_writes(terminal: Terminal) -> None:
    endless = "import os\nos.write(1, b'ready\\n')\nwhile True:\n    os.write(2, b'more\\n')"
    command = [sys.executable, "-c", endless]
    with captured_stderr(terminal.descriptor):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal.descriptor)
        timer = Timer(60, child.kill)
        timer.start()
        assert child.stdout is not None
        child.stdout.readline()
    assert child.poll() != -signal.SIGKILL
    timer.cancel()
    child.kill()
    child.communicate()
    terminal.write(b"the last\n")
    assert "the last" in terminal.lines()
