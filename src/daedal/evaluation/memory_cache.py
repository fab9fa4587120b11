"""What is known of rows evaluated before, so that an objective need not be asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.kernels import rowtable
from daedal.kernels.rowtable import WORD, Words
from daedal.types import Bits, Fitness, check_bits

_ITEM = 8  # bytes of a word, a value, a slot
_LEAST_SLOTS = 16
_DTYPES = {
    "n": np.int64,
    "young_keys": np.uint64,
    "young_values": np.float64,
    "old_keys": np.uint64,
    "old_values": np.float64,
}


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
        self._words = _words(n)
        self._most = _most_rows(self._words, max_bytes // 2)
        if self._most < 1:
            least = 2 * _ITEM * (_LEAST_SLOTS + self._words + 1)
            raise ValueError(f"expected max_bytes of at least {least} for rows of {n} bits, got max_bytes={max_bytes}")
        self._young = _Table(self._words, self._most)
        self._old = _Table(self._words, self._most)
        self._shared = 0  # rows of the young table that are in the old one too

    def __len__(self) -> int:
        """Give the number of rows held."""
        return self._young.count + self._old.count - self._shared

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, shape (rows,), nan where unknown, and whether they are known, shape (rows,)."""
        check_bits(rows, self.n)
        keys, hashes = _packed(rows)
        values = np.full(len(rows), np.nan)
        known = np.zeros(len(rows), dtype=np.bool_)
        self._young.look_up(keys, hashes, values, known)
        in_young = known.copy()
        if self._old.count and self._old.look_up(keys, hashes, values, known):
            moved = known & ~in_young
            self._insert(keys[moved], hashes[moved], values[moved])
        return values, known

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take rows, shape (rows, n), and their values, shape (rows,); of a row already there the first value stays."""
        check_bits(rows, self.n)
        check_values(values, len(rows))
        self._insert(*_packed(rows), _plain(values))

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
        parts = [(_plain(state[f"{age}_keys"]), _plain(state[f"{age}_values"])) for age in ("old", "young")]
        if max(len(values) for _, values in parts) > made._most:  # the memory is less than it was
            for keys, values in parts:
                made._insert(keys, _hashes(keys), values)
            return made
        made._old.fill(*parts[0])
        made._young.fill(*parts[1])
        keys = parts[1][0]
        made._shared = made._old.look_up(keys, _hashes(keys), np.empty(len(keys)), np.zeros(len(keys), dtype=np.bool_))
        return made

    def _insert(self, keys: Words, hashes: Words, values: Fitness) -> None:
        start = 0
        while True:
            young, old = self._young, self._old
            young.count, shared, start = rowtable.insert(
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
                self._old, self._young, self._shared = young, _Table(self._words, self._most), 0


class _Table:
    """The arrays of one hash table, see `daedal.kernels.rowtable`: at most two thirds of the slots are taken."""

    def __init__(self, words: int, most: int, slots: int = _LEAST_SLOTS) -> None:
        self.most = most
        self.count = 0
        capacity = _capacity(slots, most)
        self.slots = np.zeros(slots, dtype=np.uint64)
        self.keys = np.empty((capacity, words), dtype=np.uint64)
        self.values = np.empty(capacity)

    def reserve(self, rows: int) -> None:
        """Make room for so many rows, or as many as it may ever hold."""
        slots = self.slots.size
        while _capacity(slots, self.most) < min(rows, self.most):
            slots *= 2
        capacity = _capacity(slots, self.most)
        keys, values = np.empty((capacity, self.keys.shape[1]), dtype=np.uint64), np.empty(capacity)
        keys[: self.count] = self.keys[: self.count]
        values[: self.count] = self.values[: self.count]
        self.keys, self.values, self.slots = keys, values, np.zeros(slots, dtype=np.uint64)
        rowtable.rebuild(self.slots, self.keys, self.count)

    def fill(self, keys: Words, values: Fitness) -> None:
        """Take these rows, not more than it may hold, while it is empty."""
        self.reserve(len(values))
        self.keys[: len(keys)] = keys
        self.values[: len(values)] = values
        self.count = len(values)
        if rowtable.rebuild(self.slots, self.keys, self.count) != self.count:
            raise ValueError("expected each row once in each table of the state of a cache, got some more than once")

    def look_up(self, keys: Words, hashes: Words, values: Fitness, known: NDArray[np.bool_]) -> int:
        """Look for what is not known yet, see the kernel."""
        found: int = rowtable.look_up(self.slots, self.keys, self.values, keys, hashes, values, known)
        return found


def distinct(rows: Bits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find equal rows, shape (rows, n).

    Returns
    -------
    first
        Where each distinct row occurs first, in this order, shape (distinct rows,).
    inverse
        Which of the distinct rows each row is, shape (rows,): rows[first][inverse] equals rows.

    Examples
    --------
    >>> import numpy as np
    >>> first, inverse = distinct(np.array([[1, 1], [0, 1], [1, 1]], dtype=np.uint8))
    >>> first, inverse
    (array([0, 1]), array([0, 1, 0]))
    """
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        raise ValueError(f"expected a uint8 array of shape (rows, n), got {type(rows).__name__}")
    check_bits(rows, rows.shape[1])
    slots = _LEAST_SLOTS
    while _capacity(slots, len(rows)) < len(rows):
        slots *= 2
    first, inverse, which = np.empty((3, len(rows)), dtype=np.intp)
    count = rowtable.distinct_rows(np.zeros(slots, dtype=np.uint64), _packed(rows)[0], first, inverse, which)
    return first[:count].copy(), inverse


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
    distinct(rows)


def _words(n: int) -> int:
    return -(-n // WORD)


def _capacity(slots: int, most: int) -> int:
    return min(2 * slots // 3, most)


def _most_rows(words: int, max_bytes: int) -> int:
    """Give the most rows that a table of so many bytes can hold."""
    most, slots = 0, _LEAST_SLOTS
    while (rows := min(2 * slots // 3, (max_bytes - _ITEM * slots) // (_ITEM * (words + 1)))) > most:
        most, slots = rows, 2 * slots
    return most


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array, or a copy where it is of a kind, such as read-only, for which kernels would be compiled anew."""
    return np.require(array, requirements=["C", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])


def _packed(rows: Bits) -> tuple[Words, Words]:
    """Give the rows as words, shape (rows, words), and their hashes, shape (rows,)."""
    keys = np.empty((len(rows), _words(rows.shape[1])), dtype=np.uint64)
    rowtable.pack(_plain(rows), keys)
    return keys, _hashes(keys)


def _hashes(keys: Words) -> Words:
    hashes = np.empty(len(keys), dtype=np.uint64)
    rowtable.hash_rows(keys, hashes)
    return hashes


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
        if values.ndim != 1 or keys.shape != (len(values), _words(n)):
            raise ValueError(
                f"expected {age}_keys of shape (rows, {_words(n)}) and {age}_values of shape (rows,) in the state of a "
                f"cache, got shapes {keys.shape} and {values.shape}"
            )
        if np.isnan(values).any():
            raise ValueError(f"expected a value for each row in the state of a cache, got nan in {age}_values")
        if n % WORD and (keys[:, -1] >> np.uint64(n % WORD)).any():
            raise ValueError(f"expected rows of {n} bits in the state of a cache, got longer ones in {age}_keys")
