"""What a page is made from: a saved run, a checkpoint, or the store of a study."""

from __future__ import annotations

import os
from pathlib import Path

from daedal.report.page import REPORT, Page, check_plotly, render
from daedal.report.run_page import run_page
from daedal.result import Result
from daedal.storage.atomic import replace_file
from daedal.storage.kinds import check_apart, check_place

_DATABASE = b"SQLite format 3\0"


def write_report(path: str | os.PathLike[str], page: Page) -> None:
    """Write a page to a file, in place of a report that may be there, and of nothing else."""
    text = render(page).encode("utf-8", "backslashreplace")
    replace_file(path, lambda file: file.write(text), kind=REPORT)


def report_run(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the page of a run."""
    check_plotly()
    check_place(path, REPORT)
    write_report(path, run_page(result))


def check_output(source: Path, path: Path) -> None:
    """Refuse a file that a report cannot be written to, before anything is read."""
    check_apart({"the source": source, "--output": path})
    check_plotly()
    check_place(path, REPORT)


def is_store(source: Path) -> bool:
    """Whether a file is a database; an empty one is none."""
    with source.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE
