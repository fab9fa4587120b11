"""Everything that a run is made of, and the run itself."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits, meets
from daedal.objectives.bound import BoundObjective
from daedal.optimizers.presets import Algorithm
from daedal.result import Result
from daedal.run.checkpoint import Checkpointer
from daedal.run.loop import Callback, Ending, Run
from daedal.settings.parameters import plain
from daedal.storage.checkpoint_file import CheckpointError
from daedal.types import Bits, Json, State, as_numbers, check_bits

Initial: TypeAlias = "NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]"
"""Rows to begin with, shape (rows, n); or rows and their values, which are then not evaluated again."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that a run is made of."""

    task: BoundObjective
    sign: int
    algorithm: Algorithm
    popsize: int | None
    seed: int
    limits: Limits
    means: EvaluationOptions
    shuffle: bool

    @property
    def optimum(self) -> float | None:
        """The known optimum, which is the largest value."""
        return self.task.optimum if self.sign > 0 else None

    @property
    def goal(self) -> float | None:
        """The value to reach, as the user has it."""
        return self.limits.target if self.limits.target is not None else self.optimum

    def run(
        self,
        state: State | None,
        *,
        initial: Initial | None,
        keeper: Checkpointer | None,
        progress: bool,
        callback: Callback | None,
    ) -> Result:
        """Run from the beginning, or from a state."""
        rows, values = _initial(initial, self.task)
        optimizer = self.algorithm.optimizer(
            n=self.task.n,
            popsize=self.popsize,
            seed=self.seed,
            limits=dataclasses.replace(self.limits, target=None if self.goal is None else self.sign * self.goal),
            initial=rows,
        )
        with ExitStack() as closing:
            evaluator = self.means.evaluator(self.task, sign=self.sign, closing=closing)
            if rows is not None and values is not None:
                evaluator.preload(rows, values)
            run = Run(
                optimizer,
                evaluator,
                sign=self.sign,
                limits=self.limits,
                description=self.described(optimizer.popsize),
                keeper=keeper,
                callback=callback,
            )
            if state is not None:
                _restore(run, state)
            title = f"{self.algorithm.name} on {self.task.name}, popsize {optimizer.popsize}, seed {self.seed}"
            ending = run.go(progress=title if progress else None, goal=self.goal)
        return self.result(ending, evaluator, optimizer.popsize)

    def result(self, ending: Ending, evaluator: Evaluator, popsize: int) -> Result:
        """Report in the objective's own signs and order."""
        best, goal = ending.best, self.goal
        return Result(
            x=self.task.to_objective(best.x),
            fitness=self.sign * best.fitness,
            success=None if goal is None else meets(best.fitness, self.sign * goal),
            stop=ending.stop,
            evaluations=evaluator.evaluations,
            evaluations_to_best=best.evaluations,
            carried_out=evaluator.carried_out,
            cached=evaluator.cached,
            failed=evaluator.failed,
            failures=tuple(evaluator.failures),
            generations=ending.history[-1].generation if ending.history else 0,
            seconds=ending.seconds,
            cpu_seconds=ending.cpu_seconds,
            cpu_seconds_to_best=ending.cpu_seconds_to_best,
            history=ending.history,
            algorithm=self.algorithm.name,
            settings=self.algorithm.settings(),
            popsize=popsize,
            seed=self.seed,
            optimum=self.optimum,
        )

    def described(self, popsize: int) -> dict[str, Json]:
        """Say in plain values what the run is, for a checkpoint."""
        return {
            "objective": self.task.name,
            "spec": self.task.spec,
            "n": int(self.task.n),
            "vectorized": bool(self.task.vectorized),
            "shuffle": bool(self.shuffle),
            "minimise": self.sign < 0,
            "algorithm": self.algorithm.name,
            "model": type(self.algorithm.model).__name__,
            "settings": {name: plain(value) for name, value in self.algorithm.settings().items()},
            "popsize": popsize,
            "seed": self.seed,
            "limits": {name: plain(value) for name, value in dataclasses.asdict(self.limits).items()},
            "means": self.means.as_json(),
        }


def _restore(run: Run, state: State) -> None:
    try:
        run.restore(state)
    except CheckpointError:
        raise
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise CheckpointError(f"the checkpoint does not fit its own run: {error}") from error


def _initial(initial: Initial | None, task: BoundObjective) -> tuple[Bits | None, NDArray[np.float64] | None]:
    """Give the rows to begin with, in the optimizer's order, and their values if they are known."""
    if initial is None:
        return None, None
    given, values = initial if isinstance(initial, tuple) else (initial, None)
    array = np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "iub" or not np.isin(array, (0, 1)).all():
        raise ValueError(
            f"expected initial rows of 0 and 1, shape (rows, {task.n}), got shape={array.shape}, dtype={array.dtype}"
        )
    rows = np.ascontiguousarray(array, dtype=np.uint8)
    check_bits(rows, task.n)
    if values is None:
        return task.to_optimizer(rows), None
    numbers = as_numbers(values, source="as values of the initial rows")
    if numbers.shape != (len(rows),):
        raise ValueError(f"expected {len(rows)} values for {len(rows)} initial rows, got shape={numbers.shape}")
    if np.isnan(numbers).any():
        first = int(np.isnan(numbers).argmax())
        raise ValueError(f"expected a number as the value of each initial row, got nan for the {first + 1}. row")
    return task.to_optimizer(rows), numbers
