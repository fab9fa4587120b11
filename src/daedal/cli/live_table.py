"""A run as it goes, on standard error."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from daedal.optimizers.records import Generation
from daedal.settings.texts import visible

_SHOWN = 12  # generations in the live table
_SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal


class LiveTable:
    """The last generations as a table that moves; plain lines now and then where there is no terminal."""

    def __init__(
        self,
        title: str,
        *,
        goal: float | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self.goal = goal
        self.console = Console(stderr=True) if console is None else console
        self._rows: deque[dict[str, str]] = deque(maxlen=_SHOWN)
        self._live = Live(console=self.console, auto_refresh=False, vertical_overflow="crop")
        self.clock = clock
        self._started = clock()
        self._last_line = self._started

    def __enter__(self) -> LiveTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, record: Generation) -> None:
        """Show one more generation."""
        now = self.clock()
        if not self._rows:
            self._begin()
        self._rows.append(self.cells(record, now - self._started))
        if self.console.is_terminal:
            self._live.update(self.table(self._rows), refresh=True)
        elif now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            words = ", ".join(f"{name} {text}" for name, text in self._rows[-1].items())
            self.console.print(words, highlight=False, markup=False, soft_wrap=True)

    def _begin(self) -> None:
        """Write the heading once a generation has gone well: bad input has its one line alone."""
        self.console.print(self.heading(), highlight=False, markup=False, soft_wrap=True)
        if self.console.is_terminal:
            self._live.start()

    def heading(self) -> str:
        """Say what is run, and for what."""
        title = visible(self.title)
        return title if self.goal is None else f"{title}, goal {self.goal:g}"

    @staticmethod
    def table(rows: Sequence[dict[str, str]]) -> Table:
        """Lay out rows of cells, with the columns of all of them; the seconds come last."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        names = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: name == "seconds")
        for name in names:
            table.add_column(Text(name), justify="right")
        for row in rows:
            table.add_row(*(row.get(name, "") for name in names))
        return table

    @staticmethod
    def cells(record: Generation, seconds: float) -> dict[str, str]:
        """Give what is shown of a generation, by column."""
        cells = {
            "generation": str(record.generation),
            "evaluations": f"{record.evaluations:,}",
            "best": "none feasible" if record.info.get("violation", 0.0) > 0 else f"{record.best:g}",
            "mean": f"{record.mean:.6g}",
        }
        cells |= {visible(name.replace("_", " ")): f"{value:.5g}" for name, value in record.info.items()}
        cells["seconds"] = f"{seconds:.1f}"
        return cells
