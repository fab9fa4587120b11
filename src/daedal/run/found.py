"""What a run has found so far, for whoever reads its checkpoint without going on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daedal.types import Json, State

if TYPE_CHECKING:
    from daedal.run.loop import Run


def found_state(run: Run) -> State:
    """Give the best solution in the optimizer's order, how it stands with constraints, and why the run has ended."""
    best, standing, order = run.found(), run.evaluator.standing(), run.evaluator.order
    arrays: dict[str, NDArray[Any]] = {} if order is None else {"order": order.astype(np.int64)}
    stop = run.stop or run.optimizer.stop
    fields: dict[str, Json] = {
        "stop": None if stop is None else stop.value,
        "explanation": str(getattr(run.optimizer, "explanation", "")),
        "best": None,
    }
    popsize = getattr(run.optimizer, "popsize", None)
    if isinstance(popsize, int):
        fields["popsize"] = popsize
    if best is not None:
        arrays["x"] = run.repaired(best.x)
        fields["best"] = best.to_json()
    if standing is not None:
        fields |= {"violation": standing.violation, "violations": list(standing.violations)}
    return State(arrays=arrays, fields=fields)
