"""Calls of an objective, with many candidates or one at a time, and checks of what it returns."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Answers, ObjectiveError, ObjectiveMisuse, judged
from daedal.settings.checks import as_numbers, describe_error
from daedal.types import Bits, Fitness, Outputs, to_text

Objective: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function of candidates, shape (candidates, n), that returns one number per candidate, or of one candidate.

With declared violations it returns a pair: these numbers, and by how much each constraint is violated.
"""

_FLOAT = np.dtype(np.float64)
_NUMBERS = (float, np.float64)

MOST_BYTES = 64 * 2**20
"""Memory of the candidates that a function of many gets at once. As int64 they take eight times their own memory."""


@dataclass(frozen=True)
class Caller:
    """An objective with the way to call it.

    A user's function gets candidates as int64, so that `2 * x - 1` and `x[:, 0] - x[:, 1]` mean what they say: in
    uint8, 0 - 1 is 255.
    """

    objective: Objective
    vectorized: bool = True  # whether it takes many candidates, shape (candidates, n), or one, shape (n,)
    sign: int = 1  # 1 if larger values are better, -1 if smaller ones are
    dtype: type[np.integer[Any]] = np.int64  # of the bits that it gets
    most_bytes: int = MOST_BYTES  # of the candidates of one call
    shown: Callable[[Bits], str] = to_text  # writes a candidate for messages
    batch: str = "an array of 0/1 rows"  # what the function is called with, for messages
    constraints: tuple[Objective, ...] = ()  # return by how much a candidate violates something
    violations: bool = False  # whether the objective returns pairs of values and violations

    @property
    def constrained(self) -> bool:
        """Whether each answer comes with constraint values."""
        return self.violations or bool(self.constraints)

    def parts(self, x: Bits) -> list[slice]:
        """Return which candidates of x, shape (candidates, n), go together: as many as fit into `most_bytes`."""
        size = np.dtype(self.dtype).itemsize
        if size * x.size <= self.most_bytes:
            return [slice(0, len(x))]
        step = max(1, self.most_bytes // (size * x.shape[1]))
        return [slice(start, min(start + step, len(x))) for start in range(0, len(x), step)]

    def pieces(self, x: Bits, *, singly: bool = False, first_failure_only: bool = False) -> Iterator[Answers]:
        """Evaluate candidates, and yield the answers for the next ones, in their order, as soon as they are there.

        If the function raises for many candidates, they are evaluated singly.

        Parameters
        ----------
        x
            Candidates, shape (candidates, n).
        singly
            If True, each candidate is evaluated with a call of its own.
        first_failure_only
            If True, the first failure is the last answer, and a function that raises for many candidates, but for none
            of them alone, raises an error.
        """
        if singly or not self.vectorized or len(x) == 1:
            yield from self._singly(x, first_failure_only)
            return
        for part in self.parts(x):
            try:
                answers = self.together(x[part])
            except ObjectiveMisuse:
                raise
            except ObjectiveError as error:
                have_failed = yield from self.pieces_after(error, x[part], first_failure_only=first_failure_only)
            else:
                yield answers
                have_failed = bool(answers.errors)
            if have_failed and first_failure_only:
                return

    def pieces_after(
        self, error: ObjectiveError, x: Bits, *, first_failure_only: bool = False
    ) -> Generator[Answers, None, bool]:
        """Evaluate candidates singly after the function raised an error for all of them together, as `pieces` does."""
        have_failed = yield from self._singly(x, first_failure_only)
        if first_failure_only and not have_failed:
            raise ObjectiveError(self._with_candidates(error, x)) from error.__cause__ or error
        return have_failed

    def _singly(self, x: Bits, first_failure_only: bool) -> Generator[Answers, None, bool]:
        """Evaluate candidates with a call for each; the generator returns whether any failed."""
        have_failed = False
        for index in range(len(x)):
            answers = self.single(x[index : index + 1])
            yield answers
            have_failed |= bool(answers.errors)
            if have_failed and first_failure_only:
                break
        return have_failed

    def single(self, row: Bits) -> Answers:
        """Return the answer for one candidate, shape (1, n); an error of the objective is part of it."""
        try:
            return self.together(row)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            return Answers.failed(1, self._with_candidates(error, row), error.__cause__ or error)

    def together(self, x: Bits) -> Answers:
        """Return the answers for candidates, shape (candidates, n), from one call; raise if the objective raises.

        A function of one candidate can only get one.
        """
        returned = self._ask(self.objective, "the objective", x)
        if not self.constrained:  # the two most frequent kinds of answers, without any further question
            kind = type(returned)
            if kind is np.ndarray and returned.dtype is _FLOAT and returned.shape == x.shape[:1]:  # type: ignore[attr-defined]
                values: Fitness = returned.copy()  # type: ignore[attr-defined]  # the objective may use it again
                if np.count_nonzero(np.isfinite(values)) == len(values):
                    return Answers(values)
            elif kind in _NUMBERS and not self.vectorized and math.isfinite(returned):  # type: ignore[arg-type]
                return Answers(np.array([returned], dtype=np.float64))
        return judged(*self._read(returned, x), x, self.sign, self.shown)

    def _ask(self, function: Objective, who: str, x: Bits) -> object:
        """Call a function with a copy of candidates, shape (candidates, n), or of the only one."""
        given: NDArray[Any] = (x if self.vectorized else x[0]).astype(self.dtype)
        try:
            return function(given)
        except (ObjectiveError, KeyboardInterrupt):
            raise
        except (
            BaseException
        ) as error:  # SystemExit, the error that asyncio cancels with, a user's own: all are failures
            hint = (
                f"; it is called with {self.batch}, here of shape {x.shape} (for a function of one candidate, say "
                "vectorized=False, or --by-row)"
            )
            from daedal.settings.plugins import place_in_file  # a third of what a worker loads, for errors alone

            where = place_in_file(error)
            place = "" if where is None else f" ({os.path.basename(where)})"
            raise ObjectiveError(
                f"{who} raised {describe_error(error)}{place} for {self._named(x)}{hint if self.vectorized else ''}"
            ) from error

    def _named(self, x: Bits) -> str:
        return f"the candidate {self.shown(x[0])}" if len(x) == 1 else f"a batch of shape {x.shape}"

    def _with_candidates(self, error: ObjectiveError, x: Bits) -> str:
        """Return the text of an error with its candidates, which the errors of programs do not know."""
        text, named = str(error), self._named(x)
        return text if named in text else f"{text}; it was called for {named}"

    # ------------------------------------------------------------ what it returns

    def _read(self, returned: object, x: Bits) -> tuple[Fitness, Outputs | None]:
        """Return objective values and, with constraints, the same next to constraint values."""
        values, violations = self._split(returned)
        numbers = self._values(values, "the objective", len(x))
        if not self.constrained:
            return numbers, None
        outputs = [numbers[:, None]]
        if self.violations:
            outputs.append(self._violations(violations, len(x)))
        for index, constraint in enumerate(self.constraints):
            who = f"constraint {index + 1}"
            outputs.append(self._values(self._ask(constraint, who, x), who, len(x))[:, None])
        return numbers, np.concatenate(outputs, axis=1)

    def _split(self, returned: object) -> tuple[object, object]:
        """Return values and violations; refuse a tuple that was not announced, and anything but a pair if it was."""
        parts = returned if isinstance(returned, tuple) else ()
        if self.violations:
            if len(parts) == 2 and parts[1] is not None:
                return parts[0], parts[1]
            came = f"a tuple of {len(parts)}" if isinstance(returned, tuple) else type(returned).__name__
            raise ObjectiveMisuse(
                "expected a pair from the objective, the objective value and the violations, because of violations=True"
                f" (--violations), got {'None as violations' if len(parts) == 2 else came}"
            )
        if any(map(_is_sequence, parts)) if self.vectorized else len(parts) > 1:
            raise ObjectiveMisuse(
                f"the objective returned more than one number per candidate, in a tuple of {len(parts)}; return or "
                "print the objective value alone, or, if the others are violations of constraints, declare them with "
                "violations=True (--violations)"
            )
        return returned, None

    def _values(self, returned: object, who: str, rows: int) -> Fitness:
        """Read one number per candidate, shape (candidates,)."""
        values = _numbers(returned, who)
        if not self.vectorized and values.shape not in ((), (1,)):
            raise ObjectiveMisuse(f"expected one number for a candidate from {who}, got shape={values.shape}")
        if self.vectorized and values.shape != (rows,):
            raise ObjectiveMisuse(
                f"expected one number per candidate, shape ({rows},), from {who}, got shape={values.shape}; "
                "sum over axis=1, or say vectorized=False (--by-row) for a function of one candidate"
            )
        return values.reshape(rows)

    def _violations(self, returned: object, rows: int) -> Outputs:
        """Read the violations of a pair: one number per candidate, or several, shape (candidates, constraints)."""
        outputs = _numbers(returned, "the objective, as violations")
        if not self.vectorized and outputs.ndim <= 1 and outputs.size:
            return outputs.reshape(1, outputs.size)
        if self.vectorized and outputs.size and outputs.shape[:1] == (rows,) and outputs.ndim <= 2:
            return outputs if outputs.ndim == 2 else outputs[:, None]
        wanted = f"shape ({rows},) or ({rows}, constraints)" if self.vectorized else "one number per constraint"
        raise ObjectiveMisuse(
            f"expected {wanted} as violations, the second of the pair from the objective, got shape={outputs.shape}"
        )


def _is_sequence(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def _numbers(returned: object, who: str) -> Fitness:
    """Return what a function returned as an array of float64."""
    if returned is None:
        raise ObjectiveMisuse(f"expected numbers from {who}, got None; does it return its result?")
    try:
        return as_numbers(returned, source=f"from {who}")
    except ValueError as error:
        raise ObjectiveMisuse(str(error)) from error
