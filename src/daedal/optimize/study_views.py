"""How a study and its table show themselves, in terminals and in notebooks."""

from __future__ import annotations

import os
from pathlib import Path

from daedal.settings.checks import counted
from daedal.studies.snapshot import Snapshot
from daedal.studies.status import Status
from daedal.studies.tables.html import escaped
from daedal.studies.tables.table import StudyTable

_BOX = (
    "display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;padding:10px 14px;"
    "border:1px solid #8888;border-radius:6px;line-height:1.5"
)
_SOFT = "opacity:.7;font-size:.9em"
_MOST_ERRORS = 3


class TerminalTable(StudyTable):
    """The table of a study, which prints itself as `daedal study table` does."""

    def text(self, width: int | None = None) -> str:
        """Give the text that the terminal shows, for so many columns, or those that the terminal has."""
        from daedal.cli.study_tables import table_text  # here, because Rich takes a while to load

        return table_text(self, width)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


def counts_text(snapshot: Snapshot, status: Status) -> str:
    """Say in a line what a study compares, and how far it is."""
    study = snapshot.study
    what = f"{counted(len(study.problems), 'problem')}, {counted(len(study.algorithms), 'algorithm')}"
    done, failed, left = (status.total(name) for name in ("done", "failed", "left"))
    ahead = f"{'' if study.budgets else 'at least '}{left:,} left" if left else "complete"
    return f"{what}; {counted(done, 'run')} done, {f'{failed:,} failed, ' if failed else ''}{ahead}"


def card(snapshot: Snapshot, status: Status, store: Path) -> str:
    """Give a study as a small card of HTML: what it is, how far, its table, and what failed."""
    table = StudyTable(study=snapshot.study, runs=snapshot.runs, confirm=snapshot.confirm)
    errors = list(status.errors.items())[:_MOST_ERRORS]
    parts = [
        f"<div><b>{escaped(counts_text(snapshot, status))}</b></div>",
        f'<div style="{_SOFT}">{escaped(_short_path(store))}</div>',
        table.html(),
        *(f"<div>{escaped(counted(times, 'time'))}: {escaped(error)}</div>" for error, times in errors),
    ]
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _short_path(store: Path) -> str:
    """Give where a store is, as seen from here, or from the root where that is shorter."""
    there = str(store)
    try:
        there = str(store.resolve())
        return min(os.path.relpath(there, Path.cwd().resolve()), there, key=len)
    except (OSError, RuntimeError, ValueError):  # here is no longer, or on another drive, or links go in a circle
        return there
