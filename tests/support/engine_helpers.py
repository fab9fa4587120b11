"""Runs of an engine by hand: in batches, or with values that arrive in any order."""

from __future__ import annotations

from collections.abc import Callable

from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.types import Bits, Fitness


def run_in_batches(engine: Engine, objective: Callable[[Bits], Fitness], most: int = 10_000) -> list[list[int]]:
    """Evaluate all that is asked for at once, for at most so many batches; return the batches."""
    batches = []
    while len(batches) < most and (batch := engine.ask()):
        batches.append(batch)
        engine.tell(batch, objective(to_rows(batch, engine.n)).tolist())
    return batches
