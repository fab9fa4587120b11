"""A run as it goes, on standard error."""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from daedal.optimizer import Generation

_SHOWN = 12  # generations in the live table
_SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal


class LiveTable:
    """The last generations as a table that moves; plain lines now and then where there is no terminal.

    Parameters
    ----------
    title
        What is run.
    goal
        The fitness to reach, where there is one.
    console
        Where to write; None: standard error.
    """

    def __init__(self, title: str, *, goal: float | None = None, console: Console | None = None) -> None:
        self.title = title
        self.goal = goal
        self.console = Console(stderr=True) if console is None else console
        self._rows: deque[dict[str, str]] = deque(maxlen=_SHOWN)
        self._live = Live(console=self.console, auto_refresh=False, vertical_overflow="crop")
        self._started = time.monotonic()
        self._last_line = self._started

    def __enter__(self) -> LiveTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, record: Generation) -> None:
        """Show one more generation."""
        if not self._rows:
            self._begin()
        self._rows.append(self._cells(record))
        if self.console.is_terminal:
            self._live.update(self._table(), refresh=True)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            words = ", ".join(f"{name} {text}" for name, text in self._rows[-1].items())
            self.console.print(words, highlight=False, markup=False, soft_wrap=True)

    def _begin(self) -> None:
        """Write the title, once a generation has gone well: bad input has its one line alone."""
        goal = "" if self.goal is None else f", goal {self.goal:g}"
        self.console.print(f"{self.title}{goal}", highlight=False, markup=False, soft_wrap=True)
        if self.console.is_terminal:
            self._live.start()

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in self._rows[-1]:
            table.add_column(name, justify="right", no_wrap=True)
        for cells in self._rows:
            table.add_row(*(cells.get(str(column.header), "") for column in table.columns))
        return table

    def _cells(self, record: Generation) -> dict[str, str]:
        """Give what is shown of a generation, by column."""
        cells = {
            "generation": str(record.generation),
            "evaluations": f"{record.evaluations:,}",
            "best": f"{record.best:g}",
            "mean": f"{record.mean:.6g}",
        }
        cells |= {name.replace("_", " "): f"{value:.5g}" for name, value in record.info.items()}
        cells["seconds"] = f"{time.monotonic() - self._started:.1f}"
        return cells
