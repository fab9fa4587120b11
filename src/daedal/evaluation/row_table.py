"""One hash table of packed rows and their values, of bounded size; how rows are packed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.types import Bits, Fitness

Words: TypeAlias = NDArray[np.uint64]
"""Packed rows, shape (rows, words), slots, or hashes."""

WORD = 64  # bits
LEAST_SLOTS = 16
ITEM = 8  # bytes of a word, a value, a slot


class RowTable:
    """The arrays of one hash table, see `daedal.kernels.rowtable`: at most two thirds of the slots are taken.

    Parameters
    ----------
    words
        Words in a packed row.
    most
        The most rows that it may ever hold.
    """

    def __init__(self, words: int, most: int) -> None:
        self.most = most
        self.count = 0
        capacity = _capacity(LEAST_SLOTS, most)
        self.slots = np.zeros(LEAST_SLOTS, dtype=np.uint64)
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
        kernels.rowtable.rebuild(self.slots, self.keys, self.count)

    def fill(self, keys: Words, values: Fitness) -> None:
        """Take these rows, not more than it may hold, while it is empty."""
        self.reserve(len(values))
        self.keys[: len(keys)] = keys
        self.values[: len(values)] = values
        self.count = len(values)
        if kernels.rowtable.rebuild(self.slots, self.keys, self.count) != self.count:
            raise ValueError("expected each row once in each table of the state of a cache, got some more than once")


def words_of(n: int) -> int:
    """Give the number of words of a packed row of n bits."""
    return -(-n // WORD)


def most_rows(words: int, max_bytes: int) -> int:
    """Give the most rows that a table of so many bytes can hold."""
    most, slots = 0, LEAST_SLOTS
    while (rows := min(2 * slots // 3, (max_bytes - ITEM * slots) // (ITEM * (words + 1)))) > most:
        most, slots = rows, 2 * slots
    return most


def packed(rows: Bits) -> tuple[Words, Words]:
    """Give rows, shape (rows, n), as words, shape (rows, words), and their hashes, shape (rows,)."""
    keys, hashes = np.empty((len(rows), words_of(rows.shape[1])), np.uint64), np.empty(len(rows), np.uint64)
    kernels.rowtable.pack_rows(plain(rows), keys, hashes)
    return keys, hashes


def hashed(keys: Words) -> Words:
    """Give the hashes, shape (rows,), of packed rows, shape (rows, words)."""
    hashes = np.empty(len(keys), dtype=np.uint64)
    kernels.rowtable.hash_rows(keys, hashes)
    return hashes


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array, or a copy where it is of a kind, such as read-only, for which kernels would be compiled anew."""
    if type(array) is np.ndarray and array.flags.carray:
        return array
    return np.require(array, requirements=["C", "ALIGNED", "WRITEABLE", "ENSUREARRAY"])


def _capacity(slots: int, most: int) -> int:
    return min(2 * slots // 3, most)
