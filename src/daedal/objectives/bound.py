"""An objective made ready for a run: how it is called, its size, its optimum, and the order of its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Caller, Objective
from daedal.rng import Stream, stream
from daedal.settings.checks import check_whole
from daedal.spaces.space import Space
from daedal.types import Amounts, Bits, Fitness

if TYPE_CHECKING:
    from daedal.problems.base import Problem

AnyObjective: TypeAlias = "Objective | Problem | str"
"""What can be optimised: a function, a problem, or the name of one ("hiff:n=64")."""


@dataclass(frozen=True)
class ConstrainedProblem:
    """A problem with a method `violations`, as a function that gives pairs."""

    problem: Problem

    def __call__(self, x: Bits) -> tuple[Fitness, Amounts]:
        """Give values, shape (rows,), and by how much constraints are violated, shape (rows, constraints)."""
        violations: Callable[[Bits], Amounts] = self.problem.violations  # type: ignore[attr-defined]
        return self.problem.evaluate(x.copy()), violations(x)


@dataclass(frozen=True, kw_only=True)
class BoundObjective:
    """What is optimised; how it is called: see `Caller`."""

    name: str
    function: Objective
    n: int
    vectorized: bool = True
    dtype: type[np.integer[Any]] = np.int64
    optimum: float | None = None
    order: NDArray[np.intp] | None = None  # where variable i stands in the optimizer's rows, shape (n,); None: at i
    spec: str | None = None  # the text that names a problem of daedal, and makes it again
    space: Space | None = None  # what the bits are codes of
    constraints: tuple[Objective, ...] = ()  # functions of the same rows

    def to_objective(self, x: Bits) -> Bits:
        """Put rows, shape (rows, n) or (n,), in the order of the objective's own variables."""
        return x.copy() if self.order is None else np.take(x, self.order, axis=-1)

    def to_optimizer(self, x: Bits) -> Bits:
        """Put rows that are in the objective's order into the optimizer's."""
        return x.copy() if self.order is None else np.take(x, np.argsort(self.order), axis=-1)

    def caller(self, sign: int) -> Caller:
        """Make what calls it; sign is -1 if smaller values are better."""
        if self.space is None:
            return Caller(
                self.function, vectorized=self.vectorized, sign=sign, dtype=self.dtype, constraints=self.constraints
            )
        from daedal.objectives.space_function import SpaceFunction

        function = SpaceFunction(self.function, self.space, self.vectorized)
        return Caller(
            function,
            vectorized=self.vectorized,
            sign=sign,
            dtype=np.uint8,
            constraints=tuple(SpaceFunction(one, self.space, self.vectorized) for one in self.constraints),
            shown=function.show,
            batch="a dict of columns, see Space.decode",
        )

    @property
    def constrained(self) -> bool:
        """Whether there are constraints for sure; a function may give violations beside its values, too."""
        return bool(self.constraints) or isinstance(self.function, ConstrainedProblem)

    @property
    def on_exit(self) -> Callable[[], None] | None:
        """What a worker process has to do before it ends."""
        ending: Callable[[], None] | None = getattr(self.function, "on_exit", None)
        return ending

    def close(self) -> None:
        """End a program that is kept running."""
        if self.on_exit is not None:
            self.function.close()  # type: ignore[attr-defined]


def objective_size(objective: AnyObjective, n: int | None, space: Space | None = None) -> int:
    """Give the number of bits; refuse what is no objective."""
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
    return check_whole("n", n, least=1, hint="give the number of variables")


def check_functions(constraints: object) -> tuple[Objective, ...]:
    """Give constraints, a sequence of functions, as a tuple; refuse anything else."""
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
) -> BoundObjective:
    """Make an objective ready."""
    functions = check_functions(tuple(constraints))
    size, name, spec, order = objective_size(objective, n, space), objective_name(objective), None, None
    if isinstance(objective, str):
        problem, spec = _named(objective), objective
        _as_function(problem)(np.zeros((1, size), dtype=np.uint8))  # loads its kernels before the clock starts
        order = np.argsort(stream(seed, Stream.SHUFFLE).permutation(size)) if shuffle else None
    elif _is_problem(objective):
        problem = objective
    else:
        assert callable(objective)
        return BoundObjective(
            name=name, function=objective, n=size, vectorized=vectorized, space=space, constraints=functions
        )
    return BoundObjective(
        name=name,
        function=_as_function(problem),
        n=size,
        dtype=np.uint8,
        optimum=None if functions else getattr(problem, "optimum", None),  # that of another problem
        order=order,
        spec=spec,
        constraints=functions,
    )


def _named(spec: str) -> Problem:
    from daedal.problems.registry import find_problem  # here, because a function needs none of all the problems

    return find_problem(spec)


def objective_name(objective: AnyObjective) -> str:
    """Say what to call an objective."""
    if isinstance(objective, str):
        return objective
    if _is_problem(objective):
        return repr(objective)
    return str(getattr(objective, "label", None) or getattr(objective, "__name__", type(objective).__name__))


def _as_function(problem: Problem) -> Objective:
    """Give what a run calls: it gives values, and violations beside them where the problem has any."""
    return ConstrainedProblem(problem) if hasattr(problem, "violations") else problem.evaluate


def _is_problem(objective: Objective | Problem) -> TypeGuard[Problem]:
    """Not by isinstance: Python 3.11 would compute a landscape's optimum for that."""
    return hasattr(objective, "evaluate") and hasattr(objective, "n")
