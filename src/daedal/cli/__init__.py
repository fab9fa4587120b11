"""The command line: the entry point, exit codes and error messages."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from contextlib import suppress
from typing import Any

from daedal.evaluation.signals import children_ended, ended_properly, keep_standard_descriptors
from daedal.settings.checks import describe_error

BAD_INPUT = 2
"""Exit code if the input is wrong."""

INFEASIBLE = 3
"""Exit code of a run that found no feasible candidate."""

INTERRUPTED = 130
"""Exit code after Ctrl-C. After another signal, the exit code is 128 plus its number."""

_show_any_warning = warnings.showwarning


def main() -> None:
    """Run the command line and exit with its code."""
    keep_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for names that the terminal cannot show
    warnings.showwarning = _show_warning
    code = INTERRUPTED
    with ended_properly() as came, suppress(KeyboardInterrupt), children_ended():
        code = _run(came)
    sys.exit(128 + came[0] if came and code == INTERRUPTED else code)


def _run(came: list[int]) -> int:
    """Run the command and return its exit code; `came` are the signals other than Ctrl-C that arrive meanwhile."""
    try:
        from daedal.cli.app import app  # here, because a signal may arrive while it is loaded

        code = app(args=sys.argv[1:] or ["--help"], prog_name="daedal", standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:
        if came and isinstance(error, OSError) and error.errno == errno.EIO:  # the terminal was closed
            for descriptor in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            return INTERRUPTED
        message = _message(error)
        if message is None:
            raise
        from daedal.cli.output import say

        with suppress(OSError, ValueError):  # standard error may be closed, or its disk full
            say(f"error: {' '.join(message.split())}")
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def _message(error: BaseException) -> str | None:
    """Return what is wrong with the user's input; None if the error is a defect of daedal."""
    if hasattr(error, "format_message"):
        return _usage_message(error)
    if isinstance(error, FileNotFoundError) and not _folder_exists():
        return "the current folder no longer exists; change to another one"
    if isinstance(error, ValueError | TypeError | OSError | MemoryError):
        return "; ".join([str(error) or type(error).__name__, *getattr(error, "__notes__", [])])
    from daedal.settings.plugins import place_in_file  # here, because help does not need it

    place = place_in_file(error)
    return None if place is None else f"{place}: {describe_error(error)}"


def _usage_message(error: Any) -> str:
    """Return the message of an error of Typer, which is Any because its version decides where the class comes from."""
    message = error.format_message()
    found = getattr(error.__cause__, "errors", None)  # of Pydantic, whose text lacks the value
    first = found()[0] if callable(found) else {}
    numbers = {"int_parsing": "a whole number", "float_parsing": "a number"}
    if first.get("type") in numbers and getattr(error, "param", None) is not None:
        message = f"{'/'.join(error.param.opts)} must be {numbers[first['type']]}, got {first['input']!r}"
    path = getattr(getattr(error, "ctx", None), "command_path", "") or "daedal"
    return (
        f"{message} See {path} --help" if message.endswith("?") else f"{message.removesuffix('.')}; see {path} --help"
    )


def _folder_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Write a warning about a run in one line; other warnings name the line of code that they come from."""
    from daedal.limits import BudgetWarning  # here, because help does not need it

    if issubclass(category, BudgetWarning):
        from daedal.cli.output import say

        say(f"warning: {message}")
    else:
        _show_any_warning(message, category, *place, **more)
