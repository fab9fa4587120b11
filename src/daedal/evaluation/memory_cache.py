"""What is known of rows evaluated before, so that an objective need not be asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.evaluation.caller import Places
from daedal.evaluation.row_table import (
    ITEM,
    LEAST_SLOTS,
    WORD,
    RowTable,
    Words,
    hashed,
    most_rows,
    packed,
    plain,
    words_of,
)
from daedal.types import Bits, Fitness, check_bits

_DTYPES = {
    "n": np.int64,
    "young_keys": np.uint64,
    "young_values": np.float64,
    "old_keys": np.uint64,
    "old_values": np.float64,
}


class Lookup(NamedTuple):
    """What is known of the rows of a batch, and which of them are new.

    Attributes
    ----------
    values
        Of the rows that are known, shape (rows,); nan for the others.
    new_index
        Which of the new rows each row is, shape (rows,); -1 where it is known.
    first
        Where each new row occurs first, shape (new rows,).
    keys, hashes
        The rows packed, shape (rows, words), and their hashes, shape (rows,).
    """

    values: Fitness
    new_index: NDArray[np.intp]
    first: NDArray[np.intp]
    keys: Words
    hashes: Words

    @classmethod
    def all_new(cls, rows: int) -> Lookup:
        """Give that of so many rows of which nothing is known, not even which are equal."""
        everything = np.arange(rows)
        return cls(np.full(rows, np.nan), everything, everything, np.empty((0, 0), np.uint64), np.empty(0, np.uint64))

    def with_duplicates(self) -> Lookup:
        """Give the same where each of several equal rows is a new one."""
        is_new = self.new_index >= 0
        return self._replace(new_index=np.where(is_new, np.cumsum(is_new) - 1, -1), first=np.flatnonzero(is_new))

    def with_known(self, known: NDArray[np.bool_], values: Fitness) -> Lookup:
        """Give the same where some of the new rows are known after all, with their values, both shape (new rows,)."""
        is_new = self.new_index >= 0
        which = self.new_index[is_new]
        index, of_rows = self.new_index.copy(), self.values.copy()
        index[is_new] = np.where(known, -1, np.cumsum(~known) - 1)[which]
        of_rows[is_new] = np.where(known, values, np.nan)[which]
        return self._replace(values=of_rows, new_index=index, first=self.first[~known])


class MemoryCache:
    """The values of rows evaluated so far, in bounded memory.

    There are two tables, a young and an old one, each of half the memory at most. When the young one is full it
    becomes the old one, what was the old one is dropped, and a new one begins. A row of the old one that is looked for
    or added again moves to the young one. So what is dropped is what nobody asked for in a long time, and what is
    known depends on the calls alone.

    Parameters
    ----------
    n
        The length of the rows, at least 1.
    max_bytes
        The memory of both tables. While one is copied into a larger one it is up to half as much again.

    Examples
    --------
    >>> import numpy as np
    >>> known = MemoryCache(2)
    >>> known.add(np.array([[0, 1]], dtype=np.uint8), np.array([1.0]))
    >>> known.find(np.array([[0, 1], [1, 1]], dtype=np.uint8))
    (array([ 1., nan]), array([ True, False]))
    >>> len(known)
    1
    """

    def __init__(self, n: int, *, max_bytes: int = 512 * 2**20) -> None:
        if n < 1:
            raise ValueError(f"expected rows of at least one bit, got n={n}")
        self.n = n
        self.max_bytes = max_bytes
        self._words = words_of(n)
        self._most = most_rows(self._words, max_bytes // 2)
        if self._most < 1:
            least = 2 * ITEM * (LEAST_SLOTS + self._words + 1)
            raise ValueError(f"expected max_bytes of at least {least} for rows of {n} bits, got max_bytes={max_bytes}")
        self._young = RowTable(self._words, self._most)
        self._old = RowTable(self._words, self._most)
        self._shared = 0  # rows of the young table that are in the old one too

    def __len__(self) -> int:
        """Give the number of rows held."""
        return self._young.count + self._old.count - self._shared

    def look_up(self, x: Bits) -> Lookup:
        """Look for rows, shape (rows, n), and for equal ones among those that are new."""
        check_bits(x, self.n)
        young, old, rows = self._young, self._old, len(x)
        keys, hashes = np.empty((rows, self._words), np.uint64), np.empty(rows, np.uint64)
        values, indices = np.empty(rows), np.empty((3, rows), np.intp)
        new, moved = kernels.rowtable.look_up(
            plain(x),
            young.slots,
            young.keys,
            young.values,
            old.slots,
            old.keys,
            old.values,
            keys,
            hashes,
            values,
            indices,
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
        self._insert(*packed(rows), plain(values))

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
    def from_state(cls, n: int, state: Mapping[str, NDArray[Any]], *, max_bytes: int = 512 * 2**20) -> MemoryCache:
        """Make the cache that gave this state; with the same max_bytes, it also drops the same rows later.

        Examples
        --------
        >>> import numpy as np
        >>> known = MemoryCache(2)
        >>> known.add(np.array([[0, 1]], dtype=np.uint8), np.array([1.0]))
        >>> len(MemoryCache.from_state(2, known.state()))
        1
        """
        made = cls(n, max_bytes=max_bytes)
        _check_state(n, state)
        old_keys, old_values, young_keys, young_values = (
            plain(state[name]) for name in ("old_keys", "old_values", "young_keys", "young_values")
        )
        old_hashes, young_hashes = hashed(old_keys), hashed(young_keys)
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
            young, old = self._young, self._old
            young.count, shared, start = kernels.rowtable.insert(
                young.slots,
                young.keys,
                young.values,
                young.count,
                old.slots,
                old.keys,
                old.values,
                keys,
                hashes,
                values,
                start,
            )
            self._shared += shared
            if start == len(hashes):
                return
            if young.count < self._most:
                young.reserve(young.count + len(hashes) - start)
            else:
                self._old, self._young, self._shared = young, RowTable(self._words, self._most), 0


def check_values(values: Fitness, rows: int) -> None:
    """Refuse anything but one number, which is not nan, for each of so many rows.

    Examples
    --------
    >>> import numpy as np
    >>> check_values(np.array([1.0, -np.inf]), 2)
    """
    if not isinstance(values, np.ndarray) or values.shape != (rows,) or values.dtype != np.float64:
        came = (
            f"shape={values.shape}, dtype={values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        )
        raise ValueError(f"expected a float64 array of shape ({rows},), got {came}")
    if np.isnan(values).any():
        raise ValueError(f"expected a value for each row, got nan for {np.count_nonzero(np.isnan(values))} of {rows}")


@cache
def prepare() -> None:
    """Compile or load the kernels, so that the clock of a run measures the run.

    Examples
    --------
    >>> prepare()
    """
    rows = np.zeros((40, 64), dtype=np.uint8)
    rows[np.arange(40), np.arange(40)] = 1
    known = MemoryCache(64, max_bytes=2**10)  # little enough for all that can happen to happen
    known.add(rows, np.zeros(40))
    known.find(rows)
    MemoryCache.from_state(64, known.state(), max_bytes=2**10)


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
        if n % WORD and (keys[:, -1] >> np.uint64(n % WORD)).any():
            raise ValueError(f"expected rows of {n} bits in the state of a cache, got longer ones in {age}_keys")
