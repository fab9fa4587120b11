"""One run: ask, evaluate, tell, until something says stop; kept on the way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from contextlib import ExitStack, nullcontext

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.failures import BestSoFar, OutOfTime
from daedal.evaluation.signals import Interrupts
from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer, Optimizer, is_fresh
from daedal.optimizers.contest import Contest
from daedal.optimizers.history import history_state, restored_history
from daedal.optimizers.records import Best, Generation
from daedal.run.best_so_far import with_best
from daedal.run.checkpoint import Checkpointer
from daedal.run.clock import Clock
from daedal.run.found import check_found, found_state
from daedal.run.noise import NOISY_CONSTRAINTS
from daedal.run.outcome import Callback, Display, Outcome, asks_to_stop, own_record
from daedal.run.tracer import Tracer
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Json, State, StateError, check_bits

IDLE_BATCHES, IDLE_ROWS = 20, 10_000
"""How many batches in a row, and rows in them, may be known already before a run with a budget is over: by then the
optimizer goes round in circles, and would spend nothing for ever."""


class Run:
    """A run under way: an optimizer that asks, an evaluator that answers, and who else is told.

    Of the limits the time and the calls of the objective are watched here, whoever wrote the optimizer: a batch that
    the evaluations do not suffice for is cut to the rows that they do suffice for. `config` is what else a checkpoint
    has to hold; `to_objective` puts a row into the order of the objective's own variables. `encoding` says what
    bits are codes of, where they are. Records have the objective's own sign.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        evaluator: Evaluator,
        *,
        sign: int = 1,
        limits: Limits,
        config: State,
        to_objective: Callable[[Bits], Bits] = lambda x: x,
        encoding: Encoding | None = None,
        checkpointer: Checkpointer | None = None,
        callback: Callback | None = None,
        interrupts: Interrupts | None = None,
    ) -> None:
        self.optimizer = optimizer
        self.evaluator = evaluator
        self.sign = sign
        self.limits = limits
        self.config = config
        self.to_objective = to_objective
        self.encoding = encoding
        self.checkpointer = checkpointer
        self.callback = callback
        if isinstance(optimizer, BaseOptimizer):
            optimizer.metered = True
            optimizer.encode(encoding)
        self.history: list[Generation] = []
        self.stop: StopReason | None = None
        self.clock = Clock()
        self.tracer = Tracer(evaluator.n)
        self.has_begun = False  # and all is prepared
        self._idle_batches = 0  # in a row, of known rows alone
        self._idle_rows = 0  # in these
        self._interrupts = Interrupts() if interrupts is None else interrupts
        self._controls = self._interrupts if interrupts is None else nullcontext()  # what is given is entered already

    @property
    def generation(self) -> int:
        """The last generation that is complete; 0 before there is any."""
        return self.history[-1].generation if self.history else 0

    def state(self) -> State:
        """Give where the run stands: the last whole batch, and what was evaluated since."""
        own: dict[str, Json] = {"idle_batches": self._idle_batches, "idle_rows": self._idle_rows}
        return State.join(
            {
                "run": State(arrays={}, fields={**self.clock.state(), **own}),
                "found": found_state(self),
                "trace": self.tracer.state(self.generation, self.optimizer),
                "optimizer": self.optimizer.state(),
                "evaluator": self.evaluator.state(),
                "history": history_state(self.history),
                "config": self.config,
            }
        )

    def restore(self, state: State) -> None:
        """Go on where a run stood."""
        own = state.part("run")
        self.clock.restore(own)
        self.tracer.restore(state.part("trace"))
        self._idle_batches, self._idle_rows = own.whole("idle_batches"), own.whole("idle_rows")
        self.optimizer.restore(state.part("optimizer"))
        counts = state.part("evaluator")
        self.evaluator.restore(counts)
        self.history = restored_history(state.part("history"))
        check_found(state.part("found"), self)
        told, answered = self.optimizer.evaluations, sum(map(counts.whole, ("evaluated", "cached", "failed")))
        recorded = self.history[-1].evaluations if self.history else 0
        calls = self.optimizer.calls if isinstance(self.optimizer, BaseOptimizer) else self.evaluator.calls
        if told != answered or recorded > told or calls != self.evaluator.calls:
            raise StateError(
                f"expected as many answers as evaluations, got {answered} answers, {told} evaluations of the optimizer "
                f"and {recorded} in its records, with {calls} calls of {self.evaluator.calls}"
            )

    def go(self, display: Display | None = None, around: ExitStack | None = None) -> Outcome:
        """Run to the end; what is around it, such as the display, is closed when the result is there."""
        if self.optimizer.stop is None:
            self.optimizer.prepare()
            self.evaluator.prepare()
        self.clock.start()
        self.has_begun = True
        if self.limits.max_seconds is not None:
            self.evaluator.deadline = self.clock.deadline(self.limits.max_seconds)
        self.evaluator.listener = self._keep_if_due
        with self.evaluator, self._controls:
            try:
                self._loop(display)
            except Exception as error:
                told = with_best(error, self._best_so_far())
                if told is error:
                    raise
                raise told from error
            self._close(around)
        return self._outcome()

    def _close(self, around: ExitStack | None) -> None:
        """End the workers and the display; who asks to end from now on has waited for the result, and gets it."""
        came = self._interrupts.keep()
        self.evaluator.close()
        if around is not None:
            around.close()
        if came:
            self.stop = StopReason.INTERRUPTED

    def _loop(self, display: Display | None) -> None:
        try:
            if self.optimizer.stop is None and self._is_time_up() and self.found() is not None:
                raise OutOfTime  # it was up before this run went on
            self.stop = self._exhausted()
            while self.stop is None and self.optimizer.stop is None:
                record = self._batch()
                if record is not None:
                    self._report(record, display)
                self.stop = self.stop or self.optimizer.stop or self._exhausted()
                if self._is_time_up():
                    self.stop = self.stop or StopReason.SECONDS
                self._keep_if_due(None if record is None else record.generation)
            self.stop = self.stop or self.optimizer.stop
        except OutOfTime:
            self.stop = StopReason.SECONDS
        except KeyboardInterrupt:
            if self.found() is None:
                raise  # nothing was evaluated yet
            self.stop = StopReason.INTERRUPTED
        except ObjectiveError as error:
            try:
                self._keep()
            except OSError as lost:  # both have to be known
                raise ObjectiveError(f"{error}; besides, {lost}") from error
            raise
        self._keep()

    def _exhausted(self) -> StopReason | None:
        """Say whether the evaluations are used up, or will never be because all rows that come are known."""
        most = self.limits.max_evaluations
        if most is None or self.optimizer.stop is not None:
            return None
        if self.evaluator.calls >= most:
            return StopReason.EVALUATIONS
        idle = self._idle_batches >= IDLE_BATCHES and self._idle_rows >= IDLE_ROWS
        return StopReason.CONVERGED if idle else None

    def _batch(self) -> Generation | None:
        """Ask, evaluate, tell; give the record of a generation that is complete, in the objective's own sign."""
        optimizer, most = self.optimizer, self.limits.max_evaluations
        rows, calls = self._rows(), self.evaluator.calls
        left = None if most is None else most - calls
        with self.clock.evaluating():
            fitness = self.evaluator.evaluate(rows, most=left, fresh=is_fresh(optimizer))
        if isinstance(optimizer, Contest) and self.evaluator.standing() is not None:
            raise ValueError(NOISY_CONSTRAINTS)
        if len(fitness) < len(rows) and not isinstance(optimizer, BaseOptimizer):
            self.stop = StopReason.EVALUATIONS  # its answers are not committed, as where the time is up
            return None
        with self._interrupts.hold():  # so that a checkpoint never finds the one done without the others
            before, amounts = self._leader(), self.evaluator.amounts()
            self.evaluator.commit()
            calls = self.evaluator.calls - calls
            self._idle_batches = 0 if calls else self._idle_batches + 1
            self._idle_rows = 0 if calls else self._idle_rows + len(rows)
            if isinstance(optimizer, BaseOptimizer):
                optimizer.settle(len(fitness), calls=calls, amounts=amounts)
            record = optimizer.tell(fitness)
            self.tracer.hear(rows[: len(fitness)], fitness)
            if self._leader() is not before:
                self.clock.cpu_seconds_to_best = self.clock.cpu_seconds
            if record is None:
                return None
            self.tracer.look(record.generation, optimizer)
            record = own_record(record, optimizer, self.evaluator, self.clock)
            self.history.append(record)
        return record

    def _leader(self) -> object:
        """Give what is another object when there is a better solution: with constraints, the evaluator knows it."""
        return self.evaluator.leader if self.evaluator.constraints else self.optimizer.best

    def _rows(self) -> Bits:
        """Ask for rows; whoever wrote the optimizer learns here what is wrong with them."""
        rows = self.optimizer.ask()
        try:
            check_bits(rows, self.evaluator.n)
            if len(rows) == 0 or rows.max() > 1:
                raise ValueError(f"expected rows of 0 and 1, got {f'a {rows.max()}' if len(rows) else 'none'}")
        except ValueError as error:
            kind = type(self.optimizer)
            method = "propose" if getattr(kind, "ask", None) is BaseOptimizer.ask else "ask"
            raise ValueError(f"{kind.__name__}.{method}(): {error}") from None
        if self.encoding is not None and not isinstance(self.optimizer, BaseOptimizer):
            return self.encoding.repair(rows)  # whoever wrote it knows nothing of codes
        return rows

    def repaired(self, x: Bits) -> Bits:
        """Give what was evaluated for a row, shape (n,), as an optimizer has it."""
        return x if self.encoding is None else self.encoding.repair(x[None])[0]

    def _report(self, record: Generation, display: Display | None) -> None:
        if display is not None:
            display.update(record)
        if self.callback is not None and asks_to_stop(self.callback(record)):
            self.stop = self.optimizer.stop or StopReason.CALLBACK

    def _is_time_up(self) -> bool:
        return self.limits.max_seconds is not None and self.clock.seconds >= self.limits.max_seconds

    def _keep_if_due(self, generation: int | None = None) -> None:
        """Write a checkpoint if it is time, after a generation or in the middle of one."""
        if self.checkpointer is not None and self.checkpointer.is_due(generation):
            self._keep()

    def _keep(self) -> None:
        if self.checkpointer is not None:
            with self._interrupts.hold():  # so that it knows what it has left there
                self.checkpointer.write(self.state())

    def _outcome(self) -> Outcome:
        best, standing = self.found(), self.evaluator.standing()
        assert self.stop is not None
        assert best is not None
        is_told = best is self.optimizer.best or (standing is not None and standing is self.evaluator.leader)
        return Outcome(
            best=dataclasses.replace(best, x=self.repaired(best.x)),
            stop=self.stop,
            history=tuple(self.history),
            seconds=self.clock.seconds,
            cpu_seconds=self.clock.cpu_seconds,
            cpu_seconds_to_best=self.clock.cpu_seconds_to_best if is_told else self.clock.cpu_seconds,
            violation=standing.violation if standing is not None else 0.0 if best.fitness > -math.inf else math.inf,
            violations=() if standing is None else standing.violations,
        )

    def _best_so_far(self) -> BestSoFar | None:
        """Give the best solution as the objective has it."""
        best, standing = self.found(), self.evaluator.standing()
        if best is None:
            return None
        x = self.to_objective(self.repaired(best.x))
        violation = 0.0 if standing is None else standing.violation
        return BestSoFar(x, self.sign * best.fitness, self.evaluator.caller.shown(x), violation)

    def found(self) -> Best | None:
        """Give the best solution: the optimizer's, or one of a batch that was broken off; with constraints, exactly."""
        if (standing := self.evaluator.standing()) is not None:
            value = self.sign * float(standing.amounts[0])
            return Best(x=standing.x, fitness=value, generation=self.generation, evaluations=standing.evaluations)
        best, pending = self.optimizer.best, self.evaluator.pending_best()
        if pending is None or (best is not None and (is_fresh(self.optimizer) or pending[1] <= best.fitness)):
            return best
        x, fitness = pending
        generation = self.history[-1].generation + 1 if self.history else 0
        return Best(x=x, fitness=fitness, generation=generation, evaluations=self.evaluator.evaluations)
