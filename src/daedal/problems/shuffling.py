"""A problem with its variables in another order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from daedal.problems.base import Problem, keep_array
from daedal.types import Bits, Fitness, check_bits


@dataclass(frozen=True, eq=False)
class Shuffled:
    """A problem with its variables in another order, so that no algorithm gains from which variables are neighbors.

    Parameters
    ----------
    problem
        The problem in its own order.
    order
        Integers, shape (n,): variable j of the shuffled problem is variable order[j] of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> from daedal.problems import Trap
    >>> mixed = Shuffled(Trap(k=2, n=4), np.array([0, 2, 1, 3]))
    >>> mixed.evaluate(from_text("1010")[None])
    array([3.])
    >>> mixed.restore(from_text("1010"))
    array([1, 1, 0, 0], dtype=uint8)
    """

    problem: Problem
    order: NDArray[np.int64]

    def __post_init__(self) -> None:
        order = keep_array(self, "order", (self.problem.n,), whole=True)
        if not np.array_equal(np.sort(order), np.arange(len(order))):
            raise ValueError(f"order must hold each of 0..{len(order) - 1} once; got {order.tolist()}")

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.problem.n

    @property
    def optimum(self) -> float | None:
        """Largest fitness: that of the problem."""
        return self.problem.optimum

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Where variable i of the problem stands in the shuffled one, shape (n,)."""
        return np.argsort(self.order)

    def restore(self, x: Bits) -> Bits:
        """Put rows, shape (rows, n) or (n,), back in the problem's own order."""
        if x.ndim != 1:
            check_bits(x, self.n)
        elif len(x) != self.n:
            raise ValueError(f"expected a row of {self.n} bits, got shape={x.shape}")
        return np.take(x, self._places, axis=-1)

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        check_bits(x, self.n)
        return self.problem.evaluate(self.restore(x))


def shuffled(problem: Problem, *, rng: np.random.Generator) -> Shuffled:
    """Put the variables of a problem in a random order.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.problems import HIFF
    >>> shuffled(HIFF(n=8), rng=np.random.default_rng(1)).optimum
    32.0
    """
    return Shuffled(problem, rng.permutation(problem.n))
