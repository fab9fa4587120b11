"""A run as it goes, in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Protocol

from daedal.cli.run_status import RunStatus
from daedal.cli.ticker import Ticker
from daedal.result.records import Generation
from daedal.run.view import RunView

_SECONDS_BETWEEN_PICTURES = 0.25
_CURVE = 60


class Handle(Protocol):
    """What IPython gives for something that it has shown."""

    def update(self, shown: object) -> None:
        """Show something else in its place."""


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython in a terminal is a terminal."""
    ipython = sys.modules.get("IPython")  # if it is not loaded, this is none
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookDisplay:
    """A bar where there is a budget, how the best value went, and what goes on: shown once, and kept up to date.

    Parameters
    ----------
    view
        The run.
    clock
        Seconds that pass.
    seconds
        Time between two pictures; None: it draws when it is told to.
    """

    def __init__(
        self,
        view: RunView,
        *,
        clock: Callable[[], float] = time.monotonic,
        seconds: float | None = _SECONDS_BETWEEN_PICTURES,
    ) -> None:
        self.status = RunStatus(view, clock)
        self.clock = clock
        self._ticker = None if seconds is None else Ticker(self.draw, seconds)
        self._handle: Handle | None = None
        self._started = clock()

    def __enter__(self) -> NotebookDisplay:
        self.draw()  # where it is to stand: from a thread, it might come under another cell
        if self._ticker is not None:
            self._ticker.start()
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.stop()
        self._show(self.picture(ended="broken off" if failed else "done"))

    def update(self, record: Generation) -> None:
        """Take notice of one more generation."""
        self.status.add(record)

    def draw(self) -> None:
        """Show how far the run is."""
        self._show(self.picture())

    def picture(self, *, ended: str | None = None) -> Picture:
        """Give what there is to see; at the end, how it ended in place of what goes on."""
        progress, seconds = self.status.view.progress(), self.clock() - self._started
        rows, best, budget = self.status.rows(), self.status.best_value(), self.status.budget(progress)
        doing = self.status.activity(progress, seconds) if ended is None else f"{ended} after {seconds:.1f} s"
        lines = [self.status.heading()]
        if best is not None:
            last = rows[-1]
            lines.append(f"generation {last['generation']}, {last['evaluations']} evaluations, best {best}")
            lines.append(self.status.best.text(_CURVE))
        lines.append(doing if budget is None else f"{budget.text}; {doing}")
        return Picture(lines, None if budget is None else budget.share)

    def _show(self, picture: Picture) -> None:
        if self._handle is not None:
            self._handle.update(picture)
            return
        from IPython.display import display  # of the kernel that this runs in

        self._handle = display(picture, display_id=True)


class Picture:
    """Lines, and how much of a budget is used up, as IPython shows them: HTML, or text where there is none."""

    def __init__(self, lines: list[str], share: float | None) -> None:
        self.lines = lines
        self.share = share

    def _repr_html_(self) -> str:
        heading, *lines = (escape(line) for line in self.lines)
        bar = "" if self.share is None else f'<progress max="1" value="{self.share:.4f}" style="width:20em"></progress>'
        body = "<br>".join([f"<b>{heading}</b>", *lines, *([bar] if bar else [])])
        return f'<div style="font-family:monospace;white-space:pre-wrap">{body}</div>'

    def __repr__(self) -> str:
        return "\n".join(self.lines)
