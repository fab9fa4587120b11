"""Evaluations that fail: what a user sees of them, and what is to be done."""

from __future__ import annotations

from dataclasses import dataclass

from daedal.settings.checks import describe_error as describe_error
from daedal.types import Bits

FAILURES_KEPT = 100
"""How many failures a run can show; all of them are counted."""


class OutOfTime(Exception):  # noqa: N818  no error: the run has had its time
    """The deadline came in the middle of a batch."""


@dataclass(frozen=True)
class Failure:
    """A row whose evaluation failed.

    Attributes
    ----------
    x
        The row, as text of 0 and 1, in the order of the objective's own variables; of a space, its values (JSON).
    error
        Why.
    """

    x: str
    error: str


@dataclass(frozen=True, eq=False)
class BestSoFar:
    """The best solution of a run that an error has ended.

    Attributes
    ----------
    x
        Bits, shape (n,), in the order of the objective's own variables.
    fitness
        Their value, as the objective gave it.
    shown
        The solution for eyes: its bits, or the values of a space.
    violation
        By how much they violate constraints, in sum.
    """

    x: Bits
    fitness: float
    shown: str
    violation: float = 0.0

    def __str__(self) -> str:
        beyond = f" and is not feasible, by {self.violation:.10g}" if self.violation > 0 else ""
        return f"the best so far has fitness {self.fitness:.10g}{beyond}: {self.shown}"


@dataclass(frozen=True)
class OnError:
    """What to do when an evaluation fails."""

    retries: int = 0
    worst: bool = False

    @classmethod
    def read(cls, text: str) -> OnError:
        """Read "raise", "worst", "retry:3" (then raise) or "retry:3,worst" (then count as worst)."""
        if text in ("raise", "worst"):
            return cls(worst=text == "worst")
        if isinstance(text, str) and text.startswith("retry:"):
            number, comma, then = text.removeprefix("retry:").partition(",")
            if number.isdigit() and int(number) > 0 and (then in ("worst", "raise") or not comma):
                return cls(retries=int(number), worst=then == "worst")
        raise ValueError(f"expected on_error to be raise, worst, retry:N or retry:N,worst, got on_error={text!r}")
