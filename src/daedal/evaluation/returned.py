"""What functions return, read as numbers: values, pairs of values and violations, amounts of constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedal.evaluation.answers import ObjectiveMisuse
from daedal.settings.checks import as_numbers
from daedal.types import Amounts, Fitness


def split(returned: object, vectorized: bool) -> tuple[object, object | None]:
    """Take a pair of values and violations apart; None for the violations where it is none.

    Two plain numbers for a batch are the values of two rows, as in any other sequence.
    """
    if not isinstance(returned, tuple) or len(returned) != 2:
        return returned, None
    if vectorized and np.ndim(returned[0]) == 0:
        return returned, None
    if returned[1] is None:
        raise ObjectiveMisuse("expected violations, the second of the pair from the objective, got None")
    return returned[0], returned[1]


def read_values(returned: object, who: str, rows: int, vectorized: bool) -> Fitness:
    """Read one number for each row, shape (rows,)."""
    values = _numbers(returned, who)
    if not vectorized and values.shape not in ((), (1,)):
        raise ObjectiveMisuse(f"expected one number for a row from {who}, got shape={values.shape}")
    if vectorized and values.shape != (rows,):
        raise ObjectiveMisuse(
            f"expected one number per row, shape ({rows},), from {who}, got shape={values.shape}; "
            "sum over axis=1, or say vectorized=False (--by-row) for a function of one row"
        )
    return values.reshape(rows)


def read_amounts(returned: object, rows: int, vectorized: bool) -> Amounts:
    """Read the violations of a pair: one number for each row, or several, shape (rows, constraints)."""
    amounts = _numbers(returned, "the objective, as violations")
    if not vectorized and amounts.ndim <= 1:
        return amounts.reshape(1, amounts.size)
    if vectorized and amounts.shape[:1] == (rows,) and amounts.ndim <= 2:
        return amounts if amounts.ndim == 2 else amounts[:, None]
    wanted = f"shape ({rows},) or ({rows}, constraints)" if vectorized else "one number, or one for each constraint"
    raise ObjectiveMisuse(
        f"expected {wanted}, as violations, the second of the pair from the objective, got shape={amounts.shape}"
    )


def joined(values: Fitness, amounts: Sequence[Amounts]) -> Amounts | None:
    """Put values and all amounts side by side, shape (rows, 1 + constraints); None where there is no constraint."""
    table = np.concatenate([values[:, None], *amounts], axis=1)
    return None if table.shape[1] == 1 else table


def _numbers(returned: object, who: str) -> Fitness:
    """Turn what a function returned into an array of float64."""
    if returned is None:
        raise ObjectiveMisuse(f"expected numbers from {who}, got None; does it return its result?")
    try:
        return as_numbers(returned, source=f"from {who}")
    except ValueError as error:
        raise ObjectiveMisuse(str(error)) from error
