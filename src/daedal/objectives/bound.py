"""An objective made ready: how it is called, its size, its optimum, and the order of its variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Objective
from daedal.optimizers.eda import choose_popsize
from daedal.problems import Problem, shuffled
from daedal.problems.registry import canonical_problem, find_problem, problem_file
from daedal.rng import Stream, stream
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class BoundObjective:
    """What is optimised.

    Attributes
    ----------
    name
        What the user calls it.
    objective, vectorized, dtype
        How it is called: see `Caller`.
    n, optimum
        Number of variables, and the largest value where it is known.
    places
        Where variable i of the objective stands in the optimizer's rows, shape (n,); None: at i.
    spec
        The text that names a problem of daedal, and makes it again; None for anything else.
    """

    name: str
    objective: Objective
    n: int
    vectorized: bool = True
    dtype: type[np.integer[Any]] = np.int64
    optimum: float | None = None
    places: NDArray[np.intp] | None = None
    spec: str | None = None

    def to_objective(self, x: Bits) -> Bits:
        """Put rows, shape (rows, n) or (n,), in the order of the objective's own variables."""
        return x.copy() if self.places is None else np.take(x, self.places, axis=-1)

    def to_optimizer(self, x: Bits) -> Bits:
        """Put rows that are in the objective's order into the optimizer's."""
        return x.copy() if self.places is None else np.take(x, np.argsort(self.places), axis=-1)

    def cache_name(self) -> str | None:
        """Give the name that values can be kept under, where it says all: that of a problem without a file."""
        if self.spec is None or problem_file(self.spec)[1] is not None:
            return None
        return canonical_problem(self.spec)


def bind(
    objective: Objective | Problem | str,
    n: int | None,
    *,
    seed: int,
    popsize: int | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
) -> BoundObjective:
    """Make an objective ready.

    Examples
    --------
    >>> bind("hiff:n=64", None, seed=1).optimum
    448.0
    """
    if isinstance(objective, str):
        problem = find_problem(objective)
        _check_n(n, problem.n)
        choose_popsize(popsize, problem.n)  # refuses an n that no memory holds, before its order is drawn
        problem.evaluate(np.zeros((1, problem.n), dtype=np.uint8))  # loads its kernel before the clock starts
        places = None
        if shuffle:
            places = np.argsort(shuffled(problem, rng=stream(seed, Stream.SHUFFLE)).order)
        return _of_problem(problem, objective, places=places, spec=objective)
    if not isinstance(objective, type) and _is_problem(objective):
        _check_n(n, objective.n)
        return _of_problem(objective, repr(objective))
    if not callable(objective) or isinstance(objective, type):
        raise TypeError(
            f"expected a function, a problem or its name as objective, got {type(objective).__name__}: {objective!r}"
        )
    if n is None:
        raise ValueError("expected n, the number of variables, beside a function, as in maximize(f, n=60)")
    return BoundObjective(name=_name(objective), objective=objective, n=n, vectorized=vectorized)


def _of_problem(
    problem: Problem, name: str, *, places: NDArray[np.intp] | None = None, spec: str | None = None
) -> BoundObjective:
    return BoundObjective(
        name=name,
        objective=problem.evaluate,
        n=problem.n,
        dtype=np.uint8,
        optimum=getattr(problem, "optimum", None),
        places=places,
        spec=spec,
    )


def _name(objective: Callable[..., object]) -> str:
    return str(getattr(objective, "label", None) or getattr(objective, "__name__", type(objective).__name__))


def _is_problem(objective: Objective | Problem) -> TypeGuard[Problem]:
    """Not by isinstance: Python 3.11 would compute a landscape's optimum for that."""
    return hasattr(objective, "evaluate") and hasattr(objective, "n")


def _check_n(n: int | None, own: int) -> None:
    if n is not None and n != own:
        raise ValueError(f"expected n={own}, which the problem has, or no n, got n={n}")
