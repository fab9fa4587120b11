"""What processes write to standard error while a live display is on the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from rich.console import Console
from rich.text import Text

_END = b"\0end\0\n"


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
            os.write(writer, _END)  # children may live on, and have it open
            os.close(writer)
            thread.join()


def _forward(reader: int, console: Console) -> None:
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            text = line.removesuffix(_END).decode(errors="replace").rstrip("\r\n")
            if text or not line.endswith(_END):
                console.print(Text.from_ansi(text), soft_wrap=True)
            if line.endswith(_END):
                return
