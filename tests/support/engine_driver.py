"""A driver for tests of one search: it plays the run, and keeps what the objective saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from daedal.archive import to_rows
from daedal.engine import Engine, Search
from daedal.limits import meets
from daedal.types import Bits, Fitness

Outputs = Callable[[Bits], Sequence[Sequence[float]]]


@dataclass
class Driven:
    """What a search did."""

    f: Engine
    asked: list[list[int]] = field(default_factory=list)  # candidates by batch
    answers: list[tuple[int, float, float | None, int, bool]] = field(default_factory=list)
    reached: bool = False

    @property
    def evaluations(self) -> int:
        return sum(map(len, self.asked))


def drive(
    search: Callable[[Engine], Search],
    objective: Callable[[Bits], Fitness],
    *,
    n: int,
    most: int | None = None,
    seed: int = 1,
    target: float | None = None,
    width: int = 1,
    alone: bool = False,
    outputs: Outputs | None = None,
    budgets: Sequence[int] = (),
    watch: Callable[[Driven], None] = lambda driven: None,
) -> Driven:
    """Run a search in batches, or, if `alone`, tell one value at a time in an order of its own.

    `budgets` are larger ones that follow when `most` is spent, and `watch` is called after each batch.
    """
    f = Engine(n, seed=seed)
    driven, limits, rng = Driven(f), [*budgets], np.random.default_rng(seed)
    f.target, f.width, f.left = target, width, most

    def on_answer(candidate: int, mean: float, error: float | None, measurements: int) -> None:
        driven.answers.append((candidate, mean, error, measurements, f.is_measured))
        reached = target is not None and measurements > 1 and f.is_measured and meets(mean, target)
        driven.reached = driven.reached or reached

    f.on_answer = on_answer
    f.start(search(f))
    while not driven.reached:
        spent = driven.evaluations
        if most is not None and spent >= most:
            if not limits:
                break
            most = limits.pop(0)
        f.left = None if most is None else most - spent
        batch = f.ask()[: None if most is None else most - spent]
        if not batch:
            break
        rows = to_rows(batch, n)
        values, extra = objective(rows).tolist(), None if outputs is None else outputs(rows)
        driven.asked.append(batch)
        if alone:
            for i in rng.permutation(len(batch)).tolist():
                f.tell([batch[i]], [values[i]])
        else:
            f.tell(batch, values, extra)
        if not f.by_means and target is not None and meets(f.best_value, target):
            driven.reached = True
        watch(driven)
    f.close()
    return driven
