"""What processes write to standard error while a live display is on the terminal."""

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
def overheard() -> Iterator[Console]:
    """Give a console on the terminal; whatever this process and its children write there themselves comes through it.

    So lines that an objective prints stand above the display, whole, and not in the middle of it.
    """
    reader, writer = os.pipe()
    with os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace") as terminal:
        console = Console(file=terminal, highlight=False)
        os.dup2(writer, 2)
        thread = Thread(target=_forward, args=(reader, console), daemon=True)
        thread.start()
        try:
            yield console
        finally:
            os.dup2(terminal.fileno(), 2)
            with suppress(BrokenPipeError):
                os.write(writer, _END)  # children may live on, and have it open
            os.close(writer)
            thread.join()


def _forward(reader: int, console: Console) -> None:
    """Show what comes, many lines at once, because a live display is drawn again after each print."""
    with open(reader, "rb", buffering=0) as source:
        pending, ended = b"", False
        while not ended and (piece := source.read(_PIECE)):
            pending += piece
            ended = pending.endswith(_END)
            shown, pending = _cut(pending, ended=ended)
            if shown:
                with suppress(Exception):  # the terminal may be gone, but whoever writes must not wait for ever
                    console.print(_readable(shown), soft_wrap=True)


def _readable(text: bytes) -> Text:
    decoded = text.decode(errors="replace")
    try:
        return Text.from_ansi(decoded)
    except ValueError:  # signs that look like colours, and are none
        return Text(decoded.replace("\x1b", "\N{SYMBOL FOR ESCAPE}"))


def _cut(text: bytes, *, ended: bool) -> tuple[bytes, bytes]:
    """Give what can be shown, without its last newline, and what has to wait for the end of its line."""
    if ended:
        return text.removesuffix(_END).removesuffix(b"\n"), b""
    lines, newline, rest = text.rpartition(b"\n")
    if newline:
        return lines or b" ", rest
    return (text, b"") if len(text) > _LONGEST_LINE else (b"", text)
