"""A study as it goes, on standard error."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from daedal.study.analysis import analyse
from daedal.study.runner import Progress
from daedal.study.table import rich_table

_SECONDS_BETWEEN_TABLES = 1.0
_SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal
_LINES_ABOVE = 6  # of the display that are not the table


class StudyDisplay:
    """Runs done, left and failed, the time that is left, and the table so far.

    Parameters
    ----------
    console
        Where to write; None: standard error.
    """

    def __init__(self, *, console: Console | None = None) -> None:
        self.console = Console(stderr=True, highlight=False) if console is None else console
        self._live = Live(console=self.console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._started = time.monotonic()
        self._last = 0.0

    def __enter__(self) -> StudyDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Show how far a study is, now and then."""
        now = time.monotonic()
        pause = _SECONDS_BETWEEN_TABLES if self.console.is_terminal else _SECONDS_BETWEEN_LINES
        if now - self._last < pause:
            return
        self._last = now
        if not self.console.is_terminal:
            self.console.print(self.line(progress), markup=False, soft_wrap=True)
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(self.picture(progress), refresh=True)

    def line(self, progress: Progress) -> str:
        """Say in one line how far a study is."""
        ahead = sum(progress.ahead.values())
        words = [f"{progress.found + progress.done:,} runs done", f"{ahead:,} left at least"]
        if progress.failed:
            words.append(f"{progress.failed:,} failed")
        words.append(f"{_time(time.monotonic() - self._started)} so far")
        left = progress.seconds_left()
        if ahead and left is not None:
            words.append(f"about {_time(left)} for these")
        return ", ".join(words)

    def picture(self, progress: Progress) -> Group:
        """Give the whole display; the table shows the problems that are being run, as many as there is room for."""
        done, ahead = progress.found + progress.done, sum(progress.ahead.values())
        bar = Table.grid(padding=(0, 2))
        bar.add_row(ProgressBar(total=max(done + ahead, 1), completed=done, width=30), Text(self.line(progress)))
        rows = analyse(progress.study, progress.runs)
        active = {cell.problem.name for cell, count in progress.ahead.items() if count}
        room = max(self.console.size.height - _LINES_ABOVE, 4)
        shown = [row for row in rows if row.problem.name in active] or rows
        return Group(bar, Text(), rich_table(shown[: max(room // 2, 1)], width=self.console.width, legend=False))


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
