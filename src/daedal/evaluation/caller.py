"""How an objective is called: with a batch or row by row, and what counts as an answer."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Answers as Answers
from daedal.evaluation.answers import ObjectiveError as ObjectiveError
from daedal.evaluation.answers import ObjectiveMisuse as ObjectiveMisuse
from daedal.evaluation.answers import judged
from daedal.evaluation.failures import describe_error
from daedal.evaluation.returned import joined, read_amounts, read_values, split
from daedal.types import Amounts, Bits, Fitness, to_text

Objective: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function of rows of 0/1, shape (rows, n), that gives one number per row; or of one row, that gives one number.

It may give a pair: that, and by how much constraints are violated.
"""

_FLOAT = np.dtype(np.float64)
_NUMBERS = (float, np.float64)

MOST_BYTES = 64 * 2**20
"""Memory of the rows that a function of a batch gets at once: in int64 they take eight times what they take here."""


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
    constraints: tuple[Objective, ...] = ()  # functions of the same rows: by how much each row violates something

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
            answers.take(part, self._batch(x[part], first_failure_only))
            if answers.errors and first_failure_only:
                break
        return answers

    def _batch(self, x: Bits, first_failure_only: bool) -> Answers:
        """Give the answers for rows that go together."""
        if len(x) == 1:
            return self.single(x)
        try:
            return self.together(x)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            answers = self.one_by_one(x, first_failure_only=first_failure_only)
            if first_failure_only and not answers.errors:
                raise self.batch_error(error, x) from error.__cause__ or error
            return answers

    def batch_error(self, error: ObjectiveError, x: Bits) -> ObjectiveError:
        """Return the error of a function that raises for the rows of x together, but for none of them alone."""
        return ObjectiveError(self._told_of(error, x))

    def one_by_one(self, x: Bits, *, first_failure_only: bool = False) -> Answers:
        """Give the answers for the rows of x, each with a call of its own."""
        answers = Answers(np.full(len(x), np.nan))
        for index in range(len(x)):
            answers.take(slice(index, index + 1), self.single(x[index : index + 1]))
            if answers.errors and first_failure_only:
                break
        return answers

    def single(self, row: Bits) -> Answers:
        """Return the answer for one row, shape (1, n); an error of the objective is part of it."""
        try:
            return self.together(row)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            return Answers(np.array([np.nan]), {0: self._told_of(error, row)}, {0: error.__cause__ or error})

    def together(self, x: Bits) -> Answers:
        """Return the answers for the rows of x, shape (rows, n), from one call; raise if the objective raises.

        A function that takes one row at a time can only be given one.
        """
        returned = self._ask(self.objective, "the objective", x)
        if (
            not self.constraints
        ):  # the two kinds of answers that are most frequent, without asking what else they may be
            kind = type(returned)
            if kind is np.ndarray and returned.dtype is _FLOAT and returned.shape == x.shape[:1]:  # type: ignore[attr-defined]
                values: Fitness = returned.copy()  # type: ignore[attr-defined]  # the objective may use it again
                if np.count_nonzero(np.isfinite(values)) == len(values):
                    return Answers(values)
            elif kind in _NUMBERS and not self.vectorized and math.isfinite(returned):  # type: ignore[arg-type]
                return Answers(np.array([returned], dtype=np.float64))
        return judged(*self._read(returned, x), x, self.sign, self.shown)

    def _read(self, returned: object, x: Bits) -> tuple[Fitness, Amounts | None]:
        """Return the values of rows, shape (rows, n), and, with constraints, the same beside their amounts."""
        values, violations = split(returned, self.vectorized)
        numbers = read_values(values, "the objective", len(x), self.vectorized)
        if violations is None and not self.constraints:
            return numbers, None
        amounts = [] if violations is None else [read_amounts(violations, len(x), self.vectorized)]
        for index, constraint in enumerate(self.constraints):
            who = f"constraint {index + 1}"
            amounts.append(read_values(self._ask(constraint, who, x), who, len(x), self.vectorized)[:, None])
        return numbers, joined(numbers, amounts)

    def _given(self, x: Bits) -> NDArray[Any]:
        """Make what a function gets of rows, or, where it takes no batch, of the only one of them.

        It is a copy: what a function does to it stays there.
        """
        return (x if self.vectorized else x[0]).astype(self.dtype)

    def _ask(self, function: Objective, who: str, x: Bits) -> object:
        """Call a function with rows, shape (rows, n)."""
        try:
            return function(self._given(x))
        except ObjectiveError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, what asyncio cancels with, a user's own: all of them are failures
            hint = (
                f"; it is called with {self.batch}, here of shape {x.shape} (for a function of one row, say "
                "vectorized=False, or --by-row)"
            )
            from daedal.settings.plugins import place_in_file  # a third of what a worker loads, for errors alone

            where = place_in_file(error)
            place = "" if where is None else f" ({os.path.basename(where)})"
            raise ObjectiveError(
                f"{who} raised {describe_error(error)}{place} for {self.named(x)}{hint if self.vectorized else ''}"
            ) from error

    def named(self, x: Bits) -> str:
        """Say which rows were asked for: the only one, or how many."""
        return f"the row {self.shown(x[0])}" if len(x) == 1 else f"a batch of shape {x.shape}"

    def _told_of(self, error: ObjectiveError, x: Bits) -> str:
        """Give what an error says, and the rows it was for; those of programs do not know."""
        text, where = str(error), self.named(x)
        return text if where in text else f"{text}; it was called for {where}"
