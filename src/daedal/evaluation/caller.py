"""How an objective is called: with a batch or row by row, and what counts as an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.failures import BestSoFar, describe_error
from daedal.settings.numbers import as_numbers
from daedal.types import Bits, Fitness, to_text

Objective: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function of rows of 0/1, shape (rows, n), that gives one number per row; or of one row, that gives one number."""

Places: TypeAlias = NDArray[np.intp] | slice
"""Which of some rows: their numbers, or a range of them."""

MOST_BYTES = 64 * 2**20
"""Memory of the rows that a function of a batch gets at once: in int64 they take eight times what they take here."""

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


@dataclass
class Answers:
    """What came back for some rows: values as the objective gave them, shape (rows,), and, by row, why it failed.

    A value is nan where it failed, or was not asked because of an earlier failure.
    """

    values: Fitness
    errors: dict[int, str] = field(default_factory=dict)
    causes: dict[int, BaseException] = field(default_factory=dict)  # where they were raised in this process


@dataclass(frozen=True)
class Caller:
    """Calls an objective, and judges what it gives.

    A user's function gets rows of int64, so that `2 * x - 1` or `x[:, 0] - x[:, 1]` mean what they say; in uint8, 0 - 1
    would be 255.
    """

    objective: Objective
    vectorized: bool = True  # whether it takes a batch, shape (rows, n), or one row, shape (n,), at a time
    sign: int = 1  # -1 where smaller is better
    dtype: type[np.integer[Any]] = np.int64
    most_bytes: int = MOST_BYTES
    shown: Callable[[Bits], str] = to_text  # how a row is written in messages
    batch: str = "an array of 0/1 rows"  # what it is called with

    def is_one_part(self, x: Bits) -> bool:
        """Whether all rows go together, whatever numbers they become: a quick look, for small batches."""
        return 8 * x.size <= self.most_bytes

    def parts(self, x: Bits) -> list[slice]:
        """Give which of the rows of x, shape (rows, n), go together: all, or as many as take no more than `most_bytes`.

        What comes back does not depend on it, for a function of rows.
        """
        size = np.dtype(self.dtype).itemsize
        if size * x.size <= self.most_bytes:
            return [slice(0, len(x))]
        step = max(1, self.most_bytes // (size * x.shape[1]))
        return [slice(start, min(start + step, len(x))) for start in range(0, len(x), step)]

    def answers(self, x: Bits, *, first_failure_only: bool = False) -> Answers:
        """Give the answers for the rows of x, shape (rows, n); a batch that fails is tried row by row."""
        if not self.vectorized:
            return self.one_by_one(x, first_failure_only=first_failure_only)
        if self.is_one_part(x):
            return self._batch(x, first_failure_only)
        answers = Answers(np.full(len(x), np.nan))
        for part in self.parts(x):
            came = self._batch(x[part], first_failure_only)
            answers.values[part] = came.values
            answers.errors |= {part.start + index: error for index, error in came.errors.items()}
            answers.causes |= {part.start + index: cause for index, cause in came.causes.items()}
            if answers.errors and first_failure_only:
                break
        return answers

    def _batch(self, x: Bits, first_failure_only: bool) -> Answers:
        """Give the answers for rows that go together."""
        if len(x) == 1:
            return self._row(x)
        try:
            return self._judged(self._values(x), x)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            answers = self.one_by_one(x, first_failure_only=first_failure_only)
            if first_failure_only and not answers.errors:  # it is the batch, then
                raise ObjectiveError(self._told_of(error, x)) from error.__cause__ or error
            return answers

    def one_by_one(self, x: Bits, *, first_failure_only: bool = False) -> Answers:
        """Give the answers for the rows of x, each with a call of its own."""
        answers = Answers(np.full(len(x), np.nan))
        for index in range(len(x)):
            self.one(x, index, answers)
            if answers.errors and first_failure_only:
                break
        return answers

    def one(self, x: Bits, index: int, answers: Answers) -> None:
        """Call the objective with one row of x, and note what comes."""
        came = self._row(x[index : index + 1])
        answers.values[index] = came.values[0]
        if came.errors:
            answers.errors[index] = came.errors[0]
        if came.causes:
            answers.causes[index] = came.causes[0]

    def _row(self, row: Bits) -> Answers:
        """Give the answer for one row, shape (1, n)."""
        try:
            return self._judged(self._values(row), row)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            return Answers(np.array([np.nan]), {0: self._told_of(error, row)}, {0: error.__cause__ or error})

    def _values(self, x: Bits) -> Fitness:
        """Call the objective with rows, shape (rows, n), or, where it takes no batch, with the only one of them."""
        given = (x if self.vectorized else x[0]).astype(self.dtype)  # a copy: what the objective does to it stays there
        try:
            returned = self.objective(given)
        except ObjectiveError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, what asyncio cancels with, a user's own: all of them are failures
            hint = (
                f"; it is called with {self.batch}, here of shape {x.shape} (for a function of one row, say "
                "vectorized=False, or --by-row)"
            )
            raise ObjectiveError(
                f"the objective raised {describe_error(error)} for {self.named(x)}{hint if self.vectorized else ''}"
            ) from error
        values = _numbers(returned)
        if not self.vectorized and values.shape not in ((), (1,)):
            raise ObjectiveMisuse(f"expected one number for a row from the objective, got shape={values.shape}")
        if self.vectorized and values.shape != (len(x),):
            raise ObjectiveMisuse(
                f"expected one number per row, shape ({len(x)},), from the objective, got shape={values.shape}; "
                "sum over axis=1, or say vectorized=False (--by-row) for a function of one row"
            )
        return values.reshape(len(x))

    def _judged(self, values: Fitness, x: Bits) -> Answers:
        """Find nan, and infinity on the good side: nothing could ever be better."""
        if np.count_nonzero(np.isfinite(values)) == len(values):
            return Answers(values)
        bad = np.flatnonzero(np.isnan(values) | (values == self.sign * np.inf))
        infeasible = "-inf" if self.sign > 0 else "inf"
        errors = {
            int(index): f"expected finite numbers from the objective, got {values[index]:g} for "
            f"{self.named(x[[index]])}{_AS_NAN if np.isnan(values[index]) else ''}; use {infeasible} for what is "
            "infeasible"
            for index in bad
        }
        values[bad] = np.nan  # our own copy
        return Answers(values, errors)

    def named(self, x: Bits) -> str:
        """Say which rows were asked for: the only one, or how many."""
        return f"the row {self.shown(x[0])}" if len(x) == 1 else f"a batch of shape {x.shape}"

    def _told_of(self, error: ObjectiveError, x: Bits) -> str:
        """Give what an error says, and the rows it was for; those of programs do not know."""
        text, where = str(error), self.named(x)
        return text if where in text else f"{text}; it was called for {where}"


def _numbers(returned: object) -> Fitness:
    """Turn what an objective returned into an array of float64."""
    if returned is None:
        raise ObjectiveMisuse("expected numbers from the objective, got None; does it return its result?")
    try:
        return as_numbers(returned, source="from the objective")
    except ValueError as error:
        raise ObjectiveMisuse(str(error)) from error
