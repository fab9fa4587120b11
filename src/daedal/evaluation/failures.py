"""Evaluations that fail: what a user sees of them, and what is to be done."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """A row whose evaluation failed.

    Attributes
    ----------
    x
        The row, as text of 0 and 1, in the order of the objective's own variables.
    error
        Why.
    """

    x: str
    error: str


@dataclass(frozen=True)
class OnError:
    """What to do when an evaluation fails.

    Examples
    --------
    >>> OnError.read("retry:3")
    OnError(retries=3, worst=False)
    """

    retries: int = 0
    worst: bool = False

    @classmethod
    def read(cls, text: str) -> OnError:
        """Read "raise", "worst", "retry:3" (then raise) or "retry:3,worst" (then count as worst)."""
        policy = {"raise": cls(), "worst": cls(worst=True)}.get(text) if isinstance(text, str) else None
        if policy is not None:
            return policy
        if isinstance(text, str) and text.startswith("retry:"):
            number, comma, then = text.removeprefix("retry:").partition(",")
            if number.isdigit() and int(number) > 0 and (then in ("worst", "raise") or not comma):
                return cls(retries=int(number), worst=then == "worst")
        raise ValueError(f"expected on_error to be raise, worst, retry:N or retry:N,worst, got on_error={text!r}")


def describe_error(error: BaseException) -> str:
    """Give an error in one line: its kind, and what it says.

    Examples
    --------
    >>> describe_error(ValueError("no such thing"))
    'ValueError: no such thing'
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def signal_name(number: int) -> str:
    """Give the name of a signal; most real-time signals have none.

    Examples
    --------
    >>> signal_name(9), signal_name(40)
    ('SIGKILL', 'signal 40')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
