"""All rows that an optimizer has asked for: packed, each once, with its value and the row that it is a change of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.settings.checks import check_fits
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State, StateError, words_of

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_WORD = 64  # bits
_LEAST = 1024  # rows
_MOST_LISTED = 24  # variables, where all rows can be gone through


def pack(rows: Bits) -> Words:
    """Give rows, shape (rows, n), as words, shape (rows, words)."""
    keys, hashes = np.empty((len(rows), words_of(rows.shape[1])), np.uint64), np.empty(len(rows), np.uint64)
    kernels.rowtable.pack_rows(np.require(rows, np.uint8, ["C", "W"]), keys, hashes)
    return keys


def unpack(keys: Words, n: int) -> Bits:
    """Give packed rows, shape (rows, words), as bits, shape (rows, n)."""
    rows = np.empty((len(keys), n), np.uint8)
    kernels.jobs.unpack_rows(np.require(keys, np.uint64, ["C", "W"]), rows)
    return rows


class RowMemory:
    """Rows with places, in the order in which they came; the last ones may wait for their values.

    Attributes
    ----------
    n
        Number of variables.
    encoding
        What the bits are codes of, or None; rows are repaired as they come.
    table
        What kernels take: see `daedal.kernels.jobs.Memory`.
    """

    def __init__(self, n: int, encoding: Encoding | None = None) -> None:
        self.n = n
        self.encoding = encoding
        self.table = self._table()

    def _table(self) -> kernels.jobs.Memory:
        slots, words = _slots(_LEAST), words_of(self.n)
        _check_fits(words, slots)
        return kernels.jobs.Memory(
            slots=np.zeros(slots, np.uint64),
            keys=np.empty((_capacity(slots), words), np.uint64),
            values=np.empty(_capacity(slots)),
            parents=np.empty(_capacity(slots), np.int64),
            counts=np.zeros(2, np.int64),
            code=kernels.repair.no_code() if self.encoding is None else self.encoding.code,
        )

    @property
    def count(self) -> int:
        """Rows that have a place."""
        return int(self.table.counts[0])

    @property
    def known(self) -> int:
        """Rows whose value is known: the first ones."""
        return int(self.table.counts[1])

    @property
    def waiting(self) -> int:
        """Rows that wait for their values: the last ones."""
        return self.count - self.known

    @property
    def is_full(self) -> bool:
        """Whether every row there is has a place."""
        return self.count.bit_length() > self.n if self.encoding is None else self.count >= self.encoding.size

    def values(self, places: Integers) -> Fitness:
        """Give values, shape (rows,), of rows by their places."""
        return self.table.values[places]

    def keys(self, places: Integers) -> Words:
        """Give packed rows, shape (rows, words), by their places."""
        return self.table.keys[places]

    def waiting_rows(self) -> Bits:
        """Give the rows that wait for their values, shape (rows, n)."""
        return unpack(self.table.keys[self.known : self.count], self.n)

    def answer(self, values: Fitness) -> None:
        """Take the values, shape (rows,), of the rows that waited, or of the first of them."""
        end = self.known + len(values)
        self.table.values[self.known : end] = values
        self.table.counts[1] = end

    def add(self, rows: Words) -> Integers:
        """Give the places of packed rows, shape (rows, words); new ones wait for their values from now on."""
        self.reserve(len(rows))
        return np.array([kernels.jobs.place_of(self.table, row, -1) for row in rows], dtype=np.int64)

    def add_rows(self, rows: Bits) -> Integers:
        """Give the places of rows, shape (rows, n); a new one waits for its value, as a change of the nearest known."""
        keys = pack(rows)
        self.reserve(len(keys))
        return np.array([kernels.jobs.place_near(self.table, row) for row in keys], dtype=np.int64)

    def add_unseen(self, draw: Callable[[], Words]) -> int:
        """Give the place of a row that is new: a random one, which `draw` gives packed; -1 where none is left."""
        if self.is_full:
            return -1
        self.reserve(1)
        if self.encoding is None and self.n <= _MOST_LISTED:
            return int(kernels.flipping.add_unseen(self.table, draw()[0], 2**self.n))
        count = self.count
        while self.count == count:
            place = int(self.add(draw())[0])
        return place

    def random_rows(self, count: int, draws: Words) -> Words:
        """Give random rows, packed, shape (count, words), or none below 0; draws (1,) moves on."""
        if self.encoding is not None:
            rng = np.random.Generator(np.random.SFC64(int(kernels.draws.draw_word(draws))))
            return pack(self.encoding.sample(max(0, count), rng=rng))
        rows = np.empty((max(0, count), words_of(self.n)), np.uint64)
        for row in rows:
            kernels.draws.draw_row(draws, self.n, row)
        return rows

    def reserve(self, rows: int) -> None:
        """Make room for so many new rows: one array after the other, so that no two tables are held at a time."""
        need, count = self.count + rows, self.count
        if need <= len(self.table.values):
            return
        slots = _slots(max(need, len(self.table.values) + 1))
        _check_fits(words_of(self.n), slots, copied=count)
        self.table = self.table._replace(slots=np.zeros(0, np.uint64))  # made anew below
        for name in ("keys", "values", "parents"):
            longer: dict[str, Any] = {name: _longer(getattr(self.table, name), _capacity(slots), count)}
            self.table = self.table._replace(**longer)
        self.table = self.table._replace(slots=np.zeros(slots, np.uint64))
        kernels.rowtable.rebuild(self.table.slots, self.table.keys, count)

    def grow(self) -> None:
        """Make room for more rows than there is now."""
        self.reserve(len(self.table.values) - self.count + 1)

    def state(self) -> State:
        """Give all rows and values."""
        count = self.count
        arrays = {"keys": self.table.keys[:count].copy(), "parents": self.table.parents[:count].copy()}
        return State(arrays={**arrays, "values": self.table.values[: self.known].copy()}, fields={})

    def restore(self, state: State) -> None:
        """Take what another memory gave; refuse what is none."""
        keys, numbers = state.array("keys"), state.floats("values")
        count = len(keys)
        if keys.dtype != np.uint64 or keys.shape != (count, words_of(self.n)) or len(numbers) > count:
            raise StateError(
                f"expected packed rows of {self.n} bits with their values in the memory of an optimizer, got rows of "
                f"shape={keys.shape}, dtype={keys.dtype} and {len(numbers)} values"
            )
        parents = state.wholes("parents", shape=(count,), least=-1, most=count - 2)
        if not (parents < np.arange(count)).all():
            raise StateError("expected each row to come after the one that it is a change of, got some before")
        if self.n % _WORD and count and (keys[:, -1] >> np.uint64(self.n % _WORD)).any():
            raise StateError(f"expected packed rows of {self.n} bits, got longer ones")
        self.table = self._table()
        self.reserve(count)
        self.table.keys[:count], self.table.parents[:count] = keys, parents
        self.table.values[: len(numbers)] = numbers
        self.table.counts[:] = count, len(numbers)
        if kernels.rowtable.rebuild(self.table.slots, self.table.keys, count) != count:
            raise StateError("expected each row once in the memory of an optimizer, got some more than once")


def _slots(rows: int) -> int:
    """Give a power of two, of which so many rows take at most two thirds."""
    return 1 << (3 * rows // 2).bit_length()


def _capacity(slots: int) -> int:
    return 2 * slots // 3


def _check_fits(words: int, slots: int, *, copied: int = 0) -> None:
    """Refuse a table that memory does not hold, beside the rows that are copied to it."""
    check_fits(
        8 * (_capacity(slots) * (words + 2) + slots + copied * words),
        f"remembering {_capacity(slots):,} rows of about {64 * words:,} bits",
        advice="give fewer max_evaluations, or take the algorithm umda, which remembers a population",
    )


def _longer(array: NDArray[Any], capacity: int, count: int) -> NDArray[Any]:
    """Give an array of more rows that begins like another one; memory is taken only where something is written."""
    longer = np.empty((capacity, *array.shape[1:]), array.dtype)
    longer[:count] = array[:count]
    return longer
