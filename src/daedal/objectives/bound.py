"""An objective made ready for a run: how it is called, its size, its optimum, and the order of its variables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Caller, Objective
from daedal.rng import Stream, stream
from daedal.settings.checks import check_whole
from daedal.spaces.space import Space
from daedal.types import Bits, Fitness, Outputs

if TYPE_CHECKING:
    from daedal.problems.base import Problem

AnyObjective: TypeAlias = "Objective | Problem | str"
"""Anything that can be optimized: a function, a problem, or the name of a problem ("hiff:n=64")."""


@dataclass(frozen=True)
class ConstrainedProblem:
    """A problem with a method `violations`, as a function that returns pairs."""

    problem: Problem

    def __call__(self, x: Bits) -> tuple[Fitness, Outputs]:
        """Return values, shape (candidates,), and violations, shape (candidates, constraints)."""
        violations: Callable[[Bits], Outputs] = self.problem.violations  # type: ignore[attr-defined]
        return self.problem.evaluate(x.copy()), violations(x)


@dataclass(frozen=True)
class SpaceFunction:
    """A function of values by name, as one of bits.

    A function gets a dict of columns, see `Space.decode`, or, with vectorized=False, one plain dict, see `Space.value`.
    A program gets one JSON object per line.
    """

    function: Objective
    space: Space
    vectorized: bool = True

    def __call__(self, x: NDArray[Any]) -> Any:
        """Call the function with the values of candidates, shape (candidates, n), or of one."""
        rows = x.astype(np.uint8)
        if hasattr(self.function, "answers"):  # a `Program`
            lines = [json.dumps(value) + "\n" for value in self.space.plain(np.atleast_2d(rows))]
            return self.function.answers("".join(lines).encode(), len(lines))
        given: Any = self.space.decode(rows) if self.vectorized else self.space.value(rows)
        return self.function(given)

    def show(self, row: Bits) -> str:
        """Return the values of a candidate, shape (n,), as text for messages."""
        return json.dumps(self.space.value(row), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class BoundObjective:
    """An objective that is ready for a run."""

    name: str  # in messages and results
    n: int  # number of bits
    call: Caller  # as if larger values were better
    optimum: float | None = None  # if it is known
    order: NDArray[np.intp] | None = None  # where variable i is in the optimizer's candidates; None if it is at i
    spec: str | None = None  # text that names a problem of daedal
    space: Space | None = None  # whose values the bits encode

    def to_objective(self, x: Bits) -> Bits:
        """Return candidates, shape (candidates, n) or (n,), in the order of the objective's own variables."""
        return x.copy() if self.order is None else np.take(x, self.order, axis=-1)

    def to_optimizer(self, x: Bits) -> Bits:
        """Return candidates that are in the objective's order in the optimizer's."""
        return x.copy() if self.order is None else np.take(x, np.argsort(self.order), axis=-1)

    def close(self) -> None:
        """End a program that is kept running."""
        function = self.call.objective
        if isinstance(function, SpaceFunction):
            function = function.function
        if hasattr(function, "answers") and hasattr(function, "close"):  # a `Program`
            function.close()


def objective_size(objective: AnyObjective, n: int | None, space: Space | None = None) -> int:
    """Return the number of bits of an objective; refuse other things."""
    found = _named(objective) if isinstance(objective, str) else objective
    if not isinstance(found, type) and _is_problem(found):
        if space is not None:
            raise ValueError(
                f"a space is for a function or a program, but {objective_name(found)} has variables of its own"
            )
        if n is not None and n != found.n:
            raise ValueError(f"the problem has n={found.n} variables, got n={n}; leave n out")
        return found.n
    if not callable(found) or isinstance(found, type):
        came = f"{type(found).__name__}: {found!r}"
        raise TypeError(f"expected a function, a problem or its name as objective, got {came}")
    if space is not None:
        return space.n
    if n is None:
        raise ValueError("a function needs n, the number of its variables, as in maximize(f, n=60), or a space")
    return check_whole("n", n, least=1, hint="pass the number of variables")


def check_functions(constraints: object) -> tuple[Objective, ...]:
    """Return constraints, a sequence of functions, as a tuple; refuse other things."""
    if constraints is None:
        return ()
    listed = tuple(constraints) if isinstance(constraints, list | tuple) else None
    if listed is None or not all(callable(one) and not isinstance(one, type) for one in listed):
        raise TypeError(f"expected a list of functions as constraints, as in constraints=[g], got {constraints!r:.80}")
    return listed


def bind(
    objective: AnyObjective,
    n: int | None,
    *,
    seed: int,
    space: Space | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
    constraints: Sequence[Objective] = (),
    violations: bool = False,
) -> BoundObjective:
    """Return an objective made ready for a run; for the parameters see `maximize`."""
    size, name, functions = objective_size(objective, n, space), objective_name(objective), tuple(constraints)
    if not isinstance(objective, str) and not _is_problem(objective):
        assert callable(objective)
        call = Caller(objective, vectorized=vectorized, constraints=functions, violations=violations)
        return BoundObjective(name=name, n=size, call=call if space is None else _of_values(call, space), space=space)
    problem = _named(objective) if isinstance(objective, str) else objective
    spec = objective if isinstance(objective, str) else None
    has_violations = hasattr(problem, "violations")
    if violations and not has_violations:
        raise ValueError(f"violations=True (--violations) is for functions and programs; {name} has no violations")
    function: Objective = ConstrainedProblem(problem) if has_violations else problem.evaluate
    if spec is not None:
        function(np.zeros((1, size), dtype=np.uint8))  # loads its kernels before the clock starts
    is_shuffled = spec is not None and shuffle
    return BoundObjective(
        name=name,
        n=size,
        call=Caller(function, dtype=np.uint8, constraints=functions, violations=has_violations),
        optimum=None if functions else getattr(problem, "optimum", None),  # constraints may exclude it
        order=np.argsort(stream(seed, Stream.SHUFFLE).permutation(size)) if is_shuffled else None,
        spec=spec,
    )


def _of_values(call: Caller, space: Space) -> Caller:
    """Return the way to call functions of values, see `SpaceFunction`."""
    function = SpaceFunction(call.objective, space, call.vectorized)
    return replace(
        call,
        objective=function,
        dtype=np.uint8,
        shown=function.show,
        batch="a dict of columns, see Space.decode",
        constraints=tuple(SpaceFunction(one, space, call.vectorized) for one in call.constraints),
    )


def objective_name(objective: AnyObjective) -> str:
    """Return the name of an objective for messages and results."""
    if isinstance(objective, str):
        return objective
    if _is_problem(objective):
        return repr(objective)
    return str(getattr(objective, "label", None) or getattr(objective, "__name__", type(objective).__name__))


def _named(spec: str) -> Problem:
    from daedal.problems.registry import find_problem  # here, because a function needs none of the problems

    return find_problem(spec)


def _is_problem(objective: Objective | Problem) -> TypeGuard[Problem]:
    # Not by isinstance, for which Python 3.11 would compute a landscape's optimum.
    return hasattr(objective, "evaluate") and hasattr(objective, "n")
