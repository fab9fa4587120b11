"""A study as it goes, on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from daedal.cli.live_display import Ticker
from daedal.cli.output import captured_stderr, clock_time, standard_error
from daedal.cli.study_tables import budget_table, rich_table
from daedal.settings.checks import counted
from daedal.studies.analysis import Row, analyse
from daedal.studies.budgets import BudgetRow, analyse_budgets
from daedal.studies.plan import Unsettled
from daedal.studies.runner import Progress

_SECONDS_BETWEEN_TABLES = 1.0
_SECONDS_BETWEEN_TICKS = 0.25  # of the line that moves
_SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal
_LINES_ABOVE = 5  # of the display that are not the table
_SECONDS_OF_A_PAGE = 5.0
_BAR = 30

_Row = TypeVar("_Row", Row, BudgetRow)


class StudyDisplay:
    """Runs done, left and failed, the time that is left, and the table so far.

    Parameters
    ----------
    console
        Where to write; None: standard error, with what others write there above the display.
    clock
        Seconds that pass.
    """

    def __init__(self, *, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = standard_error() if console is None else console
        self.clock = clock
        self._shares_terminal = console is None
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
        """Time on the clock since it was made."""
        return self.clock() - self._started

    def update(self, progress: Progress) -> None:
        """Show how far a study is, now and then."""
        now = self.clock()
        pause = _SECONDS_BETWEEN_TABLES if self._moves else _SECONDS_BETWEEN_LINES
        if now - self._last < pause:
            return
        self._last = now
        if not self._moves:
            self.console.print(self.line(progress), markup=False, soft_wrap=True)
            return
        if self._live is None:
            live = Live(console=self.console, auto_refresh=False, transient=True, vertical_overflow="crop")
            self._live = self._around.enter_context(live)
            if self._shares_terminal:
                self._ticker = Ticker(self._live.refresh, _SECONDS_BETWEEN_TICKS)
                self._ticker.start()
        self._live.update(self.picture(progress), refresh=True)

    def line(self, progress: Progress) -> str:
        """Say in one line how far a study is."""
        before, after = _words(progress)
        return f"{before}, {clock_time(self.seconds)} so far{after}"

    def picture(self, progress: Progress) -> Group:
        """Give the whole display: how far it is, and the table so far, problem by problem in turn if it is long."""
        completed = progress.found + progress.done
        total = completed + sum(progress.ahead.values())
        if progress.study.budgets:
            page = self._page(analyse_budgets(progress.study, progress.runs), partial(budget_table, legend=False))
        else:
            rows = analyse(progress.study, progress.runs)
            if not progress.order.full_grid:
                total, completed = _answers(rows)
            page = self._page(rows, partial(rich_table, width=self.console.width, legend=False))
        bar = ProgressBar(total=max(total, 1), completed=completed, width=_BAR)
        line = _Moving(self, *_words(progress))
        head = Table.grid(padding=(0, 2))
        if _BAR + len(self.line(progress)) + 8 > self.console.width:  # with a wheel, and room for longer times
            head.add_row(bar)
            head.add_row(line)
        else:
            head.add_row(bar, line)
        return Group(head, Text(), *page)

    def _page(self, rows: Sequence[_Row], table: Callable[[list[_Row]], RenderableType]) -> list[RenderableType]:
        """Give the table, or as many of its problems as there is room for, with another one first every few seconds."""
        problems = [list(of_problem) for _, of_problem in groupby(rows, key=lambda row: row.problem)]
        room = max(self.console.size.height - _LINES_ABOVE, 4)

        def joined(some: list[list[_Row]]) -> RenderableType:
            return table([row for of_problem in some for row in of_problem])

        if self._height(joined(problems)) <= room:
            return [joined(problems)]
        first = int((self.seconds) / _SECONDS_OF_A_PAGE) % len(problems)
        turned = problems[first:] + problems[:first]
        shown = 1
        while shown < len(turned) and self._height(joined(turned[: shown + 1])) <= room:
            shown += 1
        numbers = ", ".join(str((first + place) % len(problems) + 1) for place in range(shown))
        note = f"{'problem' if shown == 1 else 'problems'} {numbers} of {len(problems)}; the others follow in turn"
        return [joined(turned[:shown]), Text(note, style="dim")]

    def _height(self, table: RenderableType) -> int:
        return len(self.console.render_lines(table, pad=False))


class _Moving:
    """The line that says how far a study is, with the time that passes, as of when it is drawn."""

    def __init__(self, display: StudyDisplay, before: str, after: str) -> None:
        self.display = display
        self.before = before
        self.after = after
        self.spinner = Spinner("line" if display.console.options.ascii_only else "dots")

    def __rich__(self) -> Spinner:
        text = f"{self.before}, {clock_time(self.display.seconds)} so far{self.after}"
        self.spinner.update(text=Text(text))
        return self.spinner


def _words(progress: Progress) -> tuple[str, str]:
    """Say how far a study is: what comes before the time so far, and after."""
    ahead = sum(progress.ahead.values())
    words = [
        f"{counted(progress.found + progress.done, 'run')} done",
        f"{'' if progress.study.budgets else 'at least '}{ahead:,} left" if ahead else "none left",
    ]
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    left = progress.seconds_left()
    return ", ".join(words), f", about {clock_time(left)} for these" if ahead and left is not None else ""


def _answers(rows: list[Row]) -> tuple[int, int]:
    """Count what the table is to say, and what of it is known."""
    choices = [entry.choice for row in rows for entry in row.entries.values()]
    return len(choices), sum(choice is not Unsettled.OPEN for choice in choices)
