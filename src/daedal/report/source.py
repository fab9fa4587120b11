"""The report of a run file, or of the store of a study."""

from __future__ import annotations

from pathlib import Path

from daedal.report.page import Page
from daedal.report.run_page import run_page

_RUN_FILE = b"DaER"  # SQLite's application_id of a run file
_AT = 68  # where it is in the file


def read_page(source: Path, *, number: int | None = None, quick: bool = False) -> Page:
    """Return the page of a file, which is not trusted, and from which nothing is run.

    Parameters
    ----------
    source
        The file.
    number
        Number of a study in a store. Default: the last one run.
    quick
        See `run_page`.
    """
    if source.is_file() and not _is_run(source):
        from daedal.report.study_page import study_page  # here, because a run needs none of it
        from daedal.studies.snapshot import read_store

        return study_page(read_store(source, number=number))
    if number is not None:
        raise ValueError(f"{source} is not the store of a study; remove --study {number}")
    from daedal.run.reading import load_run

    return run_page(load_run(source), quick=quick)


def _is_run(source: Path) -> bool:
    with source.open("rb") as file:
        return file.read(_AT + len(_RUN_FILE))[_AT:] == _RUN_FILE
