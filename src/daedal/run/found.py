"""What a run has found so far, for whoever reads its checkpoint without going on with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daedal.limits import StopReason
from daedal.optimizers.records import Best
from daedal.types import Json, State, StateError

if TYPE_CHECKING:
    from daedal.run.loop import Run


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundSoFar:
    """What a run has found.

    Attributes
    ----------
    best
        The best solution, in the optimizer's order and sign; None before there is any.
    order
        Where each variable of the objective stands in the optimizer's rows, shape (n,); None: at its own place.
    stop
        Why the run has ended; None where it has not.
    explanation
        What the algorithm chose to do.
    popsize
        The population size, where there is one: the last of several.
    violation, violations
        By how much constraints are violated, in sum and each.
    """

    best: Best | None
    order: NDArray[np.intp] | None
    stop: StopReason | None
    explanation: str
    popsize: int | None
    violation: float
    violations: tuple[float, ...]


def found_state(run: Run) -> State:
    """Give what a run has found, for its checkpoint."""
    best, standing, order = run.found(), run.evaluator.standing(), run.evaluator.order
    arrays: dict[str, NDArray[Any]] = {} if order is None else {"order": order.astype(np.int64)}
    stop, popsize = run.stop or run.optimizer.stop, getattr(run.optimizer, "popsize", None)
    fields: dict[str, Json] = {
        "stop": None if stop is None else stop.value,
        "explanation": str(getattr(run.optimizer, "explanation", "")),
        "popsize": popsize if isinstance(popsize, int) else None,
        "best": None,
        "violation": 0.0 if standing is None else standing.violation,
        "violations": [] if standing is None else list(standing.violations),
    }
    if best is not None:
        arrays["x"] = run.repaired(best.x)
        fields["best"] = best.to_json()
    return State(arrays=arrays, fields=fields)


def read_found(state: State, n: int) -> FoundSoFar:
    """Read what `found_state` gave, of a run of n variables; refuse anything else."""
    order = state.wholes("order", shape=(n,), least=0, most=n - 1) if "order" in state.arrays else None
    if order is not None and len(np.unique(order)) != n:
        raise StateError("expected an order of the variables, got some of them twice")
    violations = state.listed("violations")
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in violations):
        raise StateError("expected numbers as violations, got something else")
    if state.given("best") != ("x" in state.arrays):
        raise StateError("expected the best solution with its bits, got one without the other")
    return FoundSoFar(
        best=Best.from_json(state.row("x", n), state.inner("best")) if state.given("best") else None,
        order=None if order is None else order.astype(np.intp),
        stop=StopReason(state.text("stop")) if state.given("stop") else None,
        explanation=state.text("explanation"),
        popsize=state.whole("popsize") if state.given("popsize") else None,
        violation=state.number("violation"),
        violations=tuple(float(one) for one in violations),  # type: ignore[arg-type]
    )


def check_found(state: State, run: Run) -> None:
    """Refuse what does not belong to a run: it is not used to go on, but would be shown."""
    found, order = read_found(state, run.evaluator.n), run.evaluator.order
    same = found.order is None if order is None else found.order is not None and bool((found.order == order).all())
    if not same or (found.best is None) != (run.found() is None):
        raise StateError("expected what this run has found, got that of another")
