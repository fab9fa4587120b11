"""What a run knows of its constraints: how many there are, and its best row, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Answers, ObjectiveMisuse, check_constraints
from daedal.evaluation.merit import Standing, best_of
from daedal.types import Amounts, Bits, State, StateError


class Standings:
    """How many constraints there are, and the best row.

    Attributes
    ----------
    count
        Constraints of the objective; None as long as no row has an answer.
    certain
        Whether there are any for sure, before anything is called.
    best
        The best row of those committed; None without constraints.
    preloaded
        Whether values of rows were given, without amounts.
    """

    def __init__(self, sign: int, *, certain: bool) -> None:
        self.sign = sign
        self.certain = certain
        self.count: int | None = None
        self.best: Standing | None = None
        self.preloaded = False

    def hear(self, amounts: Amounts | None) -> None:
        """Take notice of how many there are, from rows that were known."""
        if amounts is not None and self.count is None:
            self.count = amounts.shape[1] - 1

    def check(self, answers: Answers) -> None:
        """Take notice of how many there are, and refuse another number later."""
        now = answers.constraints
        if now is None or now == self.count:
            return
        if now and self.preloaded:
            raise ObjectiveMisuse(
                "expected values alone from an objective with initial=(rows, values), got violations, too, which these "
                "rows lack; give initial=rows, and they are evaluated"
            )
        check_constraints(self.count, now)
        self.count = now

    def best_with(self, rows: Bits, amounts: Amounts | None, evaluations: int) -> Standing | None:
        """Give the best row of all, these included, shape (rows, n); of equal ones the first."""
        new = None if amounts is None else best_of(rows, amounts, self.sign, evaluations)
        if new is None or (self.best is not None and new.key(self.sign) <= self.best.key(self.sign)):
            return self.best
        return new

    def state(self, partial: Amounts | None) -> State:
        """Give all of it, with the amounts of answers that are not committed; nothing without constraints."""
        if not self.count:
            return State(arrays={}, fields={})
        arrays: dict[str, NDArray[Any]] = {} if partial is None else {"partial_amounts": partial.copy()}
        fields = {"constraints": self.count, "standing_evaluations": 0}
        if self.best is not None:
            arrays |= {"standing_row": self.best.x[None], "standing_amounts": self.best.amounts[None]}
            fields["standing_evaluations"] = self.best.evaluations
        return State(arrays=arrays, fields={**fields})

    def restore(self, state: State, n: int) -> Amounts | None:
        """Take what `state` gave, among other arrays; give the amounts of answers that are not committed."""
        self.count, self.best = None, None
        if not state.given("constraints"):
            return None
        self.count = state.whole("constraints")
        if "standing_row" in state.arrays:
            row, amounts = (
                state.bits("standing_row", n),
                _amounts(state, "standing_amounts", "standing_row", self.count),
            )
            if len(row) != 1:
                raise StateError(f"expected one best row, got {len(row)}")
            self.best = Standing(row[0], amounts[0], state.whole("standing_evaluations"))
        if "partial" not in state.arrays:
            return None
        return _amounts(state, "partial_amounts", "partial", self.count)


def _amounts(state: State, name: str, like: str, constraints: int) -> Amounts:
    """Give amounts, shape (rows, 1 + constraints), for each row of another array."""
    amounts, rows = state.array(name), len(state.array(like))
    if amounts.dtype != np.float64 or amounts.shape != (rows, 1 + constraints) or np.isnan(amounts).any():
        raise StateError(f"expected {name} of {constraints} constraints, got shape={amounts.shape}")
    return amounts
