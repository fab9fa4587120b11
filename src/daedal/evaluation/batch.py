"""A batch under way: which of its rows are new, and the answers that came for them so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Places
from daedal.evaluation.failures import Failure
from daedal.evaluation.memory_cache import Lookup
from daedal.types import Amounts, Bits, Fitness

Recorder: TypeAlias = Callable[[Bits, Fitness], None]
"""Is told what the objective was called for: rows in the objective's own order, and their values in its own sign."""

_NONE = np.empty(0, np.intp)


class Batch:
    """A batch under way: rows x, shape (rows, n), in the optimizer's order, which are not to change meanwhile."""

    def __init__(self, x: Bits, lookup: Lookup) -> None:
        self.x = x
        self.lookup = lookup
        self.new = x if len(lookup.first) == len(x) else x[lookup.first]  # each once, shape (new rows, n)
        self.values = lookup.values[lookup.first]  # shape (new rows,); nan where none has come, or will
        self.amounts: Amounts | None = None  # with constraints, shape (new rows, 1 + constraints)
        self.answered = 0  # new rows that the objective gave a value for
        self.failed = _NONE  # new rows that it failed for, for good
        self.failures: list[Failure] = []
        self._parts: list[Places] = []  # new rows, in the order in which their answers came

    @property
    def known(self) -> int:
        """How many rows need no evaluation: because of another batch, or of an equal row in this one."""
        return len(self.x) - len(self.new)

    def note(self, places: Places, values: Fitness, amounts: Amounts | None = None) -> None:
        """Take values, and amounts, of some of the new rows."""
        self.values[places] = values
        if amounts is not None:
            if self.amounts is None:
                self.amounts = np.full((len(self.new), amounts.shape[1]), np.nan)
            self.amounts[places] = amounts
        self.answered += len(values)
        self._parts.append(places)

    def fail(self, places: NDArray[np.intp], value: float, failures: list[Failure]) -> None:
        """Take notice that some of the new rows have failed for good: they have this value from now on."""
        self.values[places] = value
        self.failed, self.failures = places, failures

    def all_values(self) -> Fitness:
        """Give the values of all rows, shape (rows,), as far as they are known or have come."""
        lookup = self.lookup
        if self.new is self.x:
            return self.values
        if not len(self.new):
            return lookup.values
        return np.where(lookup.new_index < 0, lookup.values, self.values[lookup.new_index])

    def all_amounts(self) -> Amounts | None:
        """Give the amounts of all rows, shape (rows, 1 + constraints), nan where this run has had them before.

        None without constraints, and where nothing is known of them.
        """
        found, came, index = self.lookup.amounts, self.amounts, self.lookup.new_index
        if came is None or self.new is self.x:
            return found if came is None else came
        mine = np.where(index[:, None] < 0, np.nan, came[index])
        return mine if found is None else np.where(index[:, None] < 0, found, mine)

    def answered_places(self) -> Places:
        """Give which of the new rows were answered, in the order in which the answers came."""
        if len(self._parts) == 1:
            return self._parts[0]
        everything = np.arange(len(self.new))
        return np.concatenate([_NONE, *(everything[part] for part in self._parts)])

    def answered_rows(self) -> AnsweredRows:
        """Give the same with their values."""
        places = self.answered_places()
        amounts = None if self.amounts is None else self.amounts[places]
        return AnsweredRows(self.new[places], self.values[places], amounts)

    def best(self, sign: int) -> tuple[Bits, float] | None:
        """Give the best row that is known or was answered, and its fitness; of equal ones the first to be known."""
        is_known, came = self.lookup.new_index < 0, self.answered_rows()
        rows = np.concatenate([self.x[is_known], came.rows])
        return AnsweredRows(rows, np.concatenate([self.lookup.values[is_known], came.values])).best(sign)


@dataclass(frozen=True)
class AnsweredRows:
    """Rows, shape (rows, n), with the values that came for them, shape (rows,), and, with constraints, the amounts.

    Without deduplication a row may have been answered more than once.
    """

    rows: Bits
    values: Fitness
    amounts: Amounts | None = None

    def hold(self, x: Bits) -> NDArray[np.bool_]:
        """Whether each row of x, shape (some, n), is one of these."""
        rows = {row.tobytes() for row in self.rows}
        return np.array([row.tobytes() in rows for row in x], dtype=np.bool_)

    def joined(self, others: AnsweredRows) -> AnsweredRows:
        """Give these, and others behind them."""
        amounts = None
        if self.amounts is not None and others.amounts is not None:
            amounts = np.concatenate([self.amounts, others.amounts])
        rows, values = np.concatenate([self.rows, others.rows]), np.concatenate([self.values, others.values])
        return AnsweredRows(rows, values, amounts)

    def find(self, x: Bits) -> NDArray[np.intp]:
        """Give which of these the rows of x, shape (some, n), are, -1 where none is; each is given once."""
        waiting: dict[bytes, deque[int]] = {}
        for index, row in enumerate(self.rows):
            waiting.setdefault(row.tobytes(), deque()).append(index)
        queues = [waiting.get(row.tobytes()) for row in x]
        return np.array([queue.popleft() if queue else -1 for queue in queues], dtype=np.intp)

    def best(self, sign: int) -> tuple[Bits, float] | None:
        """Give the first of the best rows, and its fitness; sign is 1 where larger is better, -1 where smaller is."""
        if not len(self.rows):
            return None
        i = int(np.argmax(sign * self.values))
        return self.rows[i].copy(), float(sign * self.values[i])
