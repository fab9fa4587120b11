"""The sparse Walsh model: a function of bits as a sum over few sets of variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from daedal import kernels
from daedal.compilation import announce
from daedal.models.walsh_equations import MAX_ORDER, NOTHING, arrange
from daedal.models.walsh_fit import choose_pool, solve
from daedal.models.walsh_function import WalshFunction
from daedal.models.walsh_lasso import Solution
from daedal.settings.checks import as_numbers, check_between
from daedal.settings.parameters import check_types
from daedal.threads import one_blas_thread
from daedal.types import Bits, Fitness

MOST_EQUATIONS = 5000
"""Equations of which a fit takes a random part, unless told otherwise."""

FEWEST = 10
"""Equations without which nothing is learned."""

HELD_OUT = 5
"""One equation of so many is held out."""


@dataclass(frozen=True, kw_only=True)
class Walsh:
    """Hyperparameters of the sparse Walsh model.

    Every function of n bits is a sum f(x) = constant + sum of c_C chi_C(x) over all sets C of variables, where
    chi_C(x) = (-1)^(ones of x in C) (Walsh, 1923). Where only few sets of few variables have a coefficient, these
    can be learned from few values: which variables interact, and how much.

    The fit is a lasso over all single variables and pairs, its price of a coefficient chosen by the error of the rows
    held out, and then over larger sets of which all subsets but one have a coefficient, as long as the error falls.
    Last, sets that no subset points to are looked at. From enough rows, a function of few sets is found exactly, and r2
    is 1. See docs/models.md.

    Parameters
    ----------
    max_order
        Variables in a set at most, 1 to 5.
    max_rows
        Rows, or equations, of which the fit takes a random part if there are more.
    candidates
        Sets of each order above 2 that are looked at because of their subsets, at most.
    screened
        Sets of each order above 2 that are looked at whatever their subsets, at most, where something is left to
        explain: all of them, or those that contain one that has a coefficient. 0 makes the fit faster.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, (200, 10), dtype=np.uint8)
    >>> values = x[:, 0] * 3.0 + (x[:, 4] ^ x[:, 7])
    >>> f = Walsh().fit(x, values, rng=rng)
    >>> round(f.r2, 6), f.sets
    (1.0, [(0,), (4, 7)])
    >>> f.interactions()[0].variables
    (4, 7)
    >>> f.predict(f.maxima(1, rng=rng)).round(6)
    array([4.])
    """

    max_order: int = MAX_ORDER
    max_rows: int = MOST_EQUATIONS
    candidates: int = 2000
    screened: int = 20_000

    def __post_init__(self) -> None:
        check_types(self)
        check_between("max_order", self.max_order, 1, MAX_ORDER)
        check_between("max_rows", self.max_rows, FEWEST, 10**6)
        check_between("candidates", self.candidates, 0, 10**5)
        check_between("screened", self.screened, 0, 10**6)

    def prepare(self) -> None:
        """Compile or load the kernels, so that the clock of a run measures the run."""
        _load_kernels()

    def fit(self, x: Bits, values: Fitness, *, rng: np.random.Generator) -> WalshFunction:
        """Learn from rows x, shape (rows, n), and their values, shape (rows,); those that are not finite are left out.

        rng draws which rows are taken and which are held out.
        """
        x, values = _checked(x, values)
        with one_blas_thread():
            return self._fit(x, None, values, rng, None)

    def fit_differences(
        self,
        x: Bits,
        d: Bits,
        df: Fitness,
        *,
        rng: np.random.Generator,
        previous: WalshFunction | None = None,
    ) -> WalshFunction:
        """Learn from differences df = f(x xor d) - f(x), shape (equations,).

        x and d are of shape (equations, n). A set C stands in an equation where |C and d| is odd:
        df = -2 (sum of c_C chi_C(x) over these). The constant remains unknown, and is 0. `previous` is what was learned
        from part of the equations, and makes the fit faster.
        """
        x, df = _checked(x, df)
        d, _ = _checked(d, df)
        if d.shape != x.shape:
            raise ValueError(f"expected d of the shape of x, {x.shape}, got d.shape={d.shape}")
        return self._fit(x, d, df, rng, previous)

    def _fit(
        self, x: Bits, d: Bits | None, y: Fitness, rng: np.random.Generator, previous: WalshFunction | None
    ) -> WalshFunction:
        announce(kernels.lasso.descend)
        chosen = np.flatnonzero(np.isfinite(y) & (True if d is None else d.any(axis=1)))
        chosen = rng.permutation(chosen)[: self.max_rows]
        y = y[chosen]
        mean = float(y.mean()) if d is None and len(y) else 0.0
        y = y - mean
        nothing = WalshFunction(n=x.shape[1], constant=mean, terms=NOTHING, coefficients=np.empty(0), r2=0.0, price=0.0)
        held_out = len(y) // HELD_OUT
        scale = float(np.abs(y).mean()) if len(y) else 0.0
        if (
            len(y) < FEWEST
            or scale == 0
            or np.abs(y).max() <= 1e-12 * max(1.0, abs(mean))
            or not y[len(y) - held_out :].any()
        ):
            return nothing
        x, d = x[chosen], None if d is None else d[chosen]
        equations = arrange(x, d, y / scale, held_out, choose_pool(x, d, y, self.max_order))
        before = None
        if previous is not None and previous.n == x.shape[1] and len(previous.terms) and previous.price > 0:
            kept = previous.terms.orders <= self.max_order
            w = previous.coefficients[kept] * (-2.0 / scale)
            before = Solution(equations.columns(previous.terms[kept]), w, 1 - previous.r2, previous.price, 1.0)
        solution = solve(equations, self.max_order, self.candidates, self.screened, before)
        r2 = max(0.0, 1.0 - solution.error / equations.base)
        if not len(solution.sets) or r2 <= 0:
            return nothing
        # Equations of differences have w = -2 c; those of values have w = c.
        coefficients = solution.w * (scale if d is None else -0.5 * scale)
        constant = solution.sets.orders == 0
        return WalshFunction(
            n=x.shape[1],
            constant=mean + float(coefficients[constant].sum()),
            terms=solution.sets[~constant],
            coefficients=coefficients[~constant],
            r2=r2,
            price=solution.price,
        )


@cache
def _load_kernels() -> None:
    """Fit and maximise something small in which all kernels are used."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (300, 20), dtype=np.uint8)
    d = np.eye(20, dtype=np.uint8)[rng.integers(0, 20, 300)]
    signs = 1.0 - 2.0 * np.stack([x, x ^ d])
    # Pairs that lead to a larger set, a larger set that nothing leads to, and too much noise to be exact.
    first, second = (
        signs[:, :, 0] * signs[:, :, 1]
        + signs[:, :, 1] * signs[:, :, 2]
        + signs[:, :, :3].prod(axis=2)
        + 0.3 * signs[:, :, 5:8].prod(axis=2)
    )
    Walsh().fit_differences(x, d, second - first + 0.1 * rng.normal(size=300), rng=rng).maxima(1, rng=rng)


def _checked(x: Bits, values: Fitness) -> tuple[Bits, Fitness]:
    """Give rows as uint8 and values as float64; refuse what is neither, or does not fit together."""
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "iu" or (x.size and (x.min() < 0 or x.max() > 1)):
        raise ValueError(f"expected rows of 0 and 1, shape (rows, n), got shape={x.shape}, dtype={x.dtype}")
    values = as_numbers(values, source="as values")
    if values.shape != x.shape[:1]:
        raise ValueError(f"expected one value for each of {len(x)} rows, got values.shape={values.shape}")
    return np.ascontiguousarray(x, dtype=np.uint8), values
