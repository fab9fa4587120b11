"""What is told of the best solution where a run dies: in the error itself, as the objective has it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import config

import daedal
from daedal import ObjectiveError
from daedal.evaluation.caller import ObjectiveMisuse
from daedal.run.checkpoint import Checkpointer
from daedal.types import to_text

RUN: dict[str, Any] = {"n": 12, "algorithm": "umda", "popsize": 20, "seed": 3}


class Scores:
    """Counts ones, keeps what it was asked for, and gives up with its last call."""

    def __init__(self, last: int, ending: Callable[[], object]) -> None:
        self.last, self.ending = last, ending
        self.seen: dict[str, float] = {}

    def __call__(self, row: np.ndarray) -> Any:
        if len(self.seen) == self.last:
            return self.ending()
        self.seen[to_text(row)] = float(row.sum())
        return row.sum()


def down() -> None:
    raise RuntimeError("down")


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("last", [7, 20, 31], ids=["first batch", "between batches", "later batch"])
@pytest.mark.parametrize(("ending", "kind"), [(down, ObjectiveError), (lambda: None, ObjectiveMisuse)])
def test_an_error_of_the_objective_has_the_best_so_far(
    ending: Callable[[], object], kind: type[ObjectiveError], last: int, minimize: bool
) -> None:
    scores = Scores(last, ending)
    with pytest.raises(kind) as caught:
        daedal.maximize(scores, vectorized=False, minimize=minimize, **RUN)
    best = caught.value.best
    assert best is not None
    assert best.fitness == (min if minimize else max)(scores.seen.values())
    assert scores.seen[to_text(best.x)] == best.fitness
    assert to_text(best.x) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_before_the_first_value_there_is_none() -> None:
    with pytest.raises(ObjectiveError) as caught:
        daedal.maximize(Scores(0, down), vectorized=False, **RUN)
    assert caught.value.best is None


def test_rows_of_a_shuffled_problem_are_in_its_own_order() -> None:
    def stop(record: daedal.Generation) -> None:
        raise LookupError("the callback's own words")

    with pytest.raises(LookupError) as caught:
        daedal.maximize("trap:k=4,n=12", callback=stop, **RUN | {"n": None})
    best = caught.value.best  # type: ignore[attr-defined]
    assert daedal.problems.Trap(k=4, n=12).evaluate(best.x[None])[0] == best.fitness
    assert str(caught.value) == "the callback's own words"
    assert to_text(best.x) in caught.value.__notes__[0]


@pytest.mark.parametrize("on_disk", [False, True])
def test_it_travels_with_the_error(on_disk: bool, tmp_path: Path) -> None:
    """From process to process, also where the disk is full besides."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    checkpointer = Checkpointer(tmp_path / "run.ckpt", write=full)
    with pytest.raises(OSError if on_disk else ObjectiveError, match="the best so far") as caught:
        config(Scores(10**9 if on_disk else 7, down), vectorized=False, max_generations=1, **RUN).run(
            checkpointer=checkpointer
        )
    error = caught.value
    came = pickle.loads(pickle.dumps(error))
    assert type(came) is type(error)
    assert str(came) == str(error)
    assert str(error).count("the best so far") == 1
    assert "No space left" in str(error)
    assert came.best.fitness == error.best.fitness  # type: ignore[attr-defined]
    assert came.best.x.tolist() == error.best.x.tolist()  # type: ignore[attr-defined]


# Nothing feasible


@pytest.mark.parametrize("minimize", [False, True])
@pytest.mark.parametrize("algorithm", ["auto", "ils", "mix", "umda"])
def test_where_every_value_is_the_worst_nothing_feasible_was_found(algorithm: str, minimize: bool) -> None:
    worst = np.inf if minimize else -np.inf
    how: dict[str, Any] = {"n": 12, "algorithm": algorithm, "seed": 1, "max_evaluations": 60, "minimize": minimize}
    none = daedal.maximize(lambda x: np.full(len(x), worst), **how)
    assert (none.feasible, none.fitness) == (False, worst)
    assert "feasible=False" in repr(none)
    some = daedal.maximize(lambda x: np.where(x[:, 0] == 1, 5.0, worst), **how)
    assert (some.feasible, some.fitness) == (True, 5.0)
    assert "feasible" not in repr(some)


def test_rows_that_failed_are_not_feasible_either() -> None:
    calls = iter(range(10**9))

    def fails(row: np.ndarray) -> float:
        if next(calls):
            raise RuntimeError("down")
        return -np.inf

    result = daedal.maximize(fails, vectorized=False, on_error="worst", max_evaluations=40, **RUN)
    assert (result.feasible, result.failed, result.fitness) == (False, 39, -np.inf)
