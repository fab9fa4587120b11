"""What came back for rows: values, amounts of constraints, failures; and what counts as an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from daedal.evaluation.failures import BestSoFar
from daedal.evaluation.merit import LARGEST, merits, total_violation
from daedal.types import Amounts, Bits, Fitness, to_text

_AS_NAN = " (what is masked or missing counts as nan)"


class ObjectiveError(ValueError):
    """The objective raised, or gave something that is not one number per row.

    Attributes
    ----------
    best
        The best solution of the run that this has ended, with its bits `x` and its `fitness`; None where no row had a
        value yet.
    """

    best: BestSoFar | None = None


class ObjectiveMisuse(ObjectiveError):  # noqa: N818  a kind of ObjectiveError
    """The objective is not a function of rows that gives one number per row: no policy for failures helps with that."""


@dataclass(slots=True)
class Answers:
    """What came back for some rows: values as the objective gave them, shape (rows,), and, by row, why it failed.

    A value is nan where it failed, or was not asked because of an earlier failure. With constraints it is the merit,
    and `amounts`, shape (rows, 1 + constraints), have what was given.
    """

    values: Fitness
    errors: dict[int, str] = field(default_factory=dict)
    causes: dict[int, BaseException] = field(default_factory=dict)  # where they were raised in this process
    amounts: Amounts | None = None

    @property
    def constraints(self) -> int | None:
        """How many constraints the rows have; None where no row has an answer."""
        if self.amounts is not None:
            return int(self.amounts.shape[1]) - 1
        return None if np.isnan(self.values).all() else 0

    def take(self, part: slice, came: Answers) -> None:
        """Put the answers for a part of the rows in their places."""
        if came.amounts is not None or self.amounts is not None:
            check_constraints(self.constraints, came.constraints)
        if came.amounts is not None:
            if self.amounts is None:
                self.amounts = np.full((len(self.values), came.amounts.shape[1]), np.nan)
            self.amounts[part] = came.amounts
        self.values[part] = came.values
        self.errors |= {part.start + index: error for index, error in came.errors.items()}
        self.causes |= {part.start + index: cause for index, cause in came.causes.items()}


class Came(NamedTuple):
    """Answers for candidates that were evaluated together, or one after the other."""

    tickets: list[int]
    rows: Bits  # shape (tickets, n)
    answers: Answers
    seconds: float  # longest time that one of them took, about


def side_by_side(parts: Sequence[Answers]) -> Answers:
    """Return the answers for several parts of rows as those of all of them."""
    if len(parts) == 1:
        return parts[0]
    answers = Answers(np.concatenate([part.values for part in parts]))
    constraints: int | None = None
    start = 0
    for part in parts:
        rows = len(part.values)
        if constraints is None or constraints > 0 or part.amounts is not None:
            check_constraints(constraints, part.constraints)
            constraints = part.constraints if constraints is None else constraints
        if part.amounts is not None:
            if answers.amounts is None:
                answers.amounts = np.full((len(answers.values), part.amounts.shape[1]), np.nan)
            answers.amounts[start : start + rows] = part.amounts
        if part.errors:
            answers.errors |= {start + index: error for index, error in part.errors.items()}
            answers.causes |= {start + index: cause for index, cause in part.causes.items()}
        start += rows
    return answers


def first_error(errors: dict[int, str], rows: int) -> ObjectiveError:
    """Give the error of the first row that failed, of so many, and say how many others did."""
    others = f" ({len(errors)} of {rows} rows failed so far)" if len(errors) > 1 else ""
    return ObjectiveError(errors[min(errors)] + others)


def nothing_worked(errors: dict[int, str]) -> ObjectiveError:
    """Give the error of a run whose first rows have failed, all of them."""
    first = errors[min(errors)]
    if len(errors) == 1:
        return ObjectiveError(f"the first row failed: {first}")
    return ObjectiveError(f"all of the first {len(errors):,} rows failed, the first so: {first}")


def check_constraints(before: int | None, now: int | None) -> None:
    """Refuse a number of constraints that changes from call to call; None: not known."""
    if before is not None and now is not None and before != now:
        raise ObjectiveMisuse(
            f"expected as many constraints from each call of the objective, got {now} after {before}; give an amount "
            "for each one, 0 where it is kept"
        )


def judged(
    values: Fitness, amounts: Amounts | None, x: Bits, sign: int, shown: Callable[[Bits], str] = to_text
) -> Answers:
    """Find nan, and infinity on the good side: nothing could ever be better; with constraints, give merits."""
    if amounts is None and np.count_nonzero(np.isfinite(values)) == len(values):
        return Answers(values)
    errors = _bad_values(values, x, sign, shown)
    if amounts is None:
        values[list(errors)] = np.nan  # our own copy
        return Answers(values, errors)
    errors |= {index: error for index, error in _bad_amounts(amounts, x, shown).items() if index not in errors}
    amounts[sorted(errors)] = np.nan
    return Answers(merits(amounts, sign), errors, amounts=amounts)


def _bad_values(values: Fitness, x: Bits, sign: int, shown: Callable[[Bits], str]) -> dict[int, str]:
    bad = np.flatnonzero(np.isnan(values) | (values == sign * np.inf))
    infeasible = "-inf" if sign > 0 else "inf"
    return {
        int(index): f"expected finite numbers from the objective, got {values[index]:g} for the row "
        f"{shown(x[index])}{_AS_NAN if np.isnan(values[index]) else ''}; use {infeasible} for what is infeasible"
        for index in bad
    }


def _bad_amounts(amounts: Amounts, x: Bits, shown: Callable[[Bits], str]) -> dict[int, str]:
    errors: dict[int, str] = {}
    for index, which in np.argwhere(~np.isfinite(amounts[:, 1:])):
        errors.setdefault(
            int(index),
            f"expected a finite number from constraint {which + 1}, got {amounts[index, 1 + which]:g} for the row "
            f"{shown(x[index])}; give by how much it is violated, 0 or less where it is not",
        )
    far = np.isfinite(amounts[:, 0]) & (np.abs(amounts[:, 0]) >= LARGEST) & (total_violation(amounts) <= 0)
    for index in np.flatnonzero(far):
        errors[int(index)] = (
            f"expected values between -{LARGEST:g} and {LARGEST:g} from an objective with constraints, got "
            f"{amounts[index, 0]:g} for the row {shown(x[index])}"
        )
    return errors
