"""Answers of an objective: objective values, constraint values and failures, and the order that constraints impose.

Merits express with one number how two candidates compare if there are constraints: feasible candidates come first,
then those with less violation, then those with the larger objective value. The merit of a feasible candidate is its
objective value. The merit of any other candidate is -1e250 times its violation, and the last bits of the mantissa hold
the order by objective value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits, Fitness, Outputs, to_text

FAILURES_KEPT = 100
"""Failures that a run keeps to show; it counts all of them."""

_LARGEST = 1e200  # feasible candidates have smaller objective values, larger ones belong to merits

_SCALE = 1e250
_LEAST, _MOST = 1e-49, 1e50  # the range of violations that merits tell apart
_VALUE_BITS = 28  # of the 52 of a mantissa; the other 24 and the implicit one hold the violation
_STEPS = 2.0**_VALUE_BITS - 1
_MASK = np.uint64(2**_VALUE_BITS - 1)
_WIDEST = 711.0  # asinh of the largest float


@dataclass(frozen=True)
class Failure:
    """A candidate whose evaluation failed.

    Attributes
    ----------
    x
        The candidate, as text of 0 and 1 in the order of the objective's own variables; in a space its values as JSON.
    error
        The reason.
    """

    x: str
    error: str


@dataclass(frozen=True, eq=False)
class BestSoFar:
    """The best solution of a run that ended with an error."""

    x: Bits  # shape (n,), in the order of the objective's own variables
    fitness: float
    shown: str  # the solution as text: its bits, or the values of a space
    violation: float = 0.0  # sum of the violations of all constraints

    def __str__(self) -> str:
        beyond = f" and is not feasible, by {self.violation:.10g}" if self.violation > 0 else ""
        return f"the best so far has fitness {self.fitness:.10g}{beyond}: {self.shown}"


class ObjectiveError(ValueError):
    """Error of an objective that raised, or returned something other than one number per candidate.

    Attributes
    ----------
    best
        The best solution of the run that ended with this error, with its bits `x` and its `fitness`; None if no
        candidate had a value yet.
    """

    best: BestSoFar | None = None


class ObjectiveMisuse(ObjectiveError):  # noqa: N818  a kind of ObjectiveError
    """Error of a function that does not return one number per candidate, so that no failure policy can help."""


@dataclass(slots=True)
class Answers:
    """Answers for some candidates."""

    values: Fitness  # shape (candidates,); nan for those that failed; with constraints, merits
    errors: dict[int, str] = field(default_factory=dict)  # reasons of failures, by place
    causes: dict[int, BaseException] = field(default_factory=dict)  # of those that were raised in this process
    outputs: Outputs | None = None  # with constraints, as in `Done`

    @classmethod
    def failed(cls, count: int, error: str, cause: BaseException | None = None) -> Answers:
        """Return answers for candidates that failed for the same reason."""
        causes = {} if cause is None else dict.fromkeys(range(count), cause)
        return cls(np.full(count, np.nan), dict.fromkeys(range(count), error), causes)

    @property
    def constraints(self) -> int | None:
        """Number of constraints; None if every candidate failed."""
        if self.outputs is not None:
            return int(self.outputs.shape[1]) - 1
        return None if len(self.errors) == len(self.values) else 0

    def only(self, places: Sequence[int]) -> Answers:
        """Return the answers in some places, none of which has failed."""
        return Answers(self.values[places], outputs=None if self.outputs is None else self.outputs[places])


class Came(NamedTuple):
    """Answers for candidates that were evaluated together or one after another."""

    tickets: list[int]
    rows: Bits  # shape (tickets, n)
    answers: Answers
    seconds: float  # the longest evaluation, approximately


def side_by_side(parts: Sequence[Answers]) -> Answers:
    """Return the answers of several parts as one; all parts that have any must have the same number of constraints."""
    if len(parts) == 1:
        return parts[0]
    answers = Answers(np.concatenate([part.values for part in parts]))
    known: int | None = None
    start = 0
    for part in parts:
        end = start + len(part.values)
        if part.outputs is not None and answers.outputs is None:
            answers.outputs = np.full((len(answers.values), part.outputs.shape[1]), np.nan)
        if (now := part.constraints) is not None:
            check_constraints(known, now)
            known = now
        if part.outputs is not None and answers.outputs is not None:
            answers.outputs[start:end] = part.outputs
        answers.errors |= {start + place: error for place, error in part.errors.items()}
        answers.causes |= {start + place: cause for place, cause in part.causes.items()}
        start = end
    return answers


def check_constraints(before: int | None, now: int | None) -> None:
    """Refuse a number of constraints that changes between evaluations; None is unknown."""
    if before is not None and now is not None and before != now:
        raise ObjectiveMisuse(
            f"the objective returned {now} violations after {before}; return one for each constraint, 0 if it is kept"
        )


# ------------------------------------------------------------ checks of numbers


def judged(
    values: Fitness, outputs: Outputs | None, x: Bits, sign: int, shown: Callable[[Bits], str] = to_text
) -> Answers:
    """Check values for nan, and for infinity on the good side, which nothing could beat; compute merits.

    `values` and `outputs` must be copies, because what failed is overwritten.
    """
    if outputs is None and np.count_nonzero(np.isfinite(values)) == len(values):
        return Answers(values)
    errors = _bad_values(values, x, sign, shown)
    if outputs is None:
        values[list(errors)] = np.nan
        return Answers(values, errors)
    errors = _bad_outputs(outputs, x, shown) | errors
    outputs[sorted(errors)] = np.nan
    return Answers(merits(outputs, sign), errors, outputs=outputs)


def _bad_values(values: Fitness, x: Bits, sign: int, shown: Callable[[Bits], str]) -> dict[int, str]:
    errors: dict[int, str] = {}
    for index in np.flatnonzero(np.isnan(values) | (values == sign * np.inf)):
        errors[int(index)] = (
            f"expected finite numbers from the objective, got {values[index]:g} for the candidate {shown(x[index])}; "
            f"return {-sign * np.inf:g} for infeasible candidates"
        )
    return errors


def _bad_outputs(outputs: Outputs, x: Bits, shown: Callable[[Bits], str]) -> dict[int, str]:
    errors: dict[int, str] = {}
    for index, which in np.argwhere(~np.isfinite(outputs[:, 1:])):
        errors.setdefault(
            int(index),
            f"expected a finite number from constraint {which + 1}, got {outputs[index, 1 + which]:g} for the candidate"
            f" {shown(x[index])}; return its violation, 0 or less if it is kept",
        )
    far = np.isfinite(outputs[:, 0]) & (np.abs(outputs[:, 0]) >= _LARGEST) & (total_violation(outputs) <= 0)
    for index in np.flatnonzero(far):
        errors[int(index)] = (
            f"expected values between -{_LARGEST:g} and {_LARGEST:g} from an objective with constraints, got "
            f"{outputs[index, 0]:g} for the candidate {shown(x[index])}"
        )
    return errors


# ------------------------------------------------------------ constraints


def total_violation(outputs: Outputs) -> Fitness:
    """Return the sums of the positive constraint values, shape (candidates,).

    A sum is infinite where the objective value is, because such a value means infeasible without an amount.
    """
    with np.errstate(over="ignore"):
        totals: Fitness = np.maximum(outputs[:, 1:], 0.0).sum(axis=1)
    return np.where(np.isinf(outputs[:, 0]), np.inf, totals)


def merits(outputs: Outputs, sign: int) -> Fitness:
    """Compute the merits of candidates, shape (candidates,), in the objective's own sign.

    Parameters
    ----------
    outputs
        Objective and constraint values, shape (candidates, 1 + constraints); nan for candidates that failed.
    sign
        1 if larger values are better, -1 if smaller ones are.
    """
    values, totals = sign * outputs[:, 0], total_violation(outputs)
    fine = ~(totals > 0)  # nan stays nan
    return sign * np.where(fine, values, _infeasible(values, totals))


def _infeasible(values: Fitness, totals: Fitness) -> Fitness:
    """Compute the merits of infeasible candidates, whose values are to be maximized."""
    magnitude = (_SCALE * np.clip(totals, _LEAST, _MOST)).view(np.uint64)
    known = np.where(np.isfinite(values), values, 0.0)
    worse = np.rint(0.5 * (1.0 - np.arcsinh(known) / _WIDEST) * _STEPS).astype(np.uint64)
    merit = -((magnitude & ~_MASK) | worse).view(np.float64)
    return np.where(np.isinf(values), values, merit)


@dataclass(frozen=True, eq=False)
class Standing:
    """The best candidate of a run with constraints, with exact numbers where merits are rounded."""

    x: Bits  # shape (n,), in the optimizer's order
    outputs: Outputs  # objective value and constraint values, shape (1 + constraints,)

    @property
    def violation(self) -> float:
        """Sum of the violations."""
        return float(total_violation(self.outputs[None])[0])

    @property
    def violations(self) -> tuple[float, ...]:
        """Violation of each constraint."""
        return tuple(np.maximum(self.outputs[1:], 0.0).tolist())

    def key(self, sign: int) -> tuple[float, float]:
        """Return a sort key that is larger for a better candidate."""
        return -self.violation, sign * float(self.outputs[0])


def best_of(x: Bits, outputs: Outputs, sign: int) -> Standing | None:
    """Return the first of the best candidates, x of shape (candidates, n); None if all failed."""
    known: NDArray[np.intp] = np.flatnonzero(~np.isnan(outputs[:, 0]))
    if not len(known):
        return None
    totals, values = total_violation(outputs[known]), sign * outputs[known, 0]
    least = np.flatnonzero(totals == totals.min())
    i = int(known[least[int(np.argmax(values[least]))]])
    return Standing(x[i].copy(), outputs[i].copy())
