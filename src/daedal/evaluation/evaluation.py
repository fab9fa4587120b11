"""Evaluation of candidates, one answer at a time: in this process, in worker processes, or by an executor.

`Evaluation.submit` takes candidates at any time, and `Evaluation.wait` returns those that have their final answers.
`Here`, in this module, or `Workers` evaluates each candidate once. `Evaluation` decides about failures.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daedal.evaluation.answers import (
    Answers,
    Came,
    ObjectiveError,
    ObjectiveMisuse,
    check_constraints,
    side_by_side,
)
from daedal.evaluation.caller import Caller
from daedal.evaluation.options import DEFAULTS, EvaluationOptions, OnError
from daedal.types import Bits, Fitness, Outputs

if TYPE_CHECKING:
    from daedal.evaluation.workers import Workers

HOPELESS = 20
"""Failures from the first evaluation on after which a run that tolerates failures ends, because nothing has worked.

If half of all candidates fail, this ends one run in a million. A limit of one batch ended 12 runs in 20.
"""

SECONDS_A_PIECE = 0.1
"""Seconds for which a function of one candidate is called in this process before `Evaluation.wait` returns."""


class Done(NamedTuple):
    """Candidates that have their final answers."""

    tickets: list[int]  # from `Evaluation.submit`, in the order of arrival
    values: Fitness  # in the objective's own sign, shape (tickets,); nan if failed for good; with constraints, merits
    outputs: Outputs | None  # with constraints: objective and constraint values, shape (tickets, 1 + constraints)
    errors: dict[int, str]  # why candidates failed for good, by ticket
    seconds: float  # the longest evaluation, approximately


_NOTHING = Done([], np.empty(0), None, {}, 0.0)


class Evaluation:
    """Evaluates candidates and returns their answers as they come.

    If `wait` raises, even KeyboardInterrupt, no answer is lost: `finished` returns those that came before. Evaluations
    under way in this process are queued again.

    Parameters
    ----------
    caller
        The objective.
    options
        Workers, timeout and failure policy.
    backend
        Evaluates the candidates. Default: the one that the options describe.

    Attributes
    ----------
    waiting
        Number of candidates that were submitted and have no answer.
    constraints
        Number of constraints; None until a candidate has an answer.
    has_values
        Whether any candidate has a value. Set it to True if values are known from before: then no number of failures
        counts as those of an objective that never works.

    Examples
    --------
    >>> evaluation = Evaluation(Caller(lambda x: x.sum(axis=1)))
    >>> evaluation.submit([7, 8], np.array([[1, 1, 0], [1, 1, 1]], np.uint8))
    >>> done = evaluation.wait()
    >>> done.tickets, done.values
    ([7, 8], array([2., 3.]))
    """

    def __init__(
        self, caller: Caller, *, options: EvaluationOptions = DEFAULTS, backend: Here | Workers | None = None
    ) -> None:
        self.caller = caller
        self.options = options
        self.waiting = 0
        self.constraints: int | None = None if caller.constrained else 0
        self.has_values = False
        self._policy = OnError.read(options.on_error)
        self._backend = backend
        self._tries: dict[int, int] = {}  # of candidates that failed and are tried again
        self._answered = 0  # candidates that have a value or failed for good
        self._submitted = 0  # calls of `submit`, after each of which tickets may begin at 0
        self._failures: dict[tuple[int, int], str] = {}  # by number of the call and ticket, until the first value
        self._problem: ObjectiveError | None = None  # raised when the answers that came before it are taken

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> int:
        """How many candidates can be evaluated at the same time."""
        if self._backend is None and self.options.executor is None:
            return self.options.workers
        return self._started().size

    def submit(self, tickets: Sequence[int], rows: Bits) -> None:
        """Queue candidates for evaluation; the first call starts the workers.

        Parameters
        ----------
        tickets
            A number for each candidate, which comes back with its answer. No two waiting candidates share one.
        rows
            The candidates in the objective's own order of variables, shape (tickets, n). They must not change.
        """
        self._started().submit(list(tickets), rows)
        self._submitted += 1
        self.waiting += len(rows)

    def at_once(self, rows: Bits) -> Fitness | None:
        """Evaluate candidates, and return their values if one call in this process gives a value for each of them.

        This is the short way for fast functions. In all other cases, None is returned, and `wait` returns the answers,
        with the places of the candidates as tickets.
        """
        backend = self._started()
        if self.has_values and self.constraints == 0 and not self.waiting and isinstance(backend, Here):
            values = backend.at_once(rows)
            if values is not None:
                self._answered += len(rows)
                return values
            self.waiting += len(rows)
        else:
            self.submit(range(len(rows)), rows)
        return None

    def wait(self, timeout: float | None = None) -> Done:
        """Return at least one candidate with its answer, or none if the timeout expires or none is waiting.

        In this process, one call of the objective is made even if the timeout is shorter.

        Parameters
        ----------
        timeout
            Seconds. Default: no limit.

        Raises
        ------
        ObjectiveError
            If a candidate failed and the policy is to raise, if nothing has ever worked, if the objective does not
            return numbers, or if the workers are lost. Earlier answers were returned by an earlier `wait`.
        KeyboardInterrupt
            On Ctrl-C. `finished` returns the answers that came before.
        """
        backend = self._started()
        until = None if timeout is None else time.monotonic() + timeout
        while self._problem is None and self.waiting:
            if not backend.came:
                try:
                    backend.wait(timeout)
                except ObjectiveError as error:
                    if not backend.came:
                        raise
                    self._problem = error
                if not backend.came:
                    return _NOTHING
            done = self._settled()
            if done.tickets:
                return done
            if until is not None:  # those that came are tried again
                timeout = max(0.0, until - time.monotonic())
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        return _NOTHING

    def finished(self) -> Done:
        """Return the answers that are there, without waiting and without starting evaluations."""
        if self._backend is None:
            return _NOTHING
        self._backend.collect()
        return self._settled()

    def close(self) -> None:
        """End the workers and forget the waiting candidates."""
        self.waiting = 0
        if self._backend is not None:
            self._backend.close()
            self._backend = None

    def _started(self) -> Here | Workers:
        if self._backend is None:
            first_failure_only = self._policy == OnError()
            if self.options.executor is None and self.options.workers == 1 and self.options.timeout is None:
                self._backend = Here(self.caller, first_failure_only=first_failure_only)
            else:
                from daedal.evaluation.workers import workers_for  # not loaded without need

                self._backend = workers_for(self.caller, self.options, first_failure_only=first_failure_only)
        return self._backend

    # ------------------------------------------------------------ failures

    def _settled(self) -> Done:
        """Take the answers that came, decide about failures, and return those that are final."""
        backend = self._backend
        assert backend is not None
        came, backend.came = backend.came, []
        if len(came) == 1 and self.constraints == 0 and self.has_values:
            tickets, _, answers, seconds = came[0]
            if not answers.errors:  # the most frequent case
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
            error, cause = failed[min(failed)]
            rows = self._answered + len(failed)
            others = f" ({len(failed)} of {rows} candidates failed so far)" if len(failed) > 1 else ""
            self._problem = ObjectiveError(error + others)
            self._problem.__cause__ = cause
        self.waiting -= len(failed)
        return done

    def _check(self, answers: Answers) -> None:
        """Take the number of constraints from the first answer, and refuse another one later."""
        if answers.constraints is not None:
            check_constraints(self.constraints, answers.constraints)
            self.constraints = answers.constraints
            self.has_values = True
            self._failures = {}

    def _without_failures(
        self, came: Came, failed: dict[int, tuple[str, BaseException | None]], errors: dict[int, str]
    ) -> Came:
        """Return the final ones among answers with failures; the others are tried again or raise."""
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
        if not dropped:
            return came
        kept = [i for i in range(len(came.tickets)) if i not in dropped]
        return Came([came.tickets[i] for i in kept], came.rows[kept], came.answers.only(kept), came.seconds)

    def _note_failure(self, ticket: int, error: str) -> None:
        if not self.has_values:
            self._failures[self._submitted, ticket] = error
            if (count := len(self._failures)) >= HOPELESS:
                first = self._failures[min(self._failures)]
                self._problem = ObjectiveError(f"all of the first {count} candidates failed; the first error: {first}")

    def _joined(self, final: list[Came], errors: dict[int, str]) -> Done:
        """Return final answers as one."""
        tickets = [ticket for one in final for ticket in one.tickets]
        if not tickets:
            return _NOTHING
        if self._tries:
            for ticket in tickets:
                self._tries.pop(ticket, None)
        self.waiting -= len(tickets)
        self._answered += len(tickets)
        answers = side_by_side([one.answers for one in final])
        outputs = answers.outputs
        if outputs is None and self.constraints:  # all of them failed
            outputs = np.full((len(tickets), 1 + self.constraints), np.nan)
        return Done(tickets, answers.values, outputs, errors, max(one.seconds for one in final))


class Here:
    """Backend in this process: one call for all queued candidates, or calls for single ones for a tenth of a second.

    Parameters
    ----------
    caller
        The objective.
    first_failure_only
        If True, waiting ends with the first failure, and a function that raises for many candidates, but for none of
        them alone, is an error.
    clock
        Returns seconds that never go back.
    """

    size = 1

    def __init__(
        self, caller: Caller, *, first_failure_only: bool = False, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.caller = caller
        self.first_failure_only = first_failure_only
        self.clock = clock
        self.came: list[Came] = []  # answers that were not taken yet
        self._queued: deque[tuple[list[int], Bits]] = deque()
        self._under_way: Iterator[None] | None = None
        self._until = 0.0

    def submit(self, tickets: list[int], rows: Bits) -> None:
        """Queue candidates."""
        self._queued.append((tickets, rows))

    def at_once(self, rows: Bits) -> Fitness | None:
        """Return the values of candidates if one call gives all of them; if not, None, and `wait` gives the answers."""
        caller, tickets = self.caller, list(range(len(rows)))
        if not caller.vectorized or len(caller.parts(rows)) > 1:
            self.submit(tickets, rows)
            return None
        began = self.clock()
        try:
            answers = caller.together(rows)
        except ObjectiveMisuse:
            raise
        except ObjectiveError as error:
            pieces = caller.pieces_after(error, rows, first_failure_only=self.first_failure_only)
            self._under_way = self._evaluate(tickets, rows, pieces)
            return None
        if not answers.errors and answers.outputs is None:
            return answers.values
        self.came.append(Came(tickets, rows, answers, (self.clock() - began) / len(rows)))
        return None

    def wait(self, timeout: float | None = None) -> None:
        """Make one call for all queued candidates, or calls for single ones until 0.1 s or the timeout has passed."""
        self._until = self.clock() + (SECONDS_A_PIECE if timeout is None else min(timeout, SECONDS_A_PIECE))
        under_way, self._under_way = self._under_way, None
        if under_way is None and self._queued:
            tickets, rows = self._queued[0]
            if len(self._queued) > 1:
                tickets = [ticket for some, _ in self._queued for ticket in some]
                rows = np.concatenate([some for _, some in self._queued])
            self._queued.clear()
            pieces = self.caller.pieces(rows, first_failure_only=self.first_failure_only)
            under_way = self._evaluate(tickets, rows, pieces)
        for _ in under_way or ():
            self._under_way = under_way
            break

    def _evaluate(self, tickets: list[int], rows: Bits, pieces: Iterator[Answers]) -> Iterator[None]:
        """Take the answers for candidates piece by piece, with a pause when the time is up.

        If it ends early, those without an answer are queued again.
        """
        at, last = 0, self.clock()
        try:
            for answers in pieces:
                now, count = self.clock(), len(answers.values)
                part = slice(at, at + count)
                at = part.stop
                self.came.append(Came(tickets[part], rows[part], answers, (now - last) / count))
                if answers.errors and self.first_failure_only and at < len(tickets):
                    return  # the rest is evaluated if more answers are asked for
                if now >= self._until and at < len(tickets):
                    yield
                    now = self.clock()
                last = now
        finally:
            if at < len(tickets):
                self._queued.appendleft((tickets[at:], rows[at:]))

    def collect(self) -> None:
        """Do nothing: all answers are in `came`."""

    def close(self) -> None:
        """Forget the waiting candidates."""
        self._under_way = None
        self._queued.clear()
