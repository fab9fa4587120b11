"""What is known of rows evaluated before, so that an objective need not be asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.evaluation.caller import Places
from daedal.evaluation.seen_rows import SeenRows
from daedal.types import Amounts, Bits, Fitness, check_bits, words_of

Words: TypeAlias = NDArray[np.uint64]
"""Packed rows, shape (rows, words), slots, or hashes."""

_WORD = 64  # bits
_LEAST_SLOTS = 16
_ITEM = 8  # bytes of a word, a value, a slot
_MOST_BYTES = 256 * 2**20
"""What is remembered: at n = 100 the last 2.8 million rows at least, twice as many at most. A search that remembers its
rows itself needs as much again, and a run of ten million evaluations is to take less than a gigabyte."""

_DTYPES: dict[str, type[np.generic]] = {"n": np.int64}
_DTYPES |= {"young_keys": np.uint64, "young_values": np.float64, "old_keys": np.uint64, "old_values": np.float64}


class Lookup(NamedTuple):
    """What is known of the rows of a batch, and which of them are new."""

    values: Fitness  # of the rows that are known, shape (rows,); nan for the others
    new_index: NDArray[np.intp]  # which of the new rows each row is, shape (rows,); -1 where it is known
    first: NDArray[np.intp]  # where each new row occurs first, shape (new rows,)
    keys: Words  # the rows packed, shape (rows, words)
    hashes: Words  # shape (rows,)
    amounts: Amounts | None = None  # of known rows, where a shared cache has them, shape (rows, 1 + constraints)

    @classmethod
    def all_new(cls, rows: int) -> Lookup:
        """Give that of so many rows of which nothing is known, not even which are equal."""
        everything = np.arange(rows)
        return cls(np.full(rows, np.nan), everything, everything, np.empty((0, 0), np.uint64), np.empty(0, np.uint64))

    def with_duplicates(self) -> Lookup:
        """Give the same where each of several equal rows is a new one."""
        is_new = self.new_index >= 0
        return self._replace(new_index=np.where(is_new, np.cumsum(is_new) - 1, -1), first=np.flatnonzero(is_new))

    def prefix(self, most: int) -> Lookup:
        """Give that of the first rows, as many as there are with no more than so many new ones."""
        if len(self.first) <= most:
            return self
        rows = int(self.first[most])
        amounts = None if self.amounts is None else self.amounts[:rows]
        return Lookup(
            self.values[:rows], self.new_index[:rows], self.first[:most], self.keys[:rows], self.hashes[:rows], amounts
        )

    def with_known(self, known: NDArray[np.bool_], values: Fitness, amounts: Amounts | None = None) -> Lookup:
        """Give the same where some of the new rows are known after all, with their values, both shape (new rows,).

        With constraints there are amounts, too, shape (new rows, 1 + constraints).
        """
        is_new = self.new_index >= 0
        which = self.new_index[is_new]
        index, of_rows = self.new_index.copy(), self.values.copy()
        index[is_new] = np.where(known, -1, np.cumsum(~known) - 1)[which]
        of_rows[is_new] = np.where(known, values, np.nan)[which]
        if amounts is not None:
            kept = np.full((len(index), amounts.shape[1]), np.nan)
            kept[is_new] = np.where(known[:, None], amounts, np.nan)[which]
            amounts = kept
        return self._replace(values=of_rows, new_index=index, first=self.first[~known], amounts=amounts)


class _RowTable:
    """The arrays of one hash table, see `daedal.kernels.rowtable`: at most two thirds of the slots are taken.

    It holds packed rows of so many words, and never more than `most` of them.
    """

    def __init__(self, words: int, most: int) -> None:
        self.most = most
        self.count = 0
        capacity = self._capacity(_LEAST_SLOTS)
        self.slots = np.zeros(_LEAST_SLOTS, dtype=np.uint64)
        self.keys = np.empty((capacity, words), dtype=np.uint64)
        self.values = np.empty(capacity)

    def _capacity(self, slots: int) -> int:
        return min(2 * slots // 3, self.most)

    @property
    def arrays(self) -> tuple[Words, Words, Fitness]:
        """What kernels take."""
        return self.slots, self.keys, self.values

    def reserve(self, rows: int) -> None:
        """Make room for so many rows, or as many as it may ever hold."""
        slots = self.slots.size
        while (capacity := self._capacity(slots)) < min(rows, self.most):
            slots *= 2
        self.slots = np.zeros(0, dtype=np.uint64)  # one array after the other: no two tables are held at a time
        keys = np.empty((capacity, self.keys.shape[1]), dtype=np.uint64)
        keys[: self.count] = self.keys[: self.count]
        self.keys, values = keys, np.empty(capacity)
        values[: self.count] = self.values[: self.count]
        self.values, self.slots = values, np.zeros(slots, dtype=np.uint64)
        kernels.rowtable.rebuild(self.slots, self.keys, self.count)

    def fill(self, keys: Words, values: Fitness) -> None:
        """Take these rows, not more than it may hold, while it is empty."""
        self.reserve(len(values))
        self.keys[: len(keys)] = keys
        self.values[: len(values)] = values
        self.count = len(values)
        if kernels.rowtable.rebuild(self.slots, self.keys, self.count) != self.count:
            raise ValueError("expected each row once in each table of the state of a cache, got some more than once")


class MemoryCache:
    """The values of rows evaluated so far, in at most max_bytes of memory, also while a table grows.

    There are two tables, a young and an old one, each of half the memory at most. When the young one is full it
    becomes the old one, what was the old one is dropped, and a new one begins. A row of the old one that is looked for
    or added again moves to the young one. So what is dropped is what nobody asked for in a long time, and what is
    known depends on the calls alone.
    """

    def __init__(self, n: int, *, max_bytes: int = _MOST_BYTES) -> None:
        if n < 1:
            raise ValueError(f"expected rows of at least one bit, got n={n}")
        self.n = n
        self._words = words_of(n)
        self._most = _most_rows(self._words, max_bytes // 2)
        if self._most < 1:
            least = 2 * _ITEM * (_LEAST_SLOTS + self._words + 1)
            raise ValueError(f"expected max_bytes of at least {least} for rows of {n} bits, got max_bytes={max_bytes}")
        self._young = _RowTable(self._words, self._most)
        self._old = _RowTable(self._words, self._most)
        self._shared = 0  # rows of the young table that are in the old one too

    def __len__(self) -> int:
        """Give the number of rows held."""
        return self._young.count + self._old.count - self._shared

    def look_up(self, x: Bits) -> Lookup:
        """Look for rows, shape (rows, n), and for equal ones among those that are new."""
        check_bits(x, self.n)
        keys, hashes = np.empty((len(x), self._words), np.uint64), np.empty(len(x), np.uint64)
        values, indices = np.empty(len(x)), np.empty((3, len(x)), np.intp)
        new, moved = kernels.rowtable.look_up(
            _plain(x), self._young.arrays, self._old.arrays, keys, hashes, values, indices
        )
        if moved:
            moving = indices[2, :moved]
            self._insert(keys[moving], hashes[moving], values[moving])
        return Lookup(values, indices[0], indices[1, :new], keys, hashes)

    def add_new(self, lookup: Lookup, which: Places, values: Fitness) -> None:
        """Take values, none of them nan, of some of the new rows of a look-up."""
        rows = which if len(lookup.first) == len(lookup.keys) else lookup.first[which]
        self._insert(lookup.keys[rows], lookup.hashes[rows], values)

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, shape (rows,), nan where unknown, and whether they are known, shape (rows,)."""
        lookup = self.look_up(rows)
        return lookup.values, lookup.new_index < 0

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take rows, shape (rows, n), and their values, shape (rows,); of a row already there the first value stays."""
        check_bits(rows, self.n)
        check_values(values, len(rows))
        keys, hashes = np.empty((len(rows), self._words), np.uint64), np.empty(len(rows), np.uint64)
        kernels.rowtable.pack_rows(_plain(rows), keys, hashes)
        self._insert(keys, hashes, _plain(values))

    def parts(self) -> list[tuple[Words, Fitness]]:
        """Give all packed rows and their values, oldest first, in two parts; some rows may be in both."""
        return [(table.keys[: table.count], table.values[: table.count]) for table in (self._old, self._young)]

    def state(self) -> dict[str, NDArray[Any]]:
        """Give all that is known as plain arrays, which `from_state` takes."""
        return {
            "n": np.array([self.n], dtype=np.int64),
            "young_keys": self._young.keys[: self._young.count].copy(),
            "young_values": self._young.values[: self._young.count].copy(),
            "old_keys": self._old.keys[: self._old.count].copy(),
            "old_values": self._old.values[: self._old.count].copy(),
        }

    @classmethod
    def from_state(cls, n: int, state: Mapping[str, NDArray[Any]], *, max_bytes: int = _MOST_BYTES) -> MemoryCache:
        """Make the cache that gave this state; with the same max_bytes, it also drops the same rows later."""
        made = cls(n, max_bytes=max_bytes)
        _check_state(n, state)
        old_keys, old_values, young_keys, young_values = (
            _plain(state[name]) for name in ("old_keys", "old_values", "young_keys", "young_values")
        )
        old_hashes, young_hashes = _hashed(old_keys), _hashed(young_keys)
        if max(len(old_keys), len(young_keys)) > made._most:  # the memory is less than it was
            made._insert(old_keys, old_hashes, old_values)
            made._insert(young_keys, young_hashes, young_values)
        else:
            made._old.fill(old_keys, old_values)
            made._young.fill(young_keys, young_values)
            places = np.empty(len(young_keys), np.intp)
            kernels.rowtable.find_rows(made._old.slots, made._old.keys, young_keys, young_hashes, 0, places)
            made._shared = int(np.count_nonzero(places >= 0))
        return made

    def _insert(self, keys: Words, hashes: Words, values: Fitness) -> None:
        start = 0
        while True:
            young = self._young
            young.count, shared, start = kernels.rowtable.insert(
                young.arrays, young.count, self._old.arrays, keys, hashes, values, start
            )
            self._shared += shared
            if start == len(hashes):
                return
            if young.count < self._most:
                young.reserve(young.count + len(hashes) - start)
            else:
                self._old, self._young, self._shared = young, _RowTable(self._words, self._most), 0


def check_values(values: Fitness, rows: int) -> None:
    """Refuse anything but one number, which is not nan, for each of so many rows."""
    if not isinstance(values, np.ndarray) or values.shape != (rows,) or values.dtype != np.float64:
        came = (
            f"shape={values.shape}, dtype={values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        )
        raise ValueError(f"expected a float64 array of shape ({rows},), got {came}")
    if np.isnan(values).any():
        raise ValueError(f"expected a value for each row, got nan for {np.count_nonzero(np.isnan(values))} of {rows}")


@cache
def prepare() -> None:
    """Compile or load the kernels, so that the clock of a run measures the run."""
    rows = np.zeros((40, 64), dtype=np.uint8)
    rows[np.arange(40), np.arange(40)] = 1
    known = MemoryCache(64, max_bytes=2**10)  # little enough for all that can happen to happen
    known.add(rows, np.zeros(40))
    known.find(rows)
    MemoryCache.from_state(64, known.state(), max_bytes=2**10)
    SeenRows(known, sign=1).around(rows[0])


def _check_state(n: int, state: Mapping[str, NDArray[Any]]) -> None:
    """Refuse what is not the state of a cache of rows of n bits."""
    if set(state) != set(_DTYPES):
        raise ValueError(f"expected {', '.join(_DTYPES)} as the state of a cache, got {', '.join(map(str, state))}")
    for name, dtype in _DTYPES.items():
        part = state[name]
        if not isinstance(part, np.ndarray) or part.dtype != dtype:
            came = f"dtype={part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise ValueError(f"expected a {np.dtype(dtype)} array as {name} in the state of a cache, got {came}")
    if state["n"].shape != (1,) or state["n"][0] != n:
        raise ValueError(f"expected the state of a cache of rows of {n} bits, got n={state['n'].tolist()}")
    for age in ("young", "old"):
        keys, values = state[f"{age}_keys"], state[f"{age}_values"]
        if values.ndim != 1 or keys.shape != (len(values), words_of(n)):
            raise ValueError(
                f"expected {age}_keys of shape (rows, {words_of(n)}) and {age}_values of shape (rows,) in the state "
                f"of a cache, got shapes {keys.shape} and {values.shape}"
            )
        if np.isnan(values).any():
            raise ValueError(f"expected a value for each row in the state of a cache, got nan in {age}_values")
        if n % _WORD and (keys[:, -1] >> np.uint64(n % _WORD)).any():
            raise ValueError(f"expected rows of {n} bits in the state of a cache, got longer ones in {age}_keys")


def _most_rows(words: int, max_bytes: int) -> int:
    """Give the most rows that a table of so many bytes can hold."""
    most, slots = 0, _LEAST_SLOTS
    while (rows := min(2 * slots // 3, (max_bytes - _ITEM * slots) // (_ITEM * (words + 1)))) > most:
        most, slots = rows, 2 * slots
    return most


def _hashed(keys: Words) -> Words:
    """Give the hashes, shape (rows,), of packed rows, shape (rows, words)."""
    hashes = np.empty(len(keys), dtype=np.uint64)
    kernels.rowtable.hash_rows(keys, hashes)
    return hashes


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array, or a copy where it is of a kind, such as read-only, for which kernels would be compiled anew."""
    if type(array) is np.ndarray and array.flags.carray:
        return array
    return np.require(array, requirements=["C", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])
