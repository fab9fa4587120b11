"""One run: ask, evaluate, tell, until something says stop; kept on the way."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from daedal.evaluation import memory_cache as cache
from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.evaluator import Evaluator, OutOfTime
from daedal.evaluation.signals import interrupts_held
from daedal.limits import Limits, StopReason
from daedal.optimizers.base import Best, Generation
from daedal.optimizers.eda import EDA
from daedal.run.checkpoint import Checkpointer, history_of, history_state, joined, taken
from daedal.types import Json, State, to_text

Callback: TypeAlias = Callable[[Generation], object]
"""Called after each generation; returns True to stop the run."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ended: its best solution (in the optimizer's order and sign), why, its records, and its times."""

    best: Best
    stop: StopReason
    history: tuple[Generation, ...]
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float


class Run:
    """A run under way.

    Parameters
    ----------
    optimizer, evaluator
        Who asks, and who answers.
    sign
        1 where larger is better, -1 where smaller is: records have the objective's own sign.
    limits
        Of which the time is watched here; the optimizer sees to the others.
    description
        What a checkpoint has to say beside, so that the run can be made again.
    keeper
        Who writes checkpoints.
    """

    def __init__(
        self,
        optimizer: EDA,
        evaluator: Evaluator,
        *,
        sign: int,
        limits: Limits,
        description: dict[str, Json],
        keeper: Checkpointer | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.evaluator = evaluator
        self.sign = sign
        self.limits = limits
        self.description = description
        self.keeper = keeper
        self.callback = callback
        self.history: list[Generation] = []
        self.stop: StopReason | None = None
        self._seconds_before = 0.0  # of the run that this one goes on with
        self._cpu_before = 0.0
        self._started = time.monotonic()
        self._cpu_started = time.process_time()

    @property
    def seconds(self) -> float:
        """Time on the clock since the run began, all its parts together."""
        return self._seconds_before + time.monotonic() - self._started

    @property
    def cpu_seconds(self) -> float:
        """CPU time of this process, and of the processes of the parts before."""
        return self._cpu_before + time.process_time() - self._cpu_started

    def state(self) -> State:
        """Give where the run stands: the last whole generation, and what was evaluated since."""
        own: dict[str, Json] = {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds}
        parts = {"optimizer": self.optimizer.state(), "evaluator": self.evaluator.state()}
        parts |= {"history": history_state(self.history), "run": State(arrays={}, fields=own)}
        return joined({**parts, "description": State(arrays={}, fields=self.description)})

    def restore(self, state: State) -> None:
        """Go on where a run stood."""
        own, optimizer, evaluator = (taken(state, name) for name in ("run", "optimizer", "evaluator"))
        self._seconds_before, self._cpu_before = own.seconds("seconds"), own.seconds("cpu_seconds")
        self.optimizer.restore(optimizer)
        self.evaluator.restore(evaluator, self.optimizer.n)
        self.history = history_of(taken(state, "history"))
        generations, evaluations = optimizer.whole("generation"), optimizer.whole("evaluations")
        answered = sum(evaluator.whole(name) for name in ("carried_out", "cached", "failed"))
        recorded = self.history[-1].evaluations if self.history else 0
        if len(self.history) != generations or not evaluations == answered == recorded:
            raise ValueError(
                f"expected the records of {generations} generations and {evaluations} evaluations, got "
                f"{len(self.history)} records of {recorded} evaluations, and {answered} answers"
            )

    def go(self, *, progress: str | None = None, goal: float | None = None) -> Ending:
        """Run to the end; progress is the title of what is shown on the way, if anything."""
        self.optimizer.model.prepare()
        cache.prepare()
        self._started, self._cpu_started = time.monotonic(), time.process_time()
        if self.limits.max_seconds is not None:
            self.evaluator.deadline = self._started + self.limits.max_seconds - self._seconds_before
        self.evaluator.listener = self._listen
        from daedal.cli.live_table import LiveTable

        with (
            LiveTable(progress, goal=goal) if progress is not None else nullcontext() as table,
            self.evaluator,
        ):
            self._loop(table)
        return self._ending()

    def _loop(self, table: Any | None) -> None:
        try:
            if self.optimizer.stop is None and self._is_time_up() and self._has_best():
                raise OutOfTime  # it was up before this run went on
            while self.stop is None and self.optimizer.stop is None:
                self._generation(table)
            self.stop = self.stop or self.optimizer.stop
        except OutOfTime:
            self.stop = StopReason.SECONDS
        except KeyboardInterrupt:
            if not self._has_best():
                raise  # nothing was evaluated yet
            self.stop = StopReason.INTERRUPTED
        except ObjectiveError as error:
            try:
                self._keep()
            except OSError as lost:  # both have to be known
                raise ObjectiveError(f"{error}; besides, {lost}") from error
            raise
        self._keep()

    def _generation(self, table: Any | None) -> None:
        optimizer = self.optimizer
        fitness = self.evaluator.answer(optimizer.ask())
        with interrupts_held():  # so that a checkpoint never finds the one done without the others
            self.evaluator.commit()
            optimizer.tell(fitness)
            assert optimizer.last is not None
            record = dataclasses.replace(
                optimizer.last,
                best=self.sign * optimizer.last.best,
                mean=self.sign * optimizer.last.mean,
                cpu_seconds=self.cpu_seconds,
            )
            self.history.append(record)
        if table is not None:
            table.update(record)
        if self.callback is not None and _is_true(self.callback(record)):
            self.stop = optimizer.stop or StopReason.CALLBACK
        elif self._is_time_up():
            self.stop = optimizer.stop or StopReason.SECONDS
        if self.keeper is not None and self.keeper.is_due(record.generation):
            self._keep()

    def _is_time_up(self) -> bool:
        return self.limits.max_seconds is not None and self.seconds >= self.limits.max_seconds

    def _has_best(self) -> bool:
        return self.optimizer.best is not None or self.evaluator.best is not None

    def _listen(self) -> None:
        """Keep what came in the middle of a generation."""
        if self.keeper is not None and self.keeper.is_due(None):
            self._keep()

    def _keep(self) -> None:
        if self.keeper is None:
            return
        try:
            self.keeper.keep(self.state())
        except OSError as error:
            if not self._has_best():
                raise
            best, _ = self._best()
            x = best.x if self.evaluator.order is None else best.x[self.evaluator.order]
            told = type(error)(f"{error}; the best so far has fitness {self.sign * best.fitness:g}: {to_text(x)}")
            told.errno = error.errno
            raise told from error

    def _ending(self) -> Ending:
        assert self.stop is not None
        best, to_best = self._best()
        return Ending(
            best=best,
            stop=self.stop,
            history=tuple(self.history),
            seconds=self.seconds,
            cpu_seconds=self.cpu_seconds,
            cpu_seconds_to_best=to_best,
        )

    def _best(self) -> tuple[Best, float]:
        """Give the best solution, of a generation or of one that was broken off, and the CPU time until then."""
        best, latest = self.optimizer.best, self.evaluator.best
        if latest is not None and (best is None or latest[1] > best.fitness):
            x, fitness = latest
            found = Best(x=x, fitness=fitness, generation=len(self.history), evaluations=self.evaluator.evaluations)
            return found, self.cpu_seconds
        assert best is not None
        return best, self.history[best.generation].cpu_seconds


def _is_true(answer: object) -> bool:
    """Whether the answer is True itself, or NumPy's; anything else that is not empty does not count."""
    return isinstance(answer, bool | np.bool_) and bool(answer)
