"""The engine: runs searches side by side over one archive.

A search is an async function. `await f(candidates)` evaluates candidates and returns their values, and that is all
that a search knows of the world. The engine collects the candidates that searches wait for, and wakes up each search
that has all of its values. `Engine` is itself an ask-and-tell optimizer: `ask` returns candidates, and `tell` takes the
values of any of them in any order. So the same search runs in batches, with workers that finish at different times, in
a loop of your own, and again from the recorded values of an interrupted run.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from daedal.archive import Archive, to_candidates, to_rows
from daedal.rng import Stream, stream
from daedal.types import Bits, Fitness

if TYPE_CHECKING:
    from daedal.limits import StopReason
    from daedal.searches.algorithm import Insight
    from daedal.spaces.encoding import Encoding

Search: TypeAlias = Coroutine[Any, Any, Any]
"""A search under way: the coroutine that an async function returns."""

IDLE_CALLS, IDLE_CANDIDATES = 20, 10_000
"""How many evaluations in a row, and candidates in them, may be answered by the archive before a search is stopped: by
then it goes round in circles and would never end."""

_CIRCLES = 100  # times that searches are woken up although nothing new is known
_LISTED = 24  # variables, up to which a new candidate is found by going through all of them


class Task:
    """A search under way.

    Attributes
    ----------
    finished
        Whether it has returned, or was ended.
    result
        The value that it returned.
    """

    __slots__ = ("finished", "missing", "result", "search", "waiters")

    def __init__(self, search: Search) -> None:
        self.search = search
        self.missing = 0  # values that it waits for
        self.finished = False
        self.result: Any = None
        self.waiters: list[Task] = []  # tasks to wake up when it has finished


@types.coroutine
def _pause(how: Callable[[Task], None]) -> Iterator[Callable[[Task], None]]:
    """Pause the search; `how` registers what it waits for."""
    yield how


class Engine:
    """Runs searches side by side, over one archive of all evaluated candidates.

    Candidates are Python integers (bit i is variable i) or rows of an array of 0 and 1, shape (rows, n). Values are
    maximized.

    Parameters
    ----------
    n
        Number of bits.
    seed
        Where all random streams come from.
    encoding
        What the bits are codes of; None for plain bits.
    repeat
        If True, candidates that were evaluated before are evaluated again.

    Attributes
    ----------
    archive
        All evaluated candidates.
    best, best_value
        The best candidate so far and its value.
    left
        Evaluations that the budget has left, without those that are reserved; None without a budget. The run sets it.
    reserved
        Evaluations that a search keeps for itself: the searches that it has started do not see them in `left`, and are
        not given them.
    timed
        Whether a limit on the time may end the run before its budget does. The run sets it.
    width
        How many candidates can be evaluated at the same time. Searches that can should have that many waiting.
    initial
        Rows to begin with, shape (rows, n); None without any.
    target
        Value that is good enough; None without one. Searches need not look at it: the run stops when it is reached.
    answered
        Candidates that searches asked for and got the values of, repeated ones included.
    explanation
        What the search chose to do, for the user.
    insight, contenders
        Functions that a search may set: what it shows of itself in reports, and the candidates that it would answer
        with where values are noisy.
    popsize
        The population size of the search; None where it has none.

    Examples
    --------
    >>> async def flip_all(f):
    ...     (start,) = await f([0])
    ...     return await f([1 << i for i in range(f.n)], parent=0)
    >>> engine = Engine(3)
    >>> task = engine.start(flip_all(engine))
    >>> engine.ask()
    [0]
    >>> engine.tell([0], [0.0])
    >>> engine.ask()
    [1, 2, 4]
    >>> engine.tell([4, 1], [1.0, 1.0])
    >>> engine.tell([2], [1.0])
    >>> engine.ask(), task.result
    ([], [1.0, 1.0, 1.0])
    """

    def __init__(self, n: int, *, seed: int = 0, encoding: Encoding | None = None, repeat: bool = False) -> None:
        self.n = n
        self.seed = seed
        self.encoding = encoding
        self.repeat = repeat
        self.archive = Archive(n)
        self.best: int | None = None
        self.best_value = -np.inf
        self.reserved = 0
        self.timed = False
        self.width = 1
        self.initial: Bits | None = None
        self.target: float | None = None
        self.answered = 0
        self.explanation: str | Callable[[], str] = ""
        self.popsize: int | None = None
        self.info: dict[str, float] = {}
        self.insight: Callable[[], Insight | None] = lambda: None
        self.contenders: Callable[[], list[int]] = list
        self.on_generation: Callable[[], bool] | None = None
        self.on_answer: Callable[[int, float, float | None, int], None] | None = None
        self.on_values: Callable[[Sequence[int], Sequence[float]], None] | None = None  # told of all values
        self.over: StopReason | None = None  # why the search has to end, where its answer is then measured
        self.is_measured = False  # whether the answer was measured on purpose
        self.by_means = False  # whether the best is what `answer` says, not the best single value
        self.is_broken_off = False  # whether the run ends in the middle of a batch, with the values that are told last
        self.own_generations = False  # whether a search says when a generation ends
        self.told: list[float] = []  # values of this generation
        self._left: int | None = None
        self._ready: deque[Task] = deque()
        self._waiting: dict[int, list[Task]] = {}  # candidate -> tasks that wait for its value
        self._measuring: dict[int, deque[tuple[Task, list[float], int]]] = {}  # the same, evaluated in any case
        self._parents: dict[int, int | None] = {}  # of candidates that wait
        self._new: list[int] = []  # candidates that were asked for by a search and not yet handed out
        self._next: list[Task] = []  # tasks to wake up when any value has arrived
        self._pending: dict[Task, Sequence[int]] = {}  # the candidates of each task that waits
        self._tasks: dict[Task, None] = {}  # all that have not finished, in the order of their start
        self._idle_calls = self._idle_candidates = 0

    # ------------------------------------------------------------ what searches use

    @overload
    async def __call__(self, candidates: Bits, parent: int | None = None) -> Fitness: ...
    @overload
    async def __call__(self, candidates: Sequence[int], parent: int | None = None) -> list[float]: ...
    async def __call__(self, candidates: Bits | Sequence[int], parent: int | None = None) -> Fitness | list[float]:
        """Evaluate candidates; those that are in the archive cost nothing.

        Parameters
        ----------
        candidates
            Integers, or rows of 0 and 1, shape (rows, n).
        parent
            The candidate that they are small changes of. Models learn from the differences.

        Returns
        -------
        list or ndarray
            Their values, to be maximized: a list for integers, an array for rows.
        """
        if isinstance(candidates, np.ndarray):
            return np.array(await self(to_candidates(self.repaired_rows(candidates))), dtype=np.float64)
        if self.repeat:
            return await self.measure(candidates)
        values = self.archive.values
        missing = [c for c in dict.fromkeys(candidates) if c not in values]
        if missing:

            def until_all_have_values(task: Task) -> None:
                task.missing = len(missing)
                self._pending[task] = candidates
                for c in missing:
                    tasks = self._waiting.get(c)
                    if tasks is None:
                        self._waiting[c], self._parents[c] = [task], parent
                        self._new.append(c)
                    else:
                        tasks.append(task)

            await _pause(until_all_have_values)
            self._idle_calls = self._idle_candidates = 0
        elif self._is_idle(len(candidates)):
            await _pause(_for_ever)
        found = [values[c] for c in candidates]
        self.answered += len(found)
        self.told += found
        return found

    async def measure(self, candidates: Sequence[int]) -> list[float]:
        """Evaluate candidates even if they are in the archive, each as often as it is given; return these values."""
        found = [np.nan] * len(candidates)

        def until_all_are_measured(task: Task) -> None:
            task.missing = len(candidates)
            self._pending[task] = candidates
            for i, c in enumerate(candidates):
                self._measuring.setdefault(c, deque()).append((task, found, i))
                self._new.append(c)

        if candidates:
            await _pause(until_all_are_measured)
        self.answered += len(found)
        self.told += found
        return found

    def repaired(self, candidates: list[int], parent: int | None = None) -> list[int]:
        """Return candidates whose bits are codes of values, as near as can be; `parent` is what they are changes of.

        Plain bits stay as they are. A search that flips bits needs this before it evaluates, because the repaired
        candidate is the one that is evaluated.
        """
        if self.encoding is None or not candidates:
            return candidates
        rows = to_rows(candidates, self.n)
        before = None if parent is None else to_rows([parent], self.n)[0]
        return to_candidates(self.encoding.repair(rows, parent=before))

    def repaired_rows(self, rows: Bits) -> Bits:
        """Return the same of rows, shape (rows, n), that are changes of none."""
        return rows if self.encoding is None else self.encoding.repair(rows)

    def random(self, count: int, rng: np.random.Generator) -> list[int]:
        """Return random candidates: uniform bits, or uniform values of all variables."""
        return to_candidates(self.random_rows(count, rng)) if count > 0 else []

    def random_rows(self, rows: int, rng: np.random.Generator) -> Bits:
        """Return the same as rows of bits, shape (rows, n)."""
        if self.encoding is not None:
            return self.encoding.sample(rows, rng=rng)
        return rng.integers(0, 2, (rows, self.n), dtype=np.uint8)

    @property
    def size(self) -> int:
        """How many different candidates there are."""
        return 2**self.n if self.encoding is None else self.encoding.size

    def unseen(self, rng: np.random.Generator) -> int | None:
        """Return a random candidate that was not evaluated yet; None if there is none left."""
        if len(self.archive) >= self.size:
            return None
        (candidate,) = self.random(1, rng)
        while candidate in self.archive:
            if self.encoding is None and self.n <= _LISTED:
                candidate = (candidate + 1) % 2**self.n
            else:
                (candidate,) = self.random(1, rng)
        return candidate

    def stream(self, purpose: Stream, number: int = 0) -> np.random.Generator:
        """Return the random stream of one purpose; the same one each time it is asked for."""
        return stream(self.seed, purpose, number)

    @property
    def left(self) -> int | None:
        """Evaluations that the budget has left, without those that are reserved."""
        return None if self._left is None else max(0, self._left - self.reserved)

    @left.setter
    def left(self, left: int | None) -> None:
        self._left = left

    async def values_arrive(self) -> None:
        """Wait until any value has arrived."""
        await _pause(self._next.append)

    async def together(self, searches: Iterable[Search], width: Callable[[], int]) -> list[Any]:
        """Run searches side by side, at most `width()` at a time, and return their results in their order."""
        waiting, tasks, running = iter(searches), list[Task](), set[Task]()
        more = True
        try:
            while more or running:
                while more and len(running) < width():
                    if (search := next(waiting, None)) is None:
                        more = False
                        break
                    tasks.append(task := self.start(search))
                    running.add(task)
                if not running:
                    break

                def until_one_has_finished(me: Task, which: frozenset[Task] = frozenset(running)) -> None:
                    for task in which:
                        task.waiters.append(me)

                await _pause(until_one_has_finished)
                running = {task for task in running if not task.finished}
            return [task.result for task in tasks]
        finally:
            for task in running:
                self.end(task)
            if isinstance(searches, Sequence):  # Python warns of coroutines that never began
                for search in waiting:
                    search.close()

    async def until(self, search: Search, condition: Callable[[], bool]) -> Any:
        """Run a search until it returns, or until a condition holds, which is looked at whenever values arrive."""
        task = self.start(search)
        try:
            while not task.finished and not condition():

                def until_something_happens(me: Task) -> None:
                    task.waiters.append(me)
                    self._next.append(me)

                await _pause(until_something_happens)
            return task.result
        finally:
            self.end(task)

    def start(self, search: Search) -> Task:
        """Start a search next to the others."""
        task = Task(search)
        self._tasks[task] = None
        self._ready.append(task)
        return task

    def end(self, task: Task) -> None:
        """End a search; what it has asked for, and no other search waits for, is not evaluated any more."""
        if task.finished:
            return
        self._finish(task)
        task.search.close()
        asked = self._pending.pop(task, ())
        dropped = {c for c in asked if self._drop(task, c)}
        if dropped:
            self._new = [c for c in self._new if c not in dropped]

    def report(self, **info: float) -> None:
        """Set what the records of generations show: figures by name, such as epochs or members."""
        self.info = info

    async def generation(self) -> None:
        """End a generation: the run makes a record of it, and may stop there."""
        self.own_generations = True
        if self.on_generation is not None and self.on_generation():
            await _pause(_for_ever)

    def answer(self, candidate: int, mean: float, *, error: float | None, measurements: int) -> None:
        """Say which candidate is the answer where values are noisy: the mean of several measurements decides."""
        self.by_means = True
        self.best, self.best_value = candidate, mean
        if self.on_answer is not None:
            self.on_answer(candidate, mean, error, measurements)

    # ------------------------------------------------------------ what runs the searches

    def ask(self) -> list[int]:
        """Let all searches continue as far as they can, and return the candidates to be evaluated now."""
        for _ in range(_CIRCLES):
            while self._ready:
                self._step(self._ready.popleft())
            if self._new or self._waiting or self._measuring or not self._next:
                break
            self._ready.extend(self._next)
            self._next = []
        most = self.left if self.reserved and self.left is not None else len(self._new)
        new, self._new = self._new[:most], self._new[most:]
        return new

    def tell(
        self,
        candidates: Sequence[int],
        values: Sequence[float],
        outputs: Sequence[Sequence[float] | None] | None = None,
    ) -> None:
        """Take the values of any candidates, in any order, also of some that were never asked for."""
        if self._next:
            self._ready.extendleft(reversed(self._next))  # those that watch go first
            self._next = []
        self.archive.add_all(candidates, values, self._parents, outputs)
        if not self.by_means and candidates:
            top = max(values)
            if top > self.best_value or self.best is None:
                self.best, self.best_value = candidates[values.index(top)], top
        waiting, measuring = self._waiting, self._measuring
        for i, c in enumerate(candidates):
            tasks = waiting.pop(c, None)
            if tasks is not None:
                for task in tasks:
                    task.missing -= 1
                    if not task.missing:
                        self._wake(task)
            elif measuring and c in measuring:
                task, found, at = measuring[c].popleft()
                if not measuring[c]:
                    del measuring[c]
                found[at] = values[i]
                task.missing -= 1
                if not task.missing:
                    self._wake(task)
        if self.on_values is not None:
            self.on_values(candidates, values)

    def is_wanted(self, candidate: int) -> bool:
        """Whether a search waits for a candidate that was handed out; the search may have been ended since."""
        return candidate in self._waiting or candidate in self._measuring

    @property
    def is_over(self) -> bool:
        """Whether nothing will ever be asked for again, unless values of candidates under way arrive."""
        return not (self._ready or self._new or self._waiting or self._measuring)

    def unfinished(self) -> list[float]:
        """Return the values that arrived for searches that wait for others, too: each up to the first that is missing.

        When a run ends in the middle of a batch, these have been evaluated although no search has seen them.
        """
        found: list[float] = []
        for task, candidates in self._pending.items():
            measured = next((f for queue in self._measuring.values() for t, f, _ in queue if t is task), None)
            for i, c in enumerate(candidates):
                value = self.archive.values.get(c) if measured is None else measured[i]
                if value is None or value != value:
                    break
                found.append(value)
        return found

    def close(self) -> None:
        """End all searches, those first that others were started by."""
        while self._tasks:
            task = next(iter(self._tasks))
            self._finish(task)
            with suppress(RuntimeError):  # one that awaits again while it is closed
                task.search.close()

    def _finish(self, task: Task) -> None:
        task.finished = True
        self._tasks.pop(task, None)

    def _step(self, task: Task) -> None:
        if task.finished or task.missing:  # one that waits for values may still be among those that watch others
            return
        self._pending.pop(task, None)
        try:
            how = task.search.send(None)
        except StopIteration as end:
            self._finish(task)
            task.result = end.value
            for waiter in dict.fromkeys(task.waiters):
                self._wake(waiter)
            return
        how(task)

    def _wake(self, task: Task) -> None:
        if task not in self._ready:
            self._ready.append(task)

    def _drop(self, task: Task, candidate: int) -> bool:
        """Forget that a task waits for a candidate; tell whether no task does now."""
        if queue := self._measuring.get(candidate):
            left = deque(one for one in queue if one[0] is not task)
            if left:
                self._measuring[candidate] = left
            else:
                del self._measuring[candidate]
        if tasks := self._waiting.get(candidate):
            tasks[:] = [one for one in tasks if one is not task]
            if not tasks:
                del self._waiting[candidate]
        return candidate not in self._waiting and candidate not in self._measuring

    def _is_idle(self, candidates: int) -> bool:
        self._idle_calls += 1
        self._idle_candidates += candidates
        return self._idle_calls >= IDLE_CALLS and self._idle_candidates >= IDLE_CANDIDATES


def _for_ever(task: Task) -> None:
    """Let the task wait for a value that never comes."""
    task.missing = 1
