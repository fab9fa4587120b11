"""Ask and tell: the engine for loops of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.rng import check_seed
from daedal.run.initial import Initial
from daedal.searches.presets import AnyAlgorithm, find_algorithm
from daedal.settings.checks import as_numbers, check_whole
from daedal.settings.parameters import Setting
from daedal.spaces.space import Variables, flags, holds_values, read_values, read_variables
from daedal.spaces.variables import Value
from daedal.types import Bits, check_bits

Candidates: TypeAlias = "Bits | list[dict[str, Value]]"
"""Rows of bits, shape (candidates, n), or, with a space or names, a dict of values by name for each."""


class Optimizer:
    """Any algorithm with ask and tell, for your own loop.

    Parameters
    ----------
    n
        The number of bits, their names, or a `Space`.
    algorithm
        As for `maximize`.
    seed
        Same seed, same candidates for the same values. Default: drawn.
    max_evaluations
        How many values will be told in all, for algorithms that plan ahead; it ends nothing. Default: unknown.
    minimize
        If True, smaller values are better.
    initial
        Candidates to begin with, as for `maximize`.
    **settings
        Settings of the algorithm.

    Attributes
    ----------
    seed
        The seed, also if it was drawn.

    Examples
    --------
    >>> import daedal
    >>> optimizer = daedal.Optimizer(20, seed=1)
    >>> while (candidates := optimizer.ask(4)) is not None and optimizer.fitness < 20:
    ...     optimizer.tell(candidates, candidates.sum(axis=1))
    >>> optimizer.fitness
    20.0
    """

    def __init__(
        self,
        n: Variables,
        *,
        algorithm: AnyAlgorithm = "auto",
        seed: int | None = None,
        max_evaluations: int | None = None,
        minimize: bool = False,
        initial: Initial | None = None,
        **settings: Setting,
    ) -> None:
        bits, self._space, names = read_variables(n)
        if names is not None:
            self._space = flags(names)
        size = self._space.n if self._space is not None else check_whole("n", bits, least=1)
        self.seed = check_seed(seed)
        self._sign = -1.0 if minimize else 1.0
        chosen = find_algorithm(algorithm).with_settings(settings).resolved(size, max_evaluations=max_evaluations)
        limits = chosen.with_limits(Limits(max_evaluations=max_evaluations), has_goal=True)
        encoding = None if self._space is None else self._space.encoding
        self._engine = Engine(size, seed=self.seed, encoding=encoding)
        self._engine.left = self._most = max_evaluations
        if initial is not None:
            self._engine.initial = self._rows(initial)
        self._start: Callable[[], Search] | None = partial(chosen.configuration.search, self._engine, limits)
        self._asked: list[int] = []  # asked for by the search, and not handed out yet

    @property
    def n(self) -> int:
        """Number of bits."""
        return self._engine.n

    @property
    def evaluations(self) -> int:
        """Number of different candidates that have a value."""
        return len(self._engine.archive)

    @property
    def fitness(self) -> float:
        """The best value so far; the worst there is before the first."""
        return float(self._sign * self._engine.best_value)

    @property
    def x(self) -> Bits | None:
        """The bits of the best candidate so far, shape (n,); None before the first value."""
        best = self._engine.best
        return None if best is None else to_rows([best], self.n)[0]

    @property
    def best(self) -> dict[str, Value] | None:
        """The values of the best candidate so far by name; None without names, or before the first value."""
        x = self.x
        return None if x is None or self._space is None else self._space.value(x)

    def ask(self, count: int | None = None) -> Any:
        """Return candidates to evaluate: at most `count`, or all that the search waits for.

        It can be called again before any value is told. Then fewer candidates may come, or none (an empty array or
        list), because the search waits for values.

        Returns
        -------
        ndarray or list or None
            Rows of bits, shape (candidates, n), or dicts of values by name; None if the search has ended.
        """
        if count is not None:
            check_whole("count", count, least=1)
        if self._start is not None:  # not before, because Python warns of coroutines that are never awaited
            self._engine.start(self._start())
            self._start = None
        self._asked += self._engine.ask()
        if not self._asked and self._engine.is_over:
            return None
        count = len(self._asked) if count is None else count
        handed_out, self._asked = self._asked[:count], self._asked[count:]
        rows = to_rows(handed_out, self.n) if handed_out else np.empty((0, self.n), np.uint8)
        return rows if self._space is None else self._space.plain(rows)

    def tell(
        self,
        candidates: NDArray[Any] | Mapping[str, object] | Sequence[Mapping[str, object]],
        values: NDArray[Any] | Sequence[float] | float,
    ) -> None:
        """Take the values of any candidates, in any order, also of some that were never asked for."""
        rows = self._rows(candidates)
        numbers = np.atleast_1d(as_numbers(values))
        if numbers.shape != (len(rows),):
            raise ValueError(f"{len(rows)} candidates need {len(rows)} values; got shape={numbers.shape}")
        worth = self._sign * numbers
        if np.isnan(worth).any() or (worth == np.inf).any():
            bad = "-inf" if self._sign > 0 else "inf"
            raise ValueError(f"the values {numbers} contain NaN or infinity; use {bad} for an infeasible candidate")
        told = to_candidates(rows)
        self._engine.tell(told, worth.tolist())
        known = set(told)
        self._asked = [c for c in self._asked if c not in known]
        if self._most is not None:
            self._engine.left = max(0, self._most - self.evaluations)

    def _rows(self, given: Any) -> Bits:
        """Return candidates as the user has them as rows of bits."""
        if self._space is not None and holds_values(given):
            return read_values(given, self._space)[0]
        array = np.atleast_2d(np.asarray(given))
        if array.dtype.kind not in "iub" or array.ndim != 2 or not np.isin(array, (0, 1)).all():
            raise ValueError(
                f"candidates must be rows of 0 and 1, shape (candidates, {self.n}); got shape={array.shape}, "
                f"dtype={array.dtype}"
            )
        rows = np.ascontiguousarray(array, dtype=np.uint8)
        check_bits(rows, self.n)
        return self._engine.repaired_rows(rows)
