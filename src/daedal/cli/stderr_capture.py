"""Standard error shared by a live display and whatever else writes there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

from rich.console import Console
from rich.text import Text

_END = b"\0end\0\n"
_PIECE = 65536
_LONGEST_LINE = 10_000


@contextmanager
def captured_stderr(descriptor: int = 2) -> Iterator[Console]:
    """Give a console on the terminal, through which everything else that is written to standard error goes, too.

    So lines that an objective prints, in this process or its children, stand whole above a live display. Standard
    output is captured, too, where it is the same terminal, as it is while it is kept for ourselves.
    """
    reader, writer = os.pipe()
    captured = [descriptor, *([1] if os.path.sameopenfile(1, descriptor) else [])]
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="backslashreplace") as terminal:
        console = Console(file=terminal, highlight=False)
        for one in captured:
            os.dup2(writer, one)
        thread = Thread(target=_forward, args=(reader, console), daemon=True)
        thread.start()
        try:
            yield console
        finally:
            for one in captured:
                os.dup2(terminal.fileno(), one)
            with suppress(BrokenPipeError):
                os.write(writer, _END)  # children may live on, and have it open
            os.close(writer)
            thread.join()


def _forward(reader: int, console: Console) -> None:
    """Show what comes, many lines at a time, because a live display is drawn again after each print."""
    with open(reader, "rb", buffering=0) as source:
        pending, ended = b"", False
        while not ended and (piece := source.read(_PIECE)):
            pending += piece
            pending, end, _ = pending.partition(_END)
            ended = bool(end)
            shown, pending = _cut(pending, ended=ended)
            if shown:
                with suppress(Exception):  # the terminal may be gone, but writers must not wait for ever
                    console.print(_readable(shown), soft_wrap=True)


def _readable(text: bytes) -> Text:
    decoded = text.decode(errors="replace")
    try:
        return Text.from_ansi(decoded)
    except ValueError:  # it looks like colours, and is none
        return Text(decoded.replace("\x1b", "\N{SYMBOL FOR ESCAPE}"))


def _cut(text: bytes, *, ended: bool) -> tuple[bytes, bytes]:
    """Give what can be shown, without its last newline, and what has to wait for the end of its line."""
    if ended:
        return text.removesuffix(b"\n"), b""
    lines, newline, rest = text.rpartition(b"\n")
    if newline:
        return lines or b" ", rest
    return (text, b"") if len(text) > _LONGEST_LINE else (b"", text)
