"""Functions of values by name, as functions of rows of bits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Objective
from daedal.objectives.program import Program
from daedal.spaces.space import Space
from daedal.types import Bits


@dataclass(frozen=True)
class SpaceFunction:
    """A function of values by name, as one of rows of bits.

    A function gets a dict of columns, see `Space.decode`; with vectorized=False, one plain dict, see `Space.value`. A
    program gets one JSON object a line.
    """

    function: Objective
    space: Space
    vectorized: bool = True

    def __call__(self, x: NDArray[Any]) -> Any:
        """Call the function with the values of rows, shape (rows, n), or, where it takes no batch, of one row."""
        rows = x.astype(np.uint8)
        if isinstance(self.function, Program):
            lines = [json.dumps(value) + "\n" for value in self.space.plain(np.atleast_2d(rows))]
            return self.function.answers("".join(lines).encode(), len(lines))
        given: Any = self.space.decode(rows) if self.vectorized else self.space.value(rows)
        return self.function(given)

    def show(self, row: Bits) -> str:
        """Write the values of a row, shape (n,), for messages."""
        return json.dumps(self.space.value(row), ensure_ascii=False)
