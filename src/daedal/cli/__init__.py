"""The command line: one command a file."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import textwrap
import warnings
from contextlib import suppress

from daedal.cli.children import children_ended, kill_children
from daedal.evaluation.signals import ended_properly
from daedal.settings.checks import describe_error, printable

BAD_INPUT = 2
"""Exit code for what the user has to mend."""

INFEASIBLE = 3
"""Exit code of a run that found nothing feasible."""

INTERRUPTED = 130
"""Exit code after Ctrl-C; where another signal asked for the end, `main` makes it that of the signal."""


def main() -> None:
    """Run the command line; bad input ends with one line and exit code 2, Ctrl-C with 130, SIGTERM with 143.

    A run that found nothing feasible ends with 3.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: what is opened next, or written in a worker, would take its place
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that a terminal cannot show is no reason to end
    warnings.formatwarning = _warning
    code = INTERRUPTED
    with ended_properly(kill_children) as came, suppress(KeyboardInterrupt), children_ended():
        code = _run(came)
    sys.exit(128 + came[0] if came and code == INTERRUPTED else code)


def _run(came: list[int]) -> int:
    """Run what the words say, and give the exit code; `came` are the signals that asked for the end meanwhile."""
    try:
        from daedal.cli.app import app  # here, because a signal may come while it is loaded

        code = app(args=sys.argv[1:] or ["--help"], prog_name="daedal", standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:  # noqa: BLE001  what is not the user's doing is raised again
        if came and isinstance(error, OSError) and error.errno == errno.EIO:  # the terminal is gone, and nobody reads
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            return INTERRUPTED
        return _complain(error)
    return code if isinstance(code, int) else 0


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Write a warning about a budget in one line; those of other people's code say where they come from."""
    from daedal.limits import BudgetWarning  # here, because help has no use for it

    if issubclass(category, BudgetWarning):
        return _broken(f"warning: {printable(str(message))}") + "\n"
    return _formatwarning(message, category, filename, lineno, line)


_formatwarning = warnings.formatwarning


def _broken(line: str) -> str:
    """Break a line between words where a terminal would break it anywhere; without a terminal it stays one."""
    try:
        size = os.get_terminal_size(2)
    except OSError:  # there is none
        return line
    width = shutil.get_terminal_size((size.columns or 80, 24)).columns  # COLUMNS counts
    return "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))


def _has_folder() -> bool:
    """Whether the current folder is there: it may have been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _place_in_file(error: BaseException) -> str | None:
    """Say where in a user's file an exception comes from, if it does."""
    from daedal.settings.plugins import place_in_file  # here, because help has no use for it

    return place_in_file(error)


def _usage_message(error: BaseException) -> str:
    """Say what is wrong with the words of the command line."""
    from daedal.cli.usage_errors import usage_message  # here, because most commands have no use for it

    return usage_message(error)


def _complain(error: BaseException) -> int:
    """Write what is wrong in one line, if it is the user's doing; anything else is a defect and shows itself."""
    if hasattr(error, "format_message"):  # of the command line itself: an unknown option, not a number, ...
        message = _usage_message(error)
    elif isinstance(error, ValueError | TypeError | OSError | MemoryError):
        message = "; ".join([str(error) or type(error).__name__, *getattr(error, "__notes__", [])])
        if isinstance(error, FileNotFoundError) and not _has_folder():
            message = "the current folder is not there any more; change to another one"
    elif (place := _place_in_file(error)) is not None:
        message = f"{place}: {describe_error(error)}"
    else:
        raise error
    with suppress(OSError, ValueError):  # whoever should read it may be gone, or its disk full
        print(_broken(f"error: {printable(message)}"), file=sys.stderr, flush=True)
    return BAD_INPUT
