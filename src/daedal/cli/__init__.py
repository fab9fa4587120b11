"""The command line: one command a file."""

from __future__ import annotations

import io
import os
import sys
import warnings

from daedal.cli.app import app

BAD_INPUT = 2
"""Exit code for what the user has to mend."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main() -> None:
    """Run the command line; bad input ends with one line and exit code 2, Ctrl-C with 130."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: what is opened next, or written in a worker, would take its place
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that a terminal cannot show is no reason to end
    warnings.formatwarning = _warning
    try:
        code = app(args=sys.argv[1:] or ["--help"], prog_name="daedal", standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001  what is not the user's doing is raised again
        code = _complain(error)
    sys.exit(code if isinstance(code, int) else 0)


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Write a warning about a budget in one line; those of other people's code say where they come from."""
    from daedal.limits import BudgetWarning  # here, because help has no use for it

    if issubclass(category, BudgetWarning):
        return f"warning: {message}\n"
    return _formatwarning(message, category, filename, lineno, line)


_formatwarning = warnings.formatwarning


def _complain(error: Exception) -> int:
    """Write what is wrong in one line, if it is the user's doing; anything else is a defect and shows itself."""
    if hasattr(error, "format_message"):  # of the command line itself: an unknown option, not a number, ...
        message = f"{error.format_message()} (daedal --help shows what there is)"
    elif isinstance(error, ValueError | TypeError | OSError | MemoryError):
        message = "; ".join([str(error) or type(error).__name__, *getattr(error, "__notes__", [])])
    else:
        raise error
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return BAD_INPUT
