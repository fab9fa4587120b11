"""The values that a run knows before it calls the objective, and the file where new values are recorded.

A run is resumed by replay: it begins again with the same seed, and gets the recorded values of each candidate in the
recorded order. Nothing of the inside of a search is saved.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daedal.archive import to_candidates
from daedal.limits import ReplayWarning
from daedal.result.records import Generation
from daedal.types import Bits, Fitness, Outputs

if TYPE_CHECKING:
    from daedal.objectives.bound import BoundObjective
    from daedal.run.known import Earlier
    from daedal.run.run_file import Key, RunFile

Answer: TypeAlias = "tuple[float, Outputs | None, str | bool | None]"
"""A value as the objective gave it, nan if it failed; the outputs of constraints; and why it failed: None if it did
not, False if the value is free because it was known before the run."""


class Journal:
    """Recorded values that are replayed, values that are free because they were known before, and a file for new ones.

    It is false if nothing is known, so that a run without a past need not look.

    Parameters
    ----------
    file
        Where new values are recorded; None for nowhere.
    keys_of
        Returns how the file names rows of bits in the objective's own order of variables.
    recorded
        Candidates with their values, in the order in which an earlier part of this run got them.
    known
        Candidates with values that are free.
    budgets
        The limits on evaluations of the parts of the run: from how many evaluations on, and the limit. A search that
        looks at the evaluations that are left sees those of then while it is replayed.
    records
        What an earlier part of the run has recorded of its generations: their times count.
    """

    def __init__(
        self,
        file: RunFile | None = None,
        *,
        keys_of: Callable[[Bits], Sequence[Key]] = lambda rows: [],
        recorded: Iterable[tuple[int, Answer]] = (),
        known: Iterable[tuple[int, Answer]] = (),
        budgets: Sequence[tuple[int, int | None]] = (),
        records: Iterable[Generation] = (),
    ) -> None:
        self.file = file
        self.budgets = list(budgets)
        self._order, self._answers = list[int](), list[Answer]()
        if pairs := list(recorded):
            self._order, self._answers = map(list, zip(*pairs, strict=True))
        self._at = 0  # the place of the next one to be replayed
        self._index: dict[int, deque[Answer]] | None = None  # those to be replayed, once they come in another order
        self._left = len(self._order)  # how many these are
        self._is_plain = all(own is None and error is None and value == value for value, own, error in self._answers)
        self._known = dict(known)
        self._keys_of = keys_of
        self._records = {record.generation: record for record in records}
        self._free = 0  # free values that were recorded

    def __bool__(self) -> bool:
        return self._left > 0 or bool(self._known)

    @property
    def is_replaying(self) -> bool:
        """Whether recorded values are left."""
        return self._left > 0

    def budget(self, evaluations: int, most: int | None) -> int | None:
        """Return the limit on evaluations that was in force after a number of them. `most` is the present limit."""
        if len(self.budgets) > 1:
            for following, (_, limit) in zip(self.budgets[1:], self.budgets, strict=False):
                if evaluations < following[0]:
                    return limit
        return most

    def next_values(self, batch: list[int], left: int | None) -> list[float] | None:
        """Return the values of as much of a batch as so many evaluations suffice for, if they are recorded next.

        This is the short way. None if they are not, or if there are constraints or failures: see `find`.
        """
        batch = batch[:left]
        end = self._at + len(batch)
        if self._index is not None or not self._is_plain or self._order[self._at : end] != batch:
            return None
        values = [value for value, _, _ in self._answers[self._at : end]]
        self._at, self._left = end, self._left - len(batch)
        return values

    def find(self, batch: list[int], left: int | None) -> tuple[list[int], dict[int, Answer]]:
        """Return as much of a batch as a number of evaluations suffices for, and its known values by place."""
        found: dict[int, Answer] = {}
        for at, candidate in enumerate(batch):
            answer = self._take(candidate)
            free = answer is not None and answer[2] is False
            if left is not None and not free:
                if left == 0:
                    self._give_back(candidate, answer)
                    batch = batch[:at]
                    break
                left -= 1
            if answer is not None:
                found[at] = answer
        if len(found) < len(batch) and self._left:
            self._diverge()
        return batch, found

    def next_of(self, waiting: Iterable[int]) -> tuple[int, Answer] | None:
        """Return the next recorded candidate, which has to be among those that wait, or else one that is free."""
        waiting = list(waiting)
        if self._left and waiting:
            candidate, answer = self._order[self._at], self._answers[self._at]
            if candidate in waiting:
                self._at, self._left = self._at + 1, self._left - 1
                return candidate, answer
            self._diverge()
        return next(((c, self._known[c]) for c in waiting if c in self._known), None)

    def append(
        self,
        rows: Bits,
        values: Fitness,
        outputs: Outputs | None,
        errors: Sequence[str | None] | None,
        numbers: Sequence[int],
    ) -> None:
        """Record the answers of the objective for rows in its own order of variables, with their numbers in the run."""
        if self.file is not None:
            listed = None if outputs is None else outputs.tolist()
            self.file.append(self._keys_of(rows), values.tolist(), listed, errors, numbers=numbers)

    def append_free(self, rows: Bits, answers: Sequence[Answer]) -> None:
        """Record values that are free, so that the run can be resumed without their source."""
        if self.file is not None:
            numbers = range(-self._free - 1, -self._free - len(rows) - 1, -1)
            values = [value for value, _, _ in answers]
            outputs = [None if own is None else own[0].tolist() for _, own, _ in answers]
            self.file.append(self._keys_of(rows), values, outputs, numbers=numbers, known=True)
            self._free += len(rows)

    def record(self, record: Generation) -> Generation | None:
        """Record the figures of a generation; return those that an earlier part of the run has recorded, if any."""
        if self.file is None:
            return None
        before = self._records.get(record.generation)
        if before is not None and (before.evaluations, before.repeated) == (record.evaluations, record.repeated):
            return before
        from daedal.result.result import record_to_json

        self.file.record(record.generation, record_to_json(record))
        return None

    def flush(self) -> None:
        """Write everything to disk."""
        if self.file is not None:
            self.file.flush()

    def _by_candidate(self) -> dict[int, deque[Answer]]:
        """Return what is left to be replayed by candidate, because the search asks for it in another order."""
        if self._index is None:
            self._index = {}
            for place in range(self._at, len(self._order)):
                self._index.setdefault(self._order[place], deque()).append(self._answers[place])
        return self._index

    def _take(self, candidate: int) -> Answer | None:
        if self._left and (answers := self._by_candidate().get(candidate)):
            self._left -= 1
            return answers.popleft()
        return self._known.get(candidate)

    def _give_back(self, candidate: int, answer: Answer | None) -> None:
        if answer is not None:
            self._by_candidate().setdefault(candidate, deque()).appendleft(answer)
            self._left += 1

    def _diverge(self) -> None:
        """Continue with all recorded values free, because the search asks for other candidates than before."""
        warnings.warn(
            f"the search does not ask for the recorded candidates (another version or machine?); it continues, and the "
            f"{self._left:,} values that are left in the run file are free",
            ReplayWarning,
            stacklevel=2,
        )
        for candidate, answers in self._by_candidate().items():
            for value, outputs, _ in list(answers)[:1]:
                self._known.setdefault(candidate, (value, outputs, False))
        self._order, self._answers, self._index = [], [], {}
        self._at = self._left = 0


def open_journal(
    file: RunFile | None,
    objective: BoundObjective,
    *,
    names: Sequence[str] | None = None,
    known: Iterable[tuple[int, Answer]] = (),
    source: Earlier | None = None,
) -> Journal:
    """Return the journal of a run: what its file has, and earlier evaluations, which are free.

    Parameters
    ----------
    file
        Where the run is recorded, if it is.
    objective
        What is optimized.
    names
        Names of bits.
    known
        Values that are free, of candidates as the engine has them.
    source
        Earlier evaluations as the user gives them.
    """
    from daedal.result.result import record_from_json
    from daedal.run.known import from_keys, load_known, to_keys

    space, n = objective.space, objective.n

    def candidates_of(keys: Sequence[Key]) -> list[int]:
        if space is None and objective.order is None:  # a key has the bits of a candidate
            return [int.from_bytes(key, "little") for key in keys]  # type: ignore[arg-type]
        return to_candidates(objective.to_optimizer(from_keys(keys, n, space))) if keys else []

    def one(own: tuple[float, ...] | None) -> Outputs | None:
        return None if own is None else np.array([own])

    free = dict(known)
    if source is not None:
        earlier = load_known(source, n=n, space=space, names=names)
        answers = zip(earlier.values, earlier.outputs, strict=True)
        for candidate, (worth, own) in zip(candidates_of(earlier.keys), answers, strict=True):
            free.setdefault(candidate, (worth, one(own), False))
        if earlier.skipped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in earlier.skipped.items())
            warnings.warn(f"some of the known evaluations are left out: {reasons}", ReplayWarning, stacklevel=4)
    recorded: list[tuple[int, Answer]] = []
    for keys, values, outputs, errors, are_free in () if file is None else file.pieces():
        candidates = candidates_of(keys)
        if not any(outputs) and not any(errors) and not any(are_free) and None not in values:
            recorded += zip(candidates, zip(values, repeat(None), repeat(None)), strict=True)
            continue
        for candidate, value, own, error, is_free in zip(candidates, values, outputs, errors, are_free, strict=True):
            answer: Answer = (np.nan if value is None else value, one(own), False if is_free else error)
            if is_free:
                free.setdefault(candidate, answer)
            else:
                recorded.append((candidate, answer))
    return Journal(
        file,
        keys_of=lambda rows: to_keys(rows, space),
        recorded=recorded,
        known=free.items(),
        budgets=[] if file is None else file.budgets,
        records=[] if file is None else [record_from_json(one) for one in file.records],
    )
