"""Reports of a result, of a run file, or of the store of a study."""

from __future__ import annotations

import os
from pathlib import Path

from daedal.report.page import REPORT, Page, render
from daedal.report.run_page import run_page
from daedal.result import Result
from daedal.storage.atomic import replace_file, restated
from daedal.storage.kinds import check_apart, check_place

_WANTED = "the file of a run or the store of a study"
_DATABASE = b"SQLite format 3\0"
APPLICATION = b"DaER"  # of the file of a run


def report_run(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the page of a run to a file. A report that exists is replaced, any other file is left alone."""
    check_place(path, REPORT)
    _write_page(run_page(result), path)


def report_file(source: Path, path: Path, *, number: int | None = None) -> None:
    """Write the page of a file's run or study; `number` is that of a study in a store. Default: the last one run."""
    check_apart({"the source": source, "--output": path})
    check_place(path, REPORT)
    _write_page(read_page(source, number=number), path)


def _write_page(page: Page, path: str | os.PathLike[str]) -> None:
    text = render(page).encode()
    replace_file(path, lambda file: file.write(text), kind=REPORT)


def read_page(source: Path, *, number: int | None = None, quick: bool = False) -> Page:
    """Return the page of a file, which is not trusted, and from which nothing is run; for `quick`, see `run_page`."""
    if is_store(source):
        from daedal.report.study_page import study_page  # here, because a run needs none of it
        from daedal.studies.snapshot import read_store

        return study_page(read_store(source, number=number))
    if number is not None:
        raise ValueError(f"{source} is not the store of a study; remove --study {number}")
    from daedal.run.reading import load_run

    return run_page(load_run(source), quick=quick)


def is_store(source: Path) -> bool:
    """Return whether a file is the store of a study; OSError or ValueError if there is no database to read."""
    if os.path.exists(source) and not os.path.isfile(source):  # a folder, or a pipe to wait for without end
        raise ValueError(f"expected {_WANTED} at {source}, found something that is not a file; name a file")
    try:
        with source.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError as error:
        raise restated(error, f"expected {_WANTED} at {source}, found nothing there; check the name") from error
    except OSError as error:
        raise restated(error, f"expected {_WANTED} at {source}, cannot read it: {error.strerror or error}") from error
    if not head.startswith(_DATABASE):
        raise ValueError(f"{source} is not {_WANTED}")
    return head[68:72] != APPLICATION
