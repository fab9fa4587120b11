"""A run as it goes, on standard error: a picture that moves on a terminal, and lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from daedal.cli.fitting_table import fitting_table
from daedal.cli.output import standard_error
from daedal.cli.run_status import SHOWN, RunStatus
from daedal.cli.stderr_capture import captured_stderr
from daedal.cli.ticker import Ticker, wheel
from daedal.result.records import Generation
from daedal.run.view import RunView

SECONDS_BETWEEN_PICTURES = 0.125
_SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal that moves
_WANTED = ("generation", "evaluations", "best", "seconds", "mean")  # columns, if there is no room for all
_LINES_BESIDE = 6  # of the picture that are not generations
_LONGEST_CURVE, _LONGEST_BAR = 60, 40


class LiveDisplay:
    """The last generations, how the best value went, what goes on, and how much of the budget is used up.

    It draws itself on a timer and asks the run how far it is, so that it moves while a batch is under way, too, and
    the run waits for nothing. What it drew goes away at the end, and the table stays, if a generation was complete:
    bad input has its one line alone.

    Parameters
    ----------
    view
        The run.
    console
        Where to write; None: standard error.
    capture
        Whether all that is written to standard error meanwhile, also by other processes, is put above the picture.
    clock
        Seconds that pass.
    seconds
        Time between two pictures; None: it draws when it is told to.
    """

    def __init__(
        self,
        view: RunView,
        *,
        console: Console | None = None,
        capture: bool = False,
        clock: Callable[[], float] = time.monotonic,
        seconds: float | None = SECONDS_BETWEEN_PICTURES,
    ) -> None:
        self.console = standard_error() if console is None else console
        self.status = RunStatus(view, clock)
        self.clock = clock
        self._capture = capture
        self._moves = self.console.is_interactive
        self._ticker = None if seconds is None else Ticker(self.draw, seconds)
        self._around = ExitStack()
        self._live: Live | None = None
        self._is_headed = False
        self._started = self._last_line = clock()

    def __enter__(self) -> LiveDisplay:
        if self._moves and self._capture:
            self.console = self._around.enter_context(captured_stderr())
        if self._ticker is not None:
            self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.stop()
        with self._around:
            if self._live is not None:
                self._live.stop()
            if self.status.rows():
                self._head()
                if self._moves:
                    self.console.print(Group(*self._generations(SHOWN)))

    def update(self, record: Generation) -> None:
        """Take notice of one more generation."""
        self.status.add(record)

    def draw(self) -> None:
        """Show how far the run is: now, or, where nothing moves, if it is time for a line."""
        if not self._moves:
            self._write_line()
            return
        if self._live is None:
            own = not self._capture  # then it is Python's streams alone that are put above the picture
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=own and sys.stdout is not None and sys.stdout.isatty(),
                redirect_stderr=own,
            )
            self._live.start()
        self._live.update(self.picture(), refresh=True)

    def _write_line(self) -> None:
        now = self.clock()
        if now - self._last_line < _SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        self._head()
        rows = self.status.rows()
        parts = [", ".join(f"{name} {text}" for name, text in rows[-1].items() if text)] if rows else []
        progress = self.status.view.progress()
        if not rows or progress.rows > 1:
            parts.append(self.status.activity(progress, now - self._started))
        self._print("; ".join(parts))

    def _head(self) -> None:
        if not self._is_headed:
            self._is_headed = True
            self._print(self.status.heading())

    def _print(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=not self.console.is_terminal)

    def picture(self) -> Group:
        """Give the whole picture, for the room that there is."""
        progress, seconds = self.status.view.progress(), self.clock() - self._started
        rows = max(1, min(SHOWN, self.console.height - _LINES_BESIDE))
        parts: list[RenderableType] = [Text(self.status.heading())]
        if self.status.best_value() is not None:
            parts += self._generations(rows)
        turn = wheel(seconds, ascii_only=self.console.options.ascii_only)
        parts.append(Text.assemble((turn, "bold"), " ", self.status.activity(progress, seconds)))
        budget = self.status.budget(progress)
        if budget is not None:
            bar = Table.grid(padding=(0, 2))
            length = max(5, min(_LONGEST_BAR, self.console.width - len(budget.text) - 2))
            bar.add_row(ProgressBar(total=1.0, completed=budget.share, width=length), Text(budget.text))
            parts.append(bar)
        return Group(*parts)

    def _generations(self, rows: int) -> list[RenderableType]:
        """Give the table of the last generations, and the curve of the best value."""
        width, best = self.console.width, self.status.best_value()
        length = min(_LONGEST_CURVE, width - len(f"best    {best}"))
        curve = self.status.best.text(length, ascii_only=self.console.options.ascii_only)
        line = Text.assemble(("best", "dim"), "  ", (curve, "cyan"), "  " if curve else "", str(best))
        return [fitting_table(self.status.rows()[-rows:], width, wanted=_WANTED), line]
