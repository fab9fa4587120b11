"""What is told of the best solution where a run dies."""

from __future__ import annotations

from contextlib import suppress

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.failures import BestSoFar


def with_best(error: Exception, best: BestSoFar | None) -> Exception:
    """Give an error that has, and tells, the best so far.

    It is the same one, except for one of the system's, whose words cannot be changed. The words of a user's own errors,
    such as those of a callback, are left alone, and get a note.
    """
    if best is None:
        return error
    if isinstance(error, ObjectiveError):
        error.best = best
        error.args = (f"{error}; {best}",)
    elif isinstance(error, OSError) and type(error).__module__ == "builtins":
        told = type(error)(f"{error}; {best}")
        told.errno = error.errno
        told.best = best  # type: ignore[attr-defined]
        return told
    else:
        with suppress(AttributeError):  # one with slots
            error.best = best  # type: ignore[attr-defined]
        error.add_note(str(best))
    return error
