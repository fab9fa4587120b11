"""The displays of a run under way: on a terminal, in a log file, and in a notebook."""

from __future__ import annotations

import io
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from html import escape
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from daedal.cli.output import captured_stderr, clock_time, standard_error
from daedal.result.records import Generation
from daedal.run.view import RunProgress, RunView
from daedal.settings.checks import visible

_SECONDS_PER_PICTURE = 0.125
_SECONDS_PER_LINE = 10.0  # of a log file
_WANTED = ("generation", "evaluations", "best", "seconds", "mean")  # columns of a narrow terminal
_MOST_ROWS = 12  # generations in the table
_OTHER_LINES = 6  # of the picture
_LONGEST_CURVE, _LONGEST_BAR = 60, 40
_BLOCKS, _ASCII_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"

_TICKING = threading.Lock()  # held while a process forks, so that a child never finds a console locked for ever
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TICKING.acquire, after_in_parent=_TICKING.release, after_in_child=_TICKING.release)


class Ticker(threading.Thread):
    """A thread that calls a function at regular intervals until it is stopped.

    Parameters
    ----------
    function
        Function to call. If it cannot write any more, because a terminal is gone or a disk is full, the calls end.
    seconds
        Time between two calls.
    """

    def __init__(self, function: Callable[[], object], seconds: float) -> None:
        super().__init__(daemon=True)
        self.function = function
        self.seconds = seconds
        self._ended = threading.Event()

    def run(self) -> None:
        """Call the function again and again."""
        while not self._ended.wait(self.seconds):
            with _TICKING:
                try:
                    self.function()
                except (OSError, ValueError):  # ValueError: the stream is closed
                    return

    def stop(self) -> None:
        """Stop the thread, and wait for a call under way."""
        self._ended.set()
        if self.is_alive():
            self.join()


class LiveDisplay:
    """The last generations of a run, its best value, what it is doing, and how much of the budget is used.

    The display draws itself on a timer and asks the run for its progress, so the run never waits for it. On a terminal,
    the picture disappears at the end and the table stays. Elsewhere, a line is written every ten seconds.

    Parameters
    ----------
    view
        The run.
    console
        Where to write. Default: standard error.
    capture
        If True, everything that is written to standard error meanwhile, also by other processes, appears above the
        picture.
    clock
        Function that returns seconds.
    seconds
        Time between two pictures; None: only `draw` draws.
    """

    def __init__(
        self,
        view: RunView,
        *,
        console: Console | None = None,
        capture: bool = False,
        clock: Callable[[], float] = time.monotonic,
        seconds: float | None = _SECONDS_PER_PICTURE,
    ) -> None:
        self.view = view
        self.console = standard_error() if console is None else console
        self.clock = clock
        self.records: list[Generation] = []
        self._capture = capture
        self._moves = self.console.is_interactive
        self._ticker = None if seconds is None else Ticker(self.draw, seconds)
        self._around = ExitStack()
        self._live: Live | None = None
        self._is_headed = False
        self._started = self._last_line = clock()
        self._first: RunProgress | None = None  # when this process started the run, or resumed it
        self._spinner = Spinner("line" if self.console.options.ascii_only else "dots")

    def __enter__(self) -> LiveDisplay:
        if self._moves and self._capture:
            self.console = self._around.enter_context(captured_stderr())
        if self._ticker is not None:
            self._ticker.start()
        return self

    def __exit__(self, failed: object = None, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.stop()
        with self._around:
            if self._live is not None:
                self._live.stop()
            if self.records:
                self._head()
                if self._moves:
                    self.console.print(Group(*self._generations(_MOST_ROWS, self.view.progress())))

    def update(self, record: Generation) -> None:
        """Add the record of a generation."""
        self.records.append(record)

    def draw(self) -> None:
        """Draw the picture, or write a line if it is time for one."""
        if not self._moves:
            self._write_line()
            return
        if self._live is None:
            python = not self._capture  # then Rich puts what Python prints above the picture
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=python and sys.stdout is not None and sys.stdout.isatty(),
                redirect_stderr=python,
            )
            self._live.start()
        self._live.update(self.picture(), refresh=True)

    def _write_line(self) -> None:
        now = self.clock()
        if now - self._last_line < _SECONDS_PER_LINE:
            return
        self._last_line = now
        self._head()
        progress, best = self.view.progress(), ""
        if self.records:
            best = ", ".join(f"{name} {text}" for name, text in _cells(self.records[-1]).items())
        elif progress.best is not None:
            best = f"best {_value(progress.best)}"
        self._print("; ".join(part for part in (best, self._activity(progress)) if part))

    def _head(self) -> None:
        if not self._is_headed:
            self._is_headed = True
            self._print(self.heading)

    def _print(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=not self.console.is_terminal)

    # ------------------------------------------------------------ the picture

    @property
    def heading(self) -> str:
        """What is run, and the target."""
        target = "" if self.view.goal is None else f", target {self.view.goal:.10g}"
        return visible(self.view.title) + target

    def picture(self, *, ended: str = "") -> Group:
        """Return everything that is shown; `ended` is shown instead of what the run is doing."""
        progress = self.view.progress()
        rows = max(1, min(_MOST_ROWS, self.console.height - _OTHER_LINES))
        self._spinner.update(text=Text(self._activity(progress)))
        parts: list[RenderableType] = [Text(self.heading), *self._generations(rows, progress)]
        parts.append(Text(ended) if ended else self._spinner)
        if (budget := self._budget(progress)) is not None:
            share, text = budget
            bar = Table.grid(padding=(0, 2))
            length = max(5, min(_LONGEST_BAR, self.console.width - len(text) - 5))  # and room for ^C
            bar.add_row(ProgressBar(total=1.0, completed=share, width=length), Text(text))
            parts.append(bar)
        return Group(*parts)

    def _generations(self, rows: int, progress: RunProgress) -> list[RenderableType]:
        """Return the table of the last generations, and the best value with its curve."""
        records = self.records[:]  # the run may append meanwhile
        parts: list[RenderableType] = []
        if records:
            parts.append(_table([_cells(one) for one in records[-rows:]], self.console.width))
        if progress.best is not None:
            best, ascii_only = _value(progress.best), self.console.options.ascii_only
            length = min(_LONGEST_CURVE, self.console.width - len(f"best    {best}"))
            line = curve([one.best for one in records], length, ascii_only=ascii_only)
            parts.append(Text.assemble(("best", "dim"), "  ", (line, "cyan"), "  " if line else "", best))
        return parts

    def _activity(self, progress: RunProgress) -> str:
        """Return what the run is doing, and the time so far."""
        seconds = progress.seconds if progress.has_begun else self.clock() - self._started
        if not progress.has_begun:
            doing = "starting"
        elif progress.answered >= progress.rows:
            doing = "choosing the next candidates"
        elif progress.rows == 1:
            doing = "evaluating 1 candidate"
        else:
            doing = f"{progress.answered:,} of {progress.rows:,} candidates of this batch evaluated"
        return f"{doing}, {clock_time(seconds)}"

    def _budget(self, progress: RunProgress) -> tuple[float, str] | None:
        """Return the used share of the evaluations or of the time, whichever is larger, and its text."""
        if self._first is None and progress.has_begun:
            self._first = progress
        limits, found = self.view.limits, []
        if (most := limits.max_evaluations) is not None:
            text = f"{progress.evaluations:,} of {most:,} evaluations"
            made = 0 if self._first is None else progress.evaluations - self._first.evaluations
            if self._first is not None and made:
                seconds = (progress.seconds - self._first.seconds) / made * max(most - progress.evaluations, 0)
                text += f", about {clock_time(seconds)} left"
            found.append((min(progress.evaluations / most, 1.0), text))
        if (longest := limits.max_seconds) is not None:
            left = max(math.ceil(longest - progress.seconds), 0)
            found.append((min(progress.seconds / longest, 1.0), f"{clock_time(left)} of {clock_time(longest)} left"))
        return max(found, default=None)


class NotebookDisplay(LiveDisplay):
    """The same picture in a notebook, in one place that is kept up to date."""

    def __init__(self, view: RunView, **how: Any) -> None:
        console = Console(file=io.StringIO(), width=100, height=30, force_jupyter=False)
        super().__init__(view, console=console, **how)
        self._handle: Any = None

    def __enter__(self) -> NotebookDisplay:
        self.draw()  # from the thread, it could appear under another cell
        super().__enter__()
        return self

    def __exit__(self, failed: object = None, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.stop()
        seconds = clock_time(self.clock() - self._started)
        self._show(self.picture(ended=f"{'interrupted' if failed else 'done'} after {seconds}"))

    def draw(self) -> None:
        """Draw the picture."""
        self._show(self.picture())

    def _show(self, picture: Group) -> None:
        with self.console.capture() as captured:
            self.console.print(picture)
        text = captured.get()
        shown = {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def is_notebook() -> bool:
    """Return True if this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def curve(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """Draw values in at most `width` characters, the last value included; values that are not finite are blanks.

    Examples
    --------
    >>> curve([1, 2, 4, 8, 8], 20)
    '▁▂▄██'
    """
    if len(values) > width:
        values = [values[(place + 1) * len(values) // width - 1] for place in range(width)]
    finite = [value for value in values if math.isfinite(value)]
    blocks, low = _ASCII_BLOCKS if ascii_only else _BLOCKS, min(finite, default=0.0)
    span = max(finite, default=0.0) - low

    def block(value: float) -> str:
        share = (value - low) / span if 0 < span < math.inf else 0.0
        return blocks[min(int(share * len(blocks)), len(blocks) - 1)]

    return "".join(block(value) if math.isfinite(value) else " " for value in values)


def _table(rows: Sequence[Mapping[str, str]], width: int) -> Table:
    """Lay out rows with as many whole columns as fit; Rich alone would shorten cells, and so the numbers in them."""
    sizes: dict[str, int] = {}
    for row in rows:
        for name, cell in row.items():
            sizes[name] = max(sizes.get(name, 0), cell_len(name), cell_len(cell))
    chosen: set[str] = set()
    for name in sorted(sizes, key=lambda name: _WANTED.index(name) if name in _WANTED else len(_WANTED)):
        if sum(sizes[one] + 2 for one in chosen) + sizes[name] <= width:
            chosen.add(name)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in sizes:
        if name in chosen:
            table.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row.get(name, "")) for name in sizes if name in chosen))
    return table


def _cells(record: Generation) -> dict[str, str]:
    """Return what is shown of a generation, by column."""
    return {
        "generation": str(record.generation),
        "evaluations": f"{record.evaluations:,}",
        "best": _value(record.best),
        "mean": f"{record.mean:.6g}",
        **{visible(name.replace("_", " ")): f"{value:.5g}" for name, value in record.info.items()},
        "seconds": f"{record.seconds:.1f}",
    }


def _value(best: float) -> str:
    return f"{best:g}" if math.isfinite(best) else "none feasible"
