"""One run: the engine asks, the evaluation answers, and the run keeps the books until something ends it."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.evaluation.answers import FAILURES_KEPT, BestSoFar, Failure, ObjectiveError, Standing, best_of, merits
from daedal.evaluation.evaluation import Done, Evaluation
from daedal.evaluation.signals import Interrupts
from daedal.limits import Limits, StopReason, meets
from daedal.objectives.bound import BoundObjective
from daedal.result import Result
from daedal.result.records import Generation
from daedal.run.clock import Clock
from daedal.run.journal import Answer, Journal
from daedal.run.noise import NOISY_CONSTRAINTS
from daedal.run.tracer import Tracer
from daedal.run.view import Callback, Display, RunProgress, asks_to_stop
from daedal.types import INFEASIBLE, Bits, Fitness, Outputs, is_feasible

if TYPE_CHECKING:
    from daedal.run.config import RunConfig

Log: TypeAlias = Callable[[Bits, Fitness], None]
"""Logs evaluations: candidates, shape (rows, n), and values, shape (rows,), both as the objective has them."""

_TICK = 0.25  # seconds between two looks at the clock while evaluations are under way


class OutOfTime(Exception):  # noqa: N818  no error: the run has had its time
    """Signal that the time is up in the middle of a batch."""


class Run:
    """A run under way: it counts, keeps the best, watches the limits, and makes the records.

    Parameters
    ----------
    engine
        Asks for candidates; the search is started.
    evaluation
        Evaluates them.
    objective
        What is optimized.
    sign
        1 if larger values are better, -1 if smaller ones are.
    limits
        What ends the run.
    goal
        The value to reach, to be maximized; None without one.
    journal
        The values that are known from an earlier part of the run, and where new ones are recorded.
    noisy
        If True, the objective is known to be noisy: limits on generations end the search, and not the run.
    callback
        Called with each record.
    asynchronous
        If True, each worker gets the next candidate as soon as it is free. If False, candidates are evaluated in whole
        batches, and the result does not depend on the number of workers.
    interrupts
        Keeps requests to end away while what belongs together is done.
    log
        Called with each evaluation.
    traced
        If True, the result gets a trace.
    """

    def __init__(
        self,
        engine: Engine,
        evaluation: Evaluation,
        objective: BoundObjective,
        *,
        sign: int,
        limits: Limits,
        goal: float | None,
        journal: Journal,
        noisy: bool = False,
        callback: Callback | None = None,
        asynchronous: bool = False,
        interrupts: Interrupts | None = None,
        log: Log | None = None,
        traced: bool = True,
    ) -> None:
        self.engine = engine
        self.evaluation = evaluation
        self.objective = objective
        self.sign = sign
        self.limits = limits
        self.goal = goal
        self.journal = journal
        self.noisy = noisy
        self.callback = callback
        self.asynchronous = asynchronous
        self.log = log
        self.display: Display | None = None
        self.stop: StopReason | None = None
        self.clock = Clock()
        self.tracer = Tracer(engine.n) if traced else None
        self.has_begun = False  # and all is prepared
        self.history: list[Generation] = []
        self.repeated = 0  # candidates that were free, because they were repeated or known; set at the end
        self.evaluations = 0  # calls of the objective, one per candidate, which `max_evaluations` limits
        self.failed = 0  # those of them that failed
        self.failures: list[Failure] = []  # the first of these
        self.batches = 0
        self.under_way = 0  # candidates of this batch
        self.answered = 0  # those of them that have a value
        self._best_arrived = -math.inf  # of answers, those of an unfinished batch included; only for the display
        self.standing: Standing | None = None  # with constraints, the best candidate, exactly
        self.answer: tuple[float | None, int] = None, 1  # of a noisy run: standard error and measurements
        self.evaluations_to_best: int | None = None
        self._best_generation = 0
        self._best_is_new = False  # since the last record
        self._recorded = 0  # candidates that had their values at the last record
        self._answered: int | None = None  # the candidate that a noisy search answers with
        self._interrupts = Interrupts() if interrupts is None else interrupts
        self._controls = self._interrupts if interrupts is None else nullcontext()  # what is given is entered already
        engine.on_generation = self._end_generation
        engine.on_answer = self._take_answer

    def _count_repeated(self) -> int:
        """Count the candidates that were free, because they were repeated or known."""
        return max(0, self.engine.answered + len(self.engine.unfinished()) - self.evaluations)

    @property
    def progress(self) -> RunProgress:
        """How far the run is, also in the middle of a batch."""
        best: float | None = self.engine.best_value
        if not self.engine.by_means:
            best = max(self.engine.best_value, self._best_arrived)
        if self.engine.best is None and best == -math.inf:
            best = None
        return RunProgress(
            has_begun=self.has_begun,
            seconds=self.clock.seconds,
            evaluations=self.evaluations,
            rows=self.under_way,
            answered=self.answered,
            best=None if best is None else self.sign * (-math.inf if best <= INFEASIBLE else best),
        )

    # ------------------------------------------------------------ the loop

    def go(self, display: Display | None = None, around: ExitStack | None = None) -> None:
        """Run to the end; what is around the run, such as the display, is closed when the result is there."""
        self.display = display
        self.clock.start()
        self.has_begun = True
        with self._controls:
            try:
                self._go()
                self.repeated = self._count_repeated()
            except Exception as error:
                told = with_best(error, self._best_so_far())
                if told is error:
                    raise
                raise told from error
            finally:
                self.clock.stop()
                self.engine.close()
                came = self._interrupts.keep() if self.stop is not None else []
                self.evaluation.close()
            if around is not None:
                around.close()
        if came:
            self.stop = StopReason.INTERRUPTED

    def _go(self) -> None:
        try:
            if self.asynchronous:
                self._run_as_workers_get_free()
            else:
                self._run_in_batches()
        except OutOfTime:
            self.stop = StopReason.SECONDS
        except KeyboardInterrupt:
            if not len(self.engine.archive):
                raise  # nothing was evaluated yet
            self.stop = StopReason.INTERRUPTED
        last = self.history[-1] if self.history else None
        more = last is None or self.evaluations + self._count_repeated() > last.evaluations + last.repeated
        if self.engine.told or (more and self.engine.unfinished()) or not self.history:
            self._record(final=True)
        self.journal.flush()
        if self.stop is not StopReason.INTERRUPTED and self.failures and not self.evaluation.has_values:
            first = self.failures[0].error
            raise ObjectiveError(f"no candidate has a value: all evaluations failed; the first error: {first}")

    def _run_in_batches(self) -> None:
        """Evaluate everything that the searches wait for as one batch, again and again."""
        rest: list[int] = []  # what an earlier budget did not suffice for, while an old part is replayed
        while self.stop is None:
            batch = rest + self._ask()
            if not batch:
                self._end_search()
                return
            rest = self._evaluate(batch)
            self._judge()

    def _run_as_workers_get_free(self) -> None:
        """Hand each worker the next candidate as soon as it is free.

        The searches see one value at a time, in the order of arrival, so that recorded values have the same effect.
        """
        queue, running, arrived = deque[int](), dict[int, int](), deque[tuple[int, Done]]()
        tickets = itertools.count()
        while self.stop is None:
            queue.extend(self._ask())
            if self.stop is not None:
                return
            if self.journal and (told := self.journal.next_of(queue)) is not None:
                candidate, answer = told
                value, outputs, error = answer
                queue.remove(candidate)
                self._count_known([answer])
                self._note_failures([candidate], {0: error} if isinstance(error, str) else {})
                if error is not False:
                    self._log([candidate], np.array([value]))
                self._tell([candidate], np.array([value]), outputs)
                self._judge()
                continue
            if not arrived:
                while queue and len(running) < self.evaluation.size and self._left(len(running)) != 0:
                    candidate = queue.popleft()
                    if not self.engine.is_wanted(candidate):  # the search that asked for it has been ended
                        continue
                    ticket = next(tickets)
                    running[ticket] = candidate
                    self.evaluation.submit([ticket], self._rows([running[ticket]]))
                if not running:
                    self._end_search()
                    return
                self.under_way, self.answered = len(running), 0
                with self.clock.evaluating():
                    done = self.evaluation.wait(_TICK)
                arrived.extend((running.pop(one.tickets[0]), one) for one in single_answers(done))
            if arrived:
                candidate, one = arrived.popleft()
                self._note(one, [candidate], [self.evaluations])
                self._note_failures([candidate], dict(enumerate(one.errors.values())))
                self._log([candidate], one.values)
                self._tell([candidate], one.values, one.outputs)
                self.batches += 1
            self._judge()

    def _ask(self) -> list[int]:
        self.engine.left = self._left()
        batch = self.engine.ask()
        if not self.engine.own_generations and self.engine.answered - self._recorded >= self.engine.n:
            self._end_generation()
        return [] if self.stop is not None else batch

    def _left(self, running: int = 0) -> int | None:
        """Return the evaluations that the budget has left; while an old part is replayed, that of then."""
        most = self.journal.budget(self.evaluations, self.limits.max_evaluations)
        return None if most is None else max(0, most - self.evaluations - running)

    def _end_search(self) -> None:
        """Say why nothing is asked for any more."""
        if self.stop is None and self._left() == 0:
            self.stop = StopReason.EVALUATIONS
        if self.stop is None:
            exhausted = len(self.engine.archive) >= self.engine.size and not self.engine.own_generations
            self.stop = StopReason.EXHAUSTED if exhausted else StopReason.CONVERGED

    # ------------------------------------------------------------ evaluation

    def _evaluate(self, batch: list[int]) -> list[int]:
        """Evaluate a batch, or as much of it as the budget allows, tell the engine, and return the rest."""
        journal, left, asked = self.journal, self._left(), batch
        known: dict[int, Answer] = {}
        if journal:
            if (recorded := journal.next_values(batch, left)) is not None:
                self.evaluations += len(recorded)
                self._end_batch(batch[: len(recorded)], np.array(recorded), None)
                return batch[len(recorded) :]
            batch, known = journal.find(batch, left)
        else:
            batch = batch[:left]
        self.under_way, self.answered = len(batch), 0
        values = None if known else self._evaluate_at_once(batch)
        if values is None:
            self._evaluate_one_by_one(batch, known)
        else:
            self._end_batch(batch, values, None)
        return asked[len(batch) :]

    def _evaluate_at_once(self, batch: list[int]) -> Fitness | None:
        """Return the values of a batch if one call in this process gives all of them; None if they are under way."""
        rows, began = self._rows(batch), time.monotonic()
        values = self.evaluation.at_once(rows)
        seconds = time.monotonic() - began
        self.clock.objective_seconds += seconds
        if values is not None:
            self.answered = len(batch)
            numbers = range(self.evaluations, self.evaluations + len(batch))
            self._note(Done(list(range(len(batch))), values, None, {}, seconds), batch, numbers, rows)
        return values

    def _evaluate_one_by_one(self, batch: list[int], known: Mapping[int, Answer]) -> None:
        """Take the values of a batch as they arrive; some are known, and if none is, all candidates are under way."""
        values, outputs, first = np.full(len(batch), np.nan), None, self.evaluations
        for at, (value, own, _) in known.items():
            values[at] = value
            outputs = _put(outputs, len(batch), [at], own)
        self._count_known(known.values())
        failed = {at: error for at, (_, _, error) in known.items() if isinstance(error, str)}
        free = [at for at, (_, _, error) in known.items() if error is False]
        if free and self.journal.file is not None:
            self.journal.append_free(self._rows([batch[at] for at in free]), [known[at] for at in free])
        paid, arrived = np.ones(len(batch), np.bool_), np.zeros(len(batch), np.bool_)
        paid[free] = False
        arrived[list(known)] = True
        numbers = (first + np.cumsum(paid) - paid).tolist()  # what is free has no number of its own
        self.answered = len(known)

        def take(done: Done) -> None:
            nonlocal outputs
            places = done.tickets
            arrived[places] = True
            values[places] = done.values
            outputs = _put(outputs, len(batch), places, done.outputs)
            self.answered += len(places)
            failed.update(done.errors)
            self._note(done, [batch[at] for at in places], [numbers[at] for at in places])

        try:
            if known and not arrived.all():
                new = np.flatnonzero(~arrived).tolist()
                self.evaluation.submit(new, self._rows([batch[at] for at in new]))
            while self.answered < len(batch):
                with self.clock.evaluating():
                    done = self.evaluation.wait(_TICK)
                if done.tickets:
                    take(done)
                self._check_time()
        except BaseException:
            take(self.evaluation.finished())  # what has come is not lost
            self._note_failures(batch, failed)
            if arrived.any():
                places = np.flatnonzero(arrived)
                self.engine.is_broken_off = True
                self._log([batch[at] for at in places if paid[at]], values[arrived & paid])
                self._tell([batch[at] for at in places], values[places], None if outputs is None else outputs[places])
            raise
        self._note_failures(batch, failed)
        self._end_batch(batch, values, outputs, paid)

    def _end_batch(
        self, batch: list[int], values: Fitness, outputs: Outputs | None, paid: NDArray[np.bool_] | None = None
    ) -> None:
        """Count, log and tell a batch whose values are complete; `paid` leaves out those that were free."""
        self.batches += 1
        if self.log is not None:
            places = range(len(batch)) if paid is None else np.flatnonzero(paid).tolist()
            self._log([batch[at] for at in places], values[places])
        self._tell(batch, values, outputs)

    def _log(self, candidates: Sequence[int], values: Fitness) -> None:
        """Log evaluations in the order of the batch, which does not depend on the number of workers."""
        if self.log is not None and len(candidates):
            worst = -self.sign * math.inf
            self.log(self._rows(candidates), np.where(self.sign * values > INFEASIBLE, values, worst))  # nan: failed

    def _rows(self, candidates: Sequence[int]) -> Bits:
        """Return candidates as the objective has them, shape (candidates, n)."""
        rows, order = to_rows(candidates, self.engine.n), self.objective.order
        return rows if order is None else rows.take(order, axis=1)

    def _note(self, done: Done, candidates: list[int], numbers: Sequence[int], rows: Bits | None = None) -> None:
        """Count the answers of the objective, and record them; a number is that of an evaluation of the run."""
        self.evaluations += len(done.tickets)
        self.failed += len(done.errors)
        if self.display is not None and not self.noisy:
            values = self.sign * (done.values if done.outputs is None else merits(done.outputs, self.sign))
            self._best_arrived = float(np.fmax.reduce(values, initial=self._best_arrived))
        if self.journal.file is not None:
            errors = [done.errors.get(ticket) for ticket in done.tickets] if done.errors else None
            rows = self._rows(candidates) if rows is None else rows
            self.journal.append(rows, done.values, done.outputs, errors, numbers)
            if done.seconds >= 1.0:
                self.journal.flush()

    def _note_failures(self, candidates: Sequence[int], errors: Mapping[int, str]) -> None:
        """Keep the first failures, in the order of the batch, which does not depend on the number of workers."""
        for at in sorted(errors)[: FAILURES_KEPT - len(self.failures)]:
            shown = self.evaluation.caller.shown(self._rows([candidates[at]])[0])
            self.failures.append(Failure(shown, errors[at]))

    def _count_known(self, answers: Iterable[Answer]) -> None:
        """Count values that were recorded in an earlier part of the run; other known values are free."""
        paid = [(value, error) for value, _, error in answers if error is not False]
        self.evaluations += len(paid)
        self.failed += sum(error is not None or math.isnan(value) for value, error in paid)

    def _tell(self, candidates: Sequence[int], values: Fitness, outputs: Outputs | None) -> None:
        """Tell the engine what candidates are worth, and notice a better one."""
        engine = self.engine
        if outputs is not None:
            if self.noisy:
                raise ValueError(NOISY_CONSTRAINTS)
            values = merits(outputs, self.sign)
        worth = values if self.sign > 0 else -values
        if not self.evaluation.has_values and not np.isnan(values).all():
            self.evaluation.has_values = True
        if self.failed:
            worth = np.where(np.isnan(worth), -np.inf, worth)
        before = engine.best_value
        listed: list[float] = worth.tolist()
        if outputs is None:
            engine.tell(candidates, listed)
        else:
            engine.tell(candidates, listed, (outputs * np.r_[self.sign, np.ones(outputs.shape[1] - 1)]).tolist())
        is_better = engine.best_value > before and not engine.by_means
        if outputs is not None:
            found = best_of(to_rows(candidates, engine.n), outputs, self.sign)
            is_better = found is not None and (
                self.standing is None or found.key(self.sign) > self.standing.key(self.sign)
            )
            self.standing = found if is_better else self.standing
        if is_better or self.evaluations_to_best is None:
            self._notice_best()

    def _notice_best(self) -> None:
        self.evaluations_to_best = self.evaluations
        self._best_generation = len(self.history)
        self._best_is_new = True

    def _take_answer(self, candidate: int, mean: float, error: float | None, measurements: int) -> None:
        """Take what a search for noisy values answers with; the target is reached when a mean of several reaches it."""
        if candidate != self._answered:
            self._answered = candidate
            self._notice_best()
        self.answer = error, measurements
        if self.goal is not None and measurements > 1 and self.engine.is_measured and meets(mean, self.goal):
            self.stop = StopReason.TARGET

    # ------------------------------------------------------------ limits and records

    def _judge(self) -> None:
        """Stop if the target is reached, or the budget or the time is used up."""
        goal = None if self.engine.by_means or not self._is_feasible() else self.goal
        if goal is not None and meets(self.engine.best_value, goal):
            self.stop = StopReason.TARGET
        if self.stop is None and self._left() == 0:
            self.stop = StopReason.EVALUATIONS
        if self.stop is None and self._is_time_up():
            self.stop = StopReason.SECONDS

    def _is_feasible(self) -> bool:
        return self.standing is None or self.standing.violation == 0

    def _end_generation(self) -> bool:
        """Make the record of a generation; tell whether the run stops there."""
        record = self._record()
        limits, generation = self.limits, record.generation
        asks = self.callback is not None and asks_to_stop(self.callback(record))
        if limits.max_generations is not None and generation >= limits.max_generations:
            self._end(StopReason.GENERATIONS)
        elif limits.patience is not None and generation - self._best_generation >= limits.patience:
            self._end(StopReason.PATIENCE)
        if asks:
            self.stop = self.stop or StopReason.CALLBACK
        return self.stop is not None or self.engine.over is not None

    def _end(self, reason: StopReason) -> None:
        """Stop, or, where values are noisy, let the search stop, so that its answer is measured."""
        if self.noisy:
            self.engine.over = reason
        else:
            self.stop = self.stop or reason

    def _record(self, *, final: bool = False) -> Generation:
        """Make the record of what was evaluated since the last one, in the objective's own sign."""
        engine, sign, clock = self.engine, self.sign, self.clock
        told = np.array([*engine.told, *(engine.unfinished() if final else [])])
        engine.told = []
        self._recorded = engine.answered
        mean, sd = mean_and_sd(told[is_feasible(told)])
        info = {name: _number(name, value) for name, value in engine.info.items()}
        best = engine.best_value
        if self.standing is not None:
            info["violation"] = self.standing.violation
            best, mean = (-math.inf if one <= INFEASIBLE else one for one in (best, mean))
        record = Generation(
            generation=len(self.history),
            evaluations=self.evaluations,
            repeated=self._count_repeated(),
            best=sign * best,
            mean=sign * mean,
            sd=sd,
            batches=self.batches,
            cpu_seconds=clock.cpu_seconds,
            seconds=clock.seconds,
            objective_seconds=clock.objective_seconds,
            info=info,
        )
        if self.tracer is not None:
            self.tracer.look(record.generation, engine)
        if (before := self.journal.record(record)) is not None:
            self.clock.continue_from(before)
            times = ("seconds", "cpu_seconds", "objective_seconds", "batches")
            record = dataclasses.replace(record, **{name: getattr(before, name) for name in times})
        if self._best_is_new:
            self._best_is_new, self.clock.cpu_seconds_to_best = False, record.cpu_seconds
        self.history.append(record)
        if self.display is not None:
            self.display.update(record)
        if final and self.callback is not None:
            self.callback(record)
        return record

    def _is_time_up(self) -> bool:
        most = self.limits.max_seconds
        return most is not None and not self.journal.is_replaying and self.clock.seconds >= most

    def _check_time(self) -> None:
        """Stop in the middle of a batch when the time is up and there is something to show for it."""
        if self.limits.max_seconds is not None and self._is_time_up() and self.evaluations > self.failed:
            raise OutOfTime

    # ------------------------------------------------------------ the result

    def found(self) -> tuple[Bits, float] | None:
        """Return the best solution, in the engine's order of variables, and its value; None before the first one."""
        if self.engine.best is None:
            return None
        if self.standing is not None:
            return self.standing.x, float(self.standing.outputs[0])
        return to_rows([self.engine.best], self.engine.n)[0], self.sign * self.engine.best_value

    def _best_so_far(self) -> BestSoFar | None:
        """Return the best solution as the objective has it, for an error that ends the run."""
        if (found := self.found()) is None or not self.evaluation.has_values:
            return None
        x = self.objective.to_objective(found[0])
        violation = 0.0 if self.standing is None else self.standing.violation
        return BestSoFar(x, found[1], self.evaluation.caller.shown(x), violation)

    def result(self, config: RunConfig) -> Result:
        """Return what the run found, in the objective's own sign and order of variables."""
        found, engine, clock, stop = self.found(), self.engine, self.clock, self.stop
        assert found is not None
        assert stop is not None
        (x, fitness), standing, settings = found, self.standing, config.algorithm.settings()
        feasible = abs(fitness) < math.inf and not (standing is not None and standing.violation > 0)
        popsize = settings.get("popsize")
        if popsize == "auto":
            popsize = engine.popsize  # the last one
        else:
            settings.pop("popsize", None)
        success = None
        if self.goal is not None:  # the mean of noisy values has reached it only if that ended the run
            is_reached = stop is StopReason.TARGET if engine.by_means else meets(self.sign * fitness, self.goal)
            success = feasible and is_reached
        generation = self.history[-1].generation
        trace = None
        if self.tracer is not None:
            self.tracer.finish(generation, engine)
            archive = None if engine.by_means or engine.repeat else engine.archive
            order, value = self.objective.order, self.sign * fitness
            trace = self.tracer.trace(archive, best=x, value=value, order=order, sign=self.sign)
        error, measurements = self.answer
        return Result(
            x=self.objective.to_objective(x),
            fitness=fitness,
            feasible=feasible,
            violation=0.0 if feasible else math.inf if standing is None else standing.violation,
            violations=() if standing is None else standing.violations,
            success=success,
            stop=stop,
            evaluations=self.evaluations,
            evaluations_to_best=self.evaluations_to_best or 0,
            failed=self.failed,
            repeated=self.repeated,
            failures=tuple(self.failures),
            batches=self.batches,
            generations=generation,
            seconds=clock.seconds,
            cpu_seconds=clock.cpu_seconds,
            cpu_seconds_to_best=clock.cpu_seconds_to_best,
            history=tuple(self.history),
            algorithm=config.algorithm.name,
            settings=settings,
            popsize=popsize if isinstance(popsize, int) else None,
            seed=config.seed,
            optimum=config.optimum(self.objective),
            explanation=engine.explanation if isinstance(engine.explanation, str) else engine.explanation(),
            space=config.space,
            names=config.names,
            standard_error=error,
            measurements=measurements,
            problem=self.objective.name,
            minimize=config.minimize,
            limits=config.limits,
            again=config.again,
            trace=trace,
        )


def single_answers(done: Done) -> Iterator[Done]:
    """Return the answers of several candidates one by one."""
    for at, ticket in enumerate(done.tickets):
        outputs = None if done.outputs is None else done.outputs[at : at + 1]
        errors = {ticket: done.errors[ticket]} if ticket in done.errors else {}
        yield Done([ticket], done.values[at : at + 1], outputs, errors, done.seconds)


def _put(outputs: Outputs | None, rows: int, places: Sequence[int], own: Outputs | None) -> Outputs | None:
    """Put the outputs of some candidates of a batch in their places; None as long as there are no constraints."""
    if own is None:
        return outputs
    if outputs is None:
        outputs = np.full((rows, own.shape[-1]), np.nan)
    outputs[places] = own
    return outputs


def mean_and_sd(values: Fitness) -> tuple[float, float | None]:
    """Return the mean and the standard deviation.

    The mean of no values is -inf, and that of values whose sum is too large for a float is inf; neither has a
    deviation.
    """
    if not len(values):
        return -math.inf, None
    with np.errstate(over="ignore", invalid="ignore"):  # the rest is `mean` and `std` of NumPy, in half their time
        mean = np.add.reduce(values) / len(values)
        deviations = values - mean
        sd = math.sqrt(np.add.reduce(deviations * deviations) / len(values))
    return float(mean), sd if math.isfinite(sd) else None


def _number(name: str, value: object) -> float:
    """Return a figure of a record as a run file gives it back."""
    if isinstance(value, Integral | np.bool_):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"the search reported {name}={value!r}, which is not a number")


def with_best(error: Exception, best: BestSoFar | None) -> Exception:
    """Return an error that has, and tells, the best solution so far.

    It is the same error, except for one of the system, whose text cannot be changed. Errors of the user's own, such as
    those of a callback, keep their text and get a note.
    """
    if best is None:
        return error
    if isinstance(error, ObjectiveError):
        error.best = best
        error.args = (f"{error}; {best}",)
    elif isinstance(error, OSError) and type(error).__module__ == "builtins":
        told = type(error)(f"{error}; {best}")
        told.errno = error.errno
        told.best = best  # type: ignore[attr-defined]
        return told
    else:
        with suppress(AttributeError):  # one with slots
            error.best = best  # type: ignore[attr-defined]
        error.add_note(str(best))
    return error
