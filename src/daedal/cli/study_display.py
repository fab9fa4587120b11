"""A study as it goes, on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.console import Group as RichGroup
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from daedal.cli.live_display import Ticker
from daedal.cli.output import captured_stderr, clock_time, standard_error
from daedal.cli.study_tables import Laid
from daedal.settings.checks import counted
from daedal.studies.plan import Unsettled
from daedal.studies.runner import Progress
from daedal.studies.snapshot import Snapshot
from daedal.studies.tables import StudyTable
from daedal.studies.writers import Sheet

_SECONDS_PER_TABLE = 1.0
_SECONDS_PER_TICK = 0.25  # of the line that moves
_SECONDS_PER_LINE = 10.0  # of a log file
_SECONDS_PER_PAGE = 5.0
_LINES_ABOVE = 5  # of the display that are not the table
_BAR = 30


class StudyDisplay:
    """Runs done, left and failed, the time that is left, and the table so far.

    Parameters
    ----------
    console
        Where to write. Default: standard error, and what others write there appears above the display.
    clock
        Function that returns seconds.
    """

    def __init__(self, *, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = standard_error() if console is None else console
        self.clock = clock
        self._shares_terminal = console is None
        self.spinner = Spinner("line" if self.console.options.ascii_only else "dots")
        self._moves = self.console.is_interactive
        self._around = ExitStack()
        self._live: Live | None = None
        self._ticker: Ticker | None = None
        self._started = clock()
        self._last = -math.inf

    def __enter__(self) -> StudyDisplay:
        if self._shares_terminal and self._moves:
            self.console = self._around.enter_context(captured_stderr())
        return self

    def __exit__(self, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.stop()
        self._around.close()

    @property
    def seconds(self) -> float:
        """Time since the display was made."""
        return self.clock() - self._started

    def update(self, progress: Progress) -> None:
        """Show how far a study is, unless that was done a moment ago."""
        now = self.clock()
        pause = _SECONDS_PER_TABLE if self._moves else _SECONDS_PER_LINE
        if now - self._last < pause:
            return
        self._last = now
        if not self._moves:
            self.console.print(self.line(progress), markup=False, soft_wrap=True)
            return
        if self._live is None:
            live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=False,  # what others write is captured already
                redirect_stderr=False,
            )
            self._live = self._around.enter_context(live)
            if self._shares_terminal:
                self._ticker = Ticker(self._live.refresh, _SECONDS_PER_TICK)
                self._ticker.start()
        self._live.update(self.picture(progress), refresh=True)

    def line(self, progress: Progress) -> str:
        """Return one line that says how far a study is."""
        ahead = sum(progress.ahead.values())
        words = [
            f"{counted(progress.found + progress.done, 'run')} done",
            f"{'' if progress.study.budgets else 'at least '}{ahead:,} left" if ahead else "none left",
            *([f"{progress.failed:,} failed"] if progress.failed else []),
            f"{clock_time(self.seconds)} so far",
        ]
        left = progress.seconds_left()
        if ahead and left is not None:
            words.append(f"about {clock_time(left)} for these")
        return ", ".join(words)

    def picture(self, progress: Progress) -> Picture:
        """Return the whole display: how far the study is, and the table so far."""
        table = StudyTable.of(Snapshot(study=progress.study, runs=progress.runs))
        completed = progress.found + progress.done
        total = completed + sum(progress.ahead.values())
        if not progress.study.budgets and not progress.order.full_grid:  # more runs may follow: count answers
            total = len(table.rows)
            completed = sum(row.choice is not Unsettled.OPEN for row in table.rows)
        bar = ProgressBar(total=max(total, 1), completed=completed, width=_BAR)
        return Picture(self, progress, bar, self._page(table.sheet()._replace(legend=())))

    def _page(self, sheet: Sheet) -> list[RenderableType]:
        """Return the table, or as many of its problems as fit, beginning with another one every few seconds."""
        room = max(self.console.size.height - _LINES_ABOVE, 4)
        groups = sheet.groups
        heights = [len(group.lines) + 2 for group in groups]  # with a title and a blank line
        if sum(heights) + 1 <= room:  # and a title and a rule, but one blank line less
            return [Laid(sheet)]
        first = int(self.seconds / _SECONDS_PER_PAGE) % len(groups)
        order = [*range(first, len(groups)), *range(first)]
        shown = [place for number, place in enumerate(order, 1) if sum(heights[one] for one in order[:number]) < room]
        shown = shown or order[:1]
        numbers = ", ".join(str(place + 1) for place in shown)
        note = f"{'problem' if len(shown) == 1 else 'problems'} {numbers} of {len(groups)}; the others follow in turn"
        return [Laid(sheet._replace(groups=[groups[place] for place in shown])), Text(note, style="dim")]


@dataclass(frozen=True)
class Picture:
    """The display of a study, with the time at which it is drawn."""

    display: StudyDisplay
    progress: Progress
    bar: ProgressBar
    page: list[RenderableType]

    def __rich__(self) -> RichGroup:
        line, spinner = self.display.line(self.progress), self.display.spinner
        spinner.update(text=Text(line))
        head = Table.grid(padding=(0, 2))
        if _BAR + len(line) + 8 > self.display.console.width:  # with a wheel, and room for longer times
            head.add_row(self.bar)
            head.add_row(spinner)
        else:
            head.add_row(self.bar, spinner)
        return RichGroup(head, Text(), *self.page)
