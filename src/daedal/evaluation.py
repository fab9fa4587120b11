"""The one place where an objective is called: it counts, and checks what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.bits import Bits, Fitness, as_numbers, to_text
from daedal.cache import MemoryCache, distinct
from daedal.words import named

Objective: TypeAlias = Callable[[NDArray[Any]], Any]
"""A function of rows of 0/1, shape (rows, n), that gives one number a row; or of one row, that gives one number."""


class ObjectiveError(ValueError):
    """The objective raised, or gave something that is not one number a row."""


class Evaluator:
    """Calls an objective with batches of rows.

    Parameters
    ----------
    objective
        The function.
    vectorized
        Whether it takes a batch, shape (rows, n), or one row, shape (n,), at a time.
    sign
        1 where larger is better, -1 where smaller is: the fitness that comes out is always maximised.
    dtype
        Of the rows that the objective gets. A user's function gets int64, so that `2 * x - 1` or `x[:, 0] - x[:, 1]`
        mean what they say; in uint8, 0 - 1 would be 255.
    deduplicate
        Whether a row that comes again has the value that it had before, without a call.

    Attributes
    ----------
    evaluations, carried_out
        Rows asked for, and rows that the objective was called with.

    Examples
    --------
    >>> import numpy as np
    >>> Evaluator(lambda x: x.sum(axis=1))(np.array([[1, 0], [1, 1]], dtype=np.uint8))
    array([1., 2.])
    """

    def __init__(
        self,
        objective: Objective,
        *,
        vectorized: bool = True,
        sign: int = 1,
        dtype: type[np.integer[Any]] = np.int64,
        deduplicate: bool = False,
    ) -> None:
        self.objective = objective
        self.vectorized = vectorized
        self.sign = sign
        self.dtype = dtype
        self.deduplicate = deduplicate
        self._cache: MemoryCache | None = None
        self.evaluations = 0
        self.carried_out = 0

    def __call__(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), to be maximised, of the rows of x, shape (rows, n)."""
        values = self._with_cache(x) if self.deduplicate else self._carry_out(x)
        self.evaluations += len(x)
        return values

    def _with_cache(self, x: Bits) -> Fitness:
        """Call the objective with those rows alone that it has not seen, each once."""
        if self._cache is None:
            self._cache = MemoryCache(x.shape[1])
        values, known = self._cache.find(x)
        if not known.all():
            asked = x[~known]
            first, inverse = distinct(asked)
            found = self._carry_out(asked[first])
            self._cache.add(asked[first], found)
            values[~known] = found[inverse]
        return values

    def _carry_out(self, x: Bits) -> Fitness:
        """Call the objective."""
        rows = x.astype(self.dtype)  # a copy: whatever the objective does to it stays there
        values = self._batch(rows) if self.vectorized else np.array([self._one(row) for row in rows])
        self._check(values, x)
        self.carried_out += len(x)
        return self.sign * values

    def _batch(self, rows: NDArray[Any]) -> Fitness:
        try:
            returned = self.objective(rows)
        except (Exception, SystemExit) as error:
            raise ObjectiveError(
                f"the objective raised {named(error)} for a batch of shape {rows.shape}; it is called with an array "
                "of 0/1 rows (for a function of one row, say vectorized=False, or --by-row)"
            ) from error
        values = _numbers(returned)
        if values.shape != (len(rows),):
            raise ObjectiveError(
                f"expected one number a row, shape ({len(rows)},), from the objective, got shape={values.shape}; "
                "sum over axis=1, or say vectorized=False (--by-row) for a function of one row"
            )
        return values

    def _one(self, row: NDArray[Any]) -> float:
        try:
            returned = self.objective(row)
        except (Exception, SystemExit) as error:
            raise ObjectiveError(f"the objective raised {named(error)} for the row {to_text(row)}") from error
        value = _numbers(returned)
        if value.shape not in ((), (1,)):
            raise ObjectiveError(f"expected one number for a row from the objective, got shape={value.shape}")
        return float(value.reshape(()))

    def _check(self, values: Fitness, x: Bits) -> None:
        """Refuse nan, and infinity on the good side: nothing could ever be better."""
        bad = np.flatnonzero(np.isnan(values) | (values == self.sign * np.inf))
        if len(bad):
            infeasible = "-inf" if self.sign > 0 else "inf"
            raise ObjectiveError(
                f"expected finite numbers from the objective, got {values[bad[0]]:g} for {len(bad)} of {len(x)} rows, "
                f"the first being {to_text(x[bad[0]])}; use {infeasible} for what is infeasible"
            )


def _numbers(returned: object) -> Fitness:
    """Turn what an objective returned into an array of float64."""
    if returned is None:
        raise ObjectiveError("expected numbers from the objective, got None; does it return its result?")
    try:
        return as_numbers(returned, source="from the objective")
    except ValueError as error:
        raise ObjectiveError(str(error)) from error
