"""Evaluation of candidates, one answer at a time: in this process, in worker processes, or by an executor.

`Evaluation.submit` takes candidates, at any time, and `Evaluation.wait` returns those that have their final answers.
An `Engine` evaluates: `Here`, in this module, or `Workers`. `Evaluation` itself decides what to do about failures, for
each candidate by itself.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

import numpy as np

from daedal.evaluation.answers import (
    Answers,
    Came,
    ObjectiveError,
    ObjectiveMisuse,
    check_constraints,
    first_error,
    nothing_worked,
    side_by_side,
)
from daedal.evaluation.caller import Caller
from daedal.evaluation.failures import OnError
from daedal.evaluation.options import DEFAULTS, EvaluationOptions
from daedal.types import Amounts, Bits, Fitness

if TYPE_CHECKING:
    from daedal.evaluation.pool import Pool

HOPELESS = 20
"""Failures in a row, from the first evaluation on, after which a run that tolerates failures ends: nothing has worked.

If half of all candidates fail, that happens to one run in a million; where the first batch had to have a value, it
happened to 12 runs in 20 (issue 27).
"""

SECONDS_A_PIECE = 0.1
"""Seconds for which a function of one row is called in this process before `Evaluation.wait` returns the answers."""


class Done(NamedTuple):
    """Candidates that have their final answers.

    Attributes
    ----------
    tickets
        Their tickets, as given to `Evaluation.submit`, in the order of arrival.
    values
        Their values as the objective gave them, in its own sign, shape (tickets,); nan for those that failed for good.
        With constraints they are merits (`daedal.evaluation.merit`), in the same sign.
    amounts
        With constraints: the value as it was given, and the signed amount of each constraint, shape (tickets, 1 +
        constraints); None without.
    errors
        Why candidates failed for good, by ticket.
    seconds
        Longest time that one of them took, about.
    """

    tickets: list[int]
    values: Fitness
    amounts: Amounts | None
    errors: dict[int, str]
    seconds: float


class Engine(Protocol):
    """Evaluates candidates, each once, and knows nothing of policies: `Here` or `Workers`."""

    came: list[Came]  # answers that nobody has taken yet

    @property
    def size(self) -> int:
        """Return how many candidates can be evaluated at the same time."""

    def submit(self, tickets: list[int], rows: Bits) -> None:
        """Queue candidates."""

    def wait(self, timeout: float | None = None) -> None:
        """Wait for answers in `came`, which stay there whatever is raised."""

    def collect(self) -> None:
        """Take what has been answered, without waiting, and without beginning anything."""

    def close(self) -> None:
        """End all workers."""


class Evaluation:
    """Evaluates candidates and returns those that have their answers, as they come.

    Whatever `wait` raises, be it KeyboardInterrupt, no answer is lost: `finished` returns those that came before. What
    was under way in this process waits again.

    Parameters
    ----------
    caller
        How the objective is called.
    options
        Workers, timeout, and what to do about failures.
    on_exit
        What a worker process calls before it ends (see `ProcessPool`).
    constrained
        If True, each answer must come with amounts of constraints. If False, the first answer decides.
    engine
        Who evaluates. None: as the options say.

    Attributes
    ----------
    waiting
        How many candidates were submitted and have no answer.
    constraints
        How many constraints the objective has; None as long as no candidate has an answer.
    has_values
        Whether any candidate has a value. Set it to True if values are known from before: then failures, however many,
        do not count as those of an objective that never works.

    Examples
    --------
    >>> evaluation = Evaluation(Caller(lambda x: x.sum(axis=1)))
    >>> evaluation.submit([7, 8], np.array([[1, 1, 0], [1, 1, 1]], np.uint8))
    >>> done = evaluation.wait()
    >>> done.tickets, done.values
    ([7, 8], array([2., 3.]))
    """

    def __init__(
        self,
        caller: Caller,
        *,
        options: EvaluationOptions = DEFAULTS,
        on_exit: Callable[[], object] | None = None,
        constrained: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self.caller = caller
        self.options = options
        self.on_exit = on_exit
        self.constrained = constrained
        self.waiting = 0
        self.constraints: int | None = None
        self.has_values = False
        self._policy = OnError.read(options.on_error)
        self._engine = engine
        self._tries: dict[int, int] = {}  # of candidates that failed and are tried again
        self._answered = 0  # candidates that have a value, or failed for good
        self._failures: dict[int, str] = {}  # by ticket, as long as nothing has a value
        self._problem: ObjectiveError | None = None  # to be raised when the answers that came before it are taken

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Return how many candidates can be evaluated at the same time."""
        if self._engine is None and self.options.executor is None:
            return self.options.workers
        return self._started().size

    def submit(self, tickets: Sequence[int], rows: Bits) -> None:
        """Queue candidates for evaluation; the first start the workers.

        Parameters
        ----------
        tickets
            A number for each candidate that comes back with its answer. No two candidates that wait have the same.
        rows
            The candidates in the objective's own order of variables, shape (tickets, n). They must not change.
        """
        self._started().submit(list(tickets), rows)
        self.waiting += len(rows)

    def wait(self, timeout: float | None = None) -> Done:
        """Return candidates that have their answers: at least one, or none if the timeout is over before.

        In this process, one call of the objective is made however short the timeout is. Nothing is returned if nothing
        waits.

        Parameters
        ----------
        timeout
            Seconds; None: as long as it takes.

        Raises
        ------
        ObjectiveError
            If a candidate failed and the policy is to raise, if nothing has ever worked, if the objective gives no
            numbers, or if the workers are lost. The answers that came before were returned by an earlier `wait`.
        KeyboardInterrupt
            On Ctrl-C. `finished` returns the answers that came before.
        """
        if self._problem is not None:
            self._raise()
        engine = self._started()
        until = None if timeout is None else time.monotonic() + timeout
        while self.waiting:
            if not engine.came:
                try:
                    engine.wait(timeout)
                except ObjectiveError as error:
                    if not engine.came:
                        raise
                    self._problem = error
                if not engine.came:
                    break
            done = self._settled()
            if done.tickets:
                return done
            if self._problem is not None:
                self._raise()
            if until is not None:  # those that came are tried again
                timeout = max(0.0, until - time.monotonic())
        return _NOTHING

    def finished(self) -> Done:
        """Return the answers that are there, maybe none, without waiting and without beginning anything."""
        if self._engine is None:
            return _NOTHING
        self._engine.collect()
        return self._settled()

    def nothing_worked(self) -> ObjectiveError | None:
        """Return the error of a run that ends without any value because all its candidates failed; None otherwise."""
        return nothing_worked(self._failures) if self._failures and not self.has_values else None

    def close(self) -> None:
        """End the workers and forget what waits."""
        self.waiting = 0
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _started(self) -> Engine:
        if self._engine is None:
            self._engine = _engine(self.caller, self.options, self._policy, self.on_exit)
        return self._engine

    def _raise(self) -> NoReturn:
        problem, self._problem = self._problem, None
        assert problem is not None
        raise problem

    # ------------------------------------------------------------ what to do about failures

    def _settled(self) -> Done:
        """Take what came, decide about failures, and return what is final."""
        engine = self._engine
        assert engine is not None
        came, engine.came = engine.came, []
        if len(came) == 1:
            tickets, _, answers, seconds = came[0]
            if not answers.errors and self.constraints == 0 and answers.amounts is None:
                self.waiting -= len(tickets)
                self._answered += len(tickets)
                return Done(tickets, answers.values, None, {}, seconds)
        final: list[Came] = []
        failed: dict[int, tuple[str, BaseException | None]] = {}  # the policy is to raise
        errors: dict[int, str] = {}
        for one in came:
            try:
                self._check(one.answers)
            except ObjectiveMisuse as misuse:
                self._problem = misuse
                break
            final.append(self._without_failures(one, failed, errors) if one.answers.errors else one)
        done = self._joined(final, errors)
        if failed and self._problem is None:
            self._problem = first_error({t: error for t, (error, _) in failed.items()}, self._answered + len(failed))
            self._problem.__cause__ = failed[min(failed)][1]
        self.waiting -= len(failed)
        return done

    def _check(self, answers: Answers) -> None:
        """Learn the number of constraints from the first answer, and refuse another one."""
        if not answers.errors and answers.amounts is None:
            constraints = 0
        elif answers.constraints is None:
            return
        else:
            constraints = answers.constraints
        if constraints == 0 and self.constrained and self.constraints is None:
            raise ObjectiveMisuse("expected amounts of constraints beside the value, got the value alone")
        check_constraints(self.constraints, constraints)
        self.constraints = constraints
        self.has_values = True
        self._failures = {}

    def _without_failures(
        self, came: Came, failed: dict[int, tuple[str, BaseException | None]], errors: dict[int, str]
    ) -> Came:
        """Return what is final of answers among which there are failures; the others are tried again, or raise."""
        policy, again, dropped = self._policy, list[int](), set[int]()
        for index, error in sorted(came.answers.errors.items()):
            ticket = came.tickets[index]
            if (tries := self._tries.get(ticket, 0)) < policy.retries:
                self._tries[ticket] = tries + 1
                again.append(index)
                dropped.add(index)
                continue
            self._tries.pop(ticket, None)
            if policy.worst:
                errors[ticket] = error
                self._note_failure(ticket, error)
            else:
                failed[ticket] = error, came.answers.causes.get(index)
                dropped.add(index)
        if again:
            self._started().submit([came.tickets[index] for index in again], came.rows[again])
        return came if not dropped else _kept(came, [i for i in range(len(came.tickets)) if i not in dropped])

    def _note_failure(self, ticket: int, error: str) -> None:
        if not self.has_values:
            self._failures[ticket] = error
            if len(self._failures) >= HOPELESS:
                self._problem = nothing_worked(self._failures)

    def _joined(self, final: list[Came], errors: dict[int, str]) -> Done:
        """Return what is final as one."""
        tickets = [ticket for one in final for ticket in one.tickets]
        if not tickets:
            return _NOTHING
        if self._tries:
            for ticket in tickets:
                self._tries.pop(ticket, None)
        self.waiting -= len(tickets)
        self._answered += len(tickets)
        answers = side_by_side([one.answers for one in final])
        amounts = answers.amounts
        if amounts is None and self.constraints:  # all of them failed
            amounts = np.full((len(tickets), 1 + self.constraints), np.nan)
        return Done(tickets, answers.values, amounts, errors, max(one.seconds for one in final))


_NOTHING = Done([], np.empty(0), None, {}, 0.0)


def _kept(came: Came, places: list[int]) -> Came:
    """Return a part of what came, without errors."""
    answers = came.answers
    amounts = None if answers.amounts is None else answers.amounts[places]
    left = Answers(answers.values[places], amounts=amounts)
    return Came([came.tickets[index] for index in places], came.rows[places], left, came.seconds)


def _engine(
    caller: Caller, options: EvaluationOptions, policy: OnError, on_exit: Callable[[], object] | None
) -> Engine:
    """Start whoever evaluates; what is not needed is not loaded."""
    timeout, first_failure_only = options.timeout, policy == OnError()
    if options.executor is None and options.workers == 1 and timeout is None:
        return Here(caller, first_failure_only=first_failure_only)
    from daedal.evaluation.chunks import ChunkFunction, PiecesFunction, TimedFunction
    from daedal.evaluation.executor_pool import ExecutorPool
    from daedal.evaluation.process_pool import ProcessPool
    from daedal.evaluation.workers import Workers

    pool: Pool
    if options.executor is not None:
        whole = ChunkFunction(caller) if timeout is None else TimedFunction(caller, timeout)
        pool = ExecutorPool(options.executor, whole, timeout=options.executor_timeout)
    else:  # with a timeout a process is kept ready: only the end of its process ends a function that hangs
        pieces = PiecesFunction(caller, timed=timeout is not None)
        pool = ProcessPool(options.workers, pieces, on_exit=on_exit, spare=timeout is not None)
    return Workers(
        pool,
        timeout=timeout,
        lost_after=None if options.executor is None else options.executor_timeout,
        first_failure_only=first_failure_only,
        shown=caller.shown,
    )


@dataclass
class _Singles:
    """Candidates that are evaluated one by one."""

    tickets: list[int]
    rows: Bits
    at: int = 0  # the next one
    error: ObjectiveError | None = None  # which the objective has raised for all of them together
    have_failed: bool = False  # some of them alone, too


class Here:
    """Evaluates in this process: all that is queued with one call, or candidates one by one for a tenth of a second.

    Parameters
    ----------
    caller
        How the objective is called.
    first_failure_only
        If True, waiting ends with the first failure, and a function of batches that raises for a batch, but for none of
        its candidates, is an error.
    clock
        Seconds that never go back.
    """

    size = 1

    def __init__(
        self, caller: Caller, *, first_failure_only: bool = False, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.caller = caller
        self.first_failure_only = first_failure_only
        self.clock = clock
        self.came: list[Came] = []
        self._together: deque[tuple[list[int], Bits]] = deque()
        self._singly: deque[_Singles] = deque()

    def submit(self, tickets: list[int], rows: Bits) -> None:
        """Queue candidates."""
        if self.caller.vectorized:
            self._together.append((tickets, rows))
        else:
            self._singly.append(_Singles(tickets, rows))

    def wait(self, timeout: float | None = None) -> None:
        """Evaluate all that is queued with one call, or one by one until a tenth of a second or the timeout is over."""
        if not self._singly and self._together:
            tickets, rows = self._next_part()
            began = self.clock()
            try:
                answers = self.caller.single(rows) if len(rows) == 1 else self.caller.together(rows)
            except ObjectiveMisuse:
                raise
            except ObjectiveError as error:
                self._take(len(tickets))
                self._singly.append(_Singles(tickets, rows, error=error))
            else:
                self._take(len(tickets))
                self.came.append(Came(tickets, rows, answers, (self.clock() - began) / len(tickets)))
        if self._singly:
            self._one_by_one(SECONDS_A_PIECE if timeout is None else min(timeout, SECONDS_A_PIECE))

    def collect(self) -> None:
        """Do nothing: all that is answered is in `came`."""

    def close(self) -> None:
        """Forget what waits."""
        self._together.clear()
        self._singly.clear()

    def _next_part(self) -> tuple[list[int], Bits]:
        """Return the next candidates that go together; they stay queued until they have their answers."""
        if len(self._together) > 1:
            every = list(self._together)
            self._together.clear()
            self._together.append(
                ([ticket for tickets, _ in every for ticket in tickets], np.concatenate([rows for _, rows in every]))
            )
        tickets, rows = self._together[0]
        if not self.caller.is_one_part(rows):
            part = self.caller.parts(rows)[0]
            return tickets[part], rows[part]
        return tickets, rows

    def _take(self, count: int) -> None:
        """Take the first candidates from the queue."""
        tickets, rows = self._together.popleft()
        if len(tickets) > count:
            self._together.append((tickets[count:], rows[count:]))

    def _one_by_one(self, seconds: float) -> None:
        """Evaluate candidates singly; whatever ends it, those that have answers are in `came`."""
        batch = self._singly[0]
        last = self.clock()
        until = last + seconds
        while batch.at < len(batch.tickets):
            at = batch.at
            row = batch.rows[at : at + 1]
            answers = self.caller.single(row)
            batch.at += 1
            now = self.clock()
            self.came.append(Came(batch.tickets[at : at + 1], row, answers, now - last))
            last = now
            batch.have_failed |= bool(answers.errors)
            if now >= until or (answers.errors and self.first_failure_only):
                break
        if batch.at < len(batch.tickets):
            return
        self._singly.popleft()
        if batch.error is not None and not batch.have_failed and self.first_failure_only:
            raise self.caller.batch_error(batch.error, batch.rows) from batch.error.__cause__ or batch.error
