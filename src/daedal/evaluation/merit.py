"""How two solutions compare where there are constraints: feasible ones first, then less violation, then fitness.

A merit says the same with one number, which optimizers maximise and caches keep. That of a feasible row is its value.
That of another one is -1e250 times its violation, in which the last bits of the mantissa hold the order by fitness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.types import Amounts, Bits, Fitness

LARGEST = 1e200
"""Values of feasible rows are smaller: what is beyond stands for rows that are not."""

_SCALE = 1e250
_LEAST, _MOST = 1e-49, 1e50  # violations that are told apart
_FITNESS_BITS = 28  # of a mantissa of 52: the other 24, and the one in front of them, are the violation's
_STEPS = 2.0**_FITNESS_BITS - 1
_MASK = np.uint64(2**_FITNESS_BITS - 1)
_WIDEST = 711.0  # asinh of the largest float


def total_violation(amounts: Amounts) -> Fitness:
    """Give the sum of the positive amounts of each row, shape (rows,), of amounts, shape (rows, 1 + constraints).

    It is infinite where the value is: that says infeasible, and not by how much.
    """
    with np.errstate(over="ignore"):
        totals: Fitness = np.maximum(amounts[:, 1:], 0.0).sum(axis=1)
    return np.where(np.isinf(amounts[:, 0]), np.inf, totals)


def merits(amounts: Amounts, sign: int) -> Fitness:
    """Give the merits, shape (rows,), of values and amounts, shape (rows, 1 + constraints), in the values' own sign.

    Parameters
    ----------
    amounts
        What the objective and its constraints gave; nan in a row that has no answer.
    sign
        1 where larger values are better, -1 where smaller are.
    """
    values, totals = sign * amounts[:, 0], total_violation(amounts)
    fine = ~(totals > 0)  # nan is nan
    return sign * np.where(fine, values, _infeasible(values, totals))


def _infeasible(values: Fitness, totals: Fitness) -> Fitness:
    """Give the merits of rows that violate something; values are to be maximised."""
    magnitude = (_SCALE * np.clip(totals, _LEAST, _MOST)).view(np.uint64)
    known = np.where(np.isfinite(values), values, 0.0)
    worse = np.rint(0.5 * (1.0 - np.arcsinh(known) / _WIDEST) * _STEPS).astype(np.uint64)
    merit = -((magnitude & ~_MASK) | worse).view(np.float64)
    return np.where(np.isinf(values), values, merit)


@dataclass(frozen=True, eq=False)
class Standing:
    """The best row of a run with constraints, exactly.

    Attributes
    ----------
    x
        The row, shape (n,), in the optimizer's order.
    amounts
        Its value, as the objective gave it, and the amounts of its constraints, shape (1 + constraints,).
    evaluations
        Evaluations of the run up to the batch that had it.
    """

    x: Bits
    amounts: Amounts
    evaluations: int

    @property
    def violation(self) -> float:
        """By how much constraints are violated, in sum."""
        return float(total_violation(self.amounts[None])[0])

    @property
    def violations(self) -> tuple[float, ...]:
        """By how much each one is."""
        return tuple(np.maximum(self.amounts[1:], 0.0).tolist())

    def key(self, sign: int) -> tuple[float, float]:
        """Give what is the larger the better: violation first, then value."""
        return -self.violation, sign * float(self.amounts[0])


def best_of(x: Bits, amounts: Amounts, sign: int, evaluations: int) -> Standing | None:
    """Give the first of the best rows of x, shape (rows, n), with an answer; None where there is none."""
    known: NDArray[np.intp] = np.flatnonzero(~np.isnan(amounts[:, 0]))
    if not len(known):
        return None
    totals, values = total_violation(amounts[known]), sign * amounts[known, 0]
    least = np.flatnonzero(totals == totals.min())
    i = int(known[least[int(np.argmax(values[least]))]])
    return Standing(x[i].copy(), amounts[i].copy(), evaluations)
