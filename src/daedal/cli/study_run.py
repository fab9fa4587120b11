"""Runs a study for the command line, and says how it went."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

from daedal.cli import INTERRUPTED
from daedal.cli.output import say, shown, stdout_kept
from daedal.cli.study_display import StudyDisplay
from daedal.cli.study_output import Form, write_table
from daedal.evaluation.dask import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, MOST_WORKERS, available_cores, check_executor_timeout
from daedal.settings.checks import counted
from daedal.studies.progress import MOST_CONFIRMED, Order, Progress
from daedal.studies.rank_tests import Test
from daedal.studies.runner import run_study
from daedal.studies.spec import Study
from daedal.studies.store import Store
from daedal.studies.tables.table import StudyTable


def checked_order(*, workers: int | None, full_grid: bool | None, confirm: int | None, retry_failed: bool) -> Order:
    """Check what was asked for on the command line."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"expected --workers of at least 1, and at most {MOST_WORKERS:,}, got --workers {workers}")
    if confirm is not None and not 0 <= confirm <= MOST_CONFIRMED:
        raise ValueError(f"expected --confirm of 0 to {MOST_CONFIRMED:,}, got --confirm {confirm}")
    return Order(
        workers=available_cores() if workers is None else workers,
        full_grid=full_grid,
        confirm=confirm,
        retry_failed=retry_failed,
    )


def run_and_show(
    study: Study,
    path: Path,
    order: Order,
    *,
    dask: str | None = None,
    dask_timeout: float = EXECUTOR_TIMEOUT,
    form: Form = Form.RICH,
    test: Test = "signed-rank",
    holm: bool = False,
) -> None:
    """Run a study, then show its table; after Ctrl-C the table so far."""
    with Store(path) as store:
        finished = run_with_display(study, store, order, dask=dask, dask_timeout=dask_timeout)
        _, confirm, _ = store.study()  # an earlier order may have asked for it
        runs = store.runs()
    table = StudyTable(study=study, runs=runs, confirm=confirm, test=test, holm=holm)
    write_table(table, form, None)
    failed = table.failed
    if failed:
        have = "has" if failed == 1 else "have"
        told = f"daedal study status --store {shlex.quote(shown(path))} says why"
        say(f"{counted(failed, 'run')} of this study {have} failed: {told}")
    if not finished:
        sys.exit(INTERRUPTED)


def run_with_display(
    study: Study, store: Store, order: Order, *, dask: str | None = None, dask_timeout: float = EXECUTOR_TIMEOUT
) -> bool:
    """Run a study; whether it came to its end, or Ctrl-C ended it."""
    check_executor_timeout(dask_timeout)
    try:
        with (
            stdout_kept(),
            nullcontext() if dask is None else dask_executor(dask, dask_timeout) as executor,
            StudyDisplay() as display,
        ):
            progress = run_study(study, store, order, display, executor=executor, executor_timeout=dask_timeout)
    except KeyboardInterrupt:
        say("interrupted: every run that had ended is in the store, and the same command goes on from there")
        return False
    say(_closing(progress, store.path))
    if order.confirm is None and progress.order.confirm:
        say(f"--confirm {progress.order.confirm} holds, as before; --confirm 0 ends it")
    if order.full_grid is None and progress.order.full_grid:
        say("--full-grid holds, as before; --no-full-grid ends it")
    return True


def _closing(progress: Progress, path: Path) -> str:
    made = f"{counted(progress.done, 'run')} made" if progress.done else "nothing was left to run"
    failed = f", {progress.failed:,} of them failed" if progress.failed else ""
    killed = f", {progress.killed:,} killed, to be run again by the same command" if progress.killed else ""
    return f"{made}{failed}{killed}; {progress.found:,} of this study were in {shown(path)} before"
