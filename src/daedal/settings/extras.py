"""Optional packages: a missing one says how to install it, when it is first used."""

from __future__ import annotations


class MissingExtraError(ImportError, ValueError):
    """A package that is needed here is not installed.

    An ImportError, as in all of Python; and a ValueError, as is all that a user has to mend.
    """


def missing_extra(need: str, extra: str) -> MissingExtraError:
    """Say what needs which package, and the line that installs it.

    Examples
    --------
    >>> print(missing_extra("a report needs Plotly", "report"))
    a report needs Plotly: pip install "daedal[report]"
    """
    return MissingExtraError(f'{need}: pip install "daedal[{extra}]"')
