"""What is known of rows evaluated before: against dictionaries, in little memory, saved and restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every, found
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.memory_cache import Lookup, MemoryCache, check_values, prepare
from daedal.kernels import rowtable
from daedal.types import Bits

LENGTHS = (1, 2, 5, 63, 64, 65, 128, 200)
Calls = tuple[int, list[tuple[str, Bits, list[float]]]]


class SlowCache:
    """The cache's twin: two dictionaries, of so many rows at most."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.young: dict[bytes, float] = {}
        self.old: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self.young | self.old)

    def find(self, rows: Bits) -> list[float | None]:
        keys = [row.tobytes() for row in rows]
        values = [self.young.get(key, self.old.get(key)) for key in keys]
        in_old = [(key, self.old[key]) for key in keys if key not in self.young and key in self.old]
        for key, value in in_old:
            self._add(key, value)
        return values

    def add(self, rows: Bits, values: list[float]) -> None:
        for row, value in zip(rows, values, strict=True):
            self._add(row.tobytes(), value)

    def _add(self, key: bytes, value: float) -> None:
        if key in self.young:
            return
        if len(self.young) == self.most:
            self.young, self.old = {}, self.young
        self.young[key] = self.old.get(key, value)


@st.composite
def calls(draw: st.DrawFn) -> Calls:
    """Rows of one length, few enough different ones that many come again, to find and to add."""
    n = draw(st.sampled_from(LENGTHS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool = rng.integers(0, 2, (draw(st.integers(1, 80)), n), dtype=np.uint8)
    made = []
    for what in draw(st.lists(st.sampled_from(("find", "add", "add new")), max_size=12)):
        chosen = pool[rng.integers(0, len(pool), rng.integers(0, 60))]
        special = rng.choice([-np.inf, -1.5, 0.0, 2.0, np.inf], len(chosen))
        made.append((what, chosen, np.where(rng.random() < 0.3, special, rng.random(len(chosen))).tolist()))
    return n, made


def check_lookup(lookup: Lookup, rows: Bits, known: list[float | None]) -> None:
    """New rows are numbered in the order in which they first occur; equal ones have one number."""
    first: dict[bytes, int] = {}
    for k, row in enumerate(rows):
        if known[k] is None:
            first.setdefault(row.tobytes(), k)
    assert lookup.first.tolist() == list(first.values())
    numbers = [-1 if value is not None else list(first).index(rows[k].tobytes()) for k, value in enumerate(known)]
    assert lookup.new_index.tolist() == numbers
    assert [None if np.isnan(value) else value for value in lookup.values] == known


def bytes_for(n: int, rows: int) -> int:
    """Give the least memory for caches of two tables of at most so many rows each."""
    words = -(-n // 64)
    slots = 16
    while 2 * slots // 3 < rows:
        slots *= 2
    return 2 * 8 * (slots + rows * (words + 1))


# Against dictionaries


@settings(deadline=None, max_examples=200)
@given(calls(), st.integers(1, 40), st.booleans(), st.data())
def test_it_knows_and_drops_what_its_slow_twin_does(made: Calls, most: int, little: bool, data: st.DataObject) -> None:
    """With memory enough, the twin is a plain dictionary: it drops nothing."""
    n, each = made
    max_bytes = bytes_for(n, most) if little else 2**20
    cache, slow = MemoryCache(n, max_bytes=max_bytes), SlowCache(most if little else 10**6)
    restored_at = data.draw(st.integers(0, max(len(each) - 1, 0)))
    for k, (what, rows, values) in enumerate(each):
        if k == restored_at:  # from here on, it is another one that answers
            cache = MemoryCache.from_state(n, cache.state(), max_bytes=max_bytes)
        if what == "find":
            assert found(cache, rows) == slow.find(rows)
        elif what == "add":
            cache.add(rows, np.array(values, dtype=np.float64))
            slow.add(rows, values)
        else:  # as an evaluator does: what is new, in the order in which its answers come
            lookup, known = cache.look_up(rows), slow.find(rows)
            check_lookup(lookup, rows, known)
            which = np.random.default_rng(k).permutation(len(lookup.first))[: len(lookup.first) // 2 + 1]
            new = lookup.first[which]
            cache.add_new(lookup, which, np.array(values)[new])
            slow.add(rows[new], np.array(values)[new].tolist())
        assert len(cache) == len(slow)
        state = cache.state()
        assert state["young_values"].tolist() == list(slow.young.values())
        assert state["old_values"].tolist() == list(slow.old.values())


def test_a_lookup_can_do_without_duplicates_and_learn_from_others() -> None:
    rows = every(2)[[0, 1, 2, 1, 0, 3, 2]]
    cache = MemoryCache(2)
    cache.add(every(2)[1:2], np.array([5.0]))
    lookup = cache.look_up(rows)
    assert lookup.with_duplicates().first.tolist() == [0, 2, 4, 5, 6]
    assert lookup.with_duplicates().new_index.tolist() == [0, -1, 1, -1, 2, 3, 4]
    more = lookup.with_known(np.array([True, False, True]), np.array([7.0, np.inf, 8.0]))
    assert more.first.tolist() == [2]
    assert more.new_index.tolist() == [-1, -1, 0, -1, -1, -1, 0]
    assert np.array_equal(more.values, [7.0, 5.0, np.nan, 5.0, 7.0, 8.0, np.nan], equal_nan=True)
    assert Lookup.all_new(3).new_index.tolist() == Lookup.all_new(3).first.tolist() == [0, 1, 2]


# The cache


def test_long_rows_that_differ_in_one_bit_are_not_mixed_up() -> None:
    n = 5000
    rows = np.tile(np.random.default_rng(0).integers(0, 2, n, dtype=np.uint8), (n + 1, 1))
    rows[np.arange(n), np.arange(n)] ^= 1
    cache = MemoryCache(n)
    assert len(cache.look_up(rows).first) == n + 1
    cache.add(rows, np.arange(n + 1.0))
    assert found(cache, rows) == list(range(n + 1))


def test_all_rows_of_sixteen_bits_find_their_place_in_whatever_order_of_memory_they_come() -> None:
    rows = every(16)
    cache = MemoryCache(16)
    cache.add(np.asfortranarray(rows[::2]), np.arange(0.0, 2**16, 2))
    assert found(cache, rows) == [k if k % 2 == 0 else None for k in range(2**16)]
    assert len(cache) == 2**15


@pytest.mark.parametrize("max_bytes", [5000, 2**16, 2**18, 10**6])
def test_the_memory_is_bounded_and_used(max_bytes: int) -> None:
    rows = every(16)
    cache = MemoryCache(16, max_bytes=max_bytes)
    held = 0
    for start in range(0, len(rows), 1000):
        cache.add(rows[start : start + 1000], np.zeros(len(rows[start : start + 1000])))
        tables = (cache._young, cache._old)
        assert sum(part.nbytes for table in tables for part in (table.slots, table.keys, table.values)) <= max_bytes
        assert all(table.count <= 0.7 * table.slots.size for table in tables)
        held = max(held, len(cache))
    assert held * (8 + 8 + 8) > 0.55 * max_bytes


def test_hashes_spread_over_all_their_bits() -> None:
    rows = every(12)
    keys, hashes = np.empty((4096, 1), dtype=np.uint64), np.empty(4096, dtype=np.uint64)
    rowtable.pack_rows(rows, keys, hashes)
    assert keys[:, 0].tolist() == list(range(4096))
    bits = (hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    # 64 * 12 fractions of 2048 pairs each: their standard deviation is 1/90 for coins, and none is 5 of these away
    for j in range(12):
        flipped = bits[np.arange(4096) ^ (1 << j)] ^ bits
        assert abs(flipped.mean(axis=0) - 0.5).max() < 5 / 90


# States


def filled(n: int = 70, rows: int = 500, max_bytes: int = 4000) -> MemoryCache:
    rng = np.random.default_rng(0)
    cache = MemoryCache(n, max_bytes=max_bytes)
    x = rng.integers(0, 2, (rows, n), dtype=np.uint8)
    cache.add(x, rng.random(rows))
    cache.find(x[-100:])
    return cache


def test_a_state_is_a_copy_and_in_less_memory_its_latest_rows_are_kept() -> None:
    cache = filled(max_bytes=2**20)
    for part in cache.state().values():
        part[:] = 1
    less = MemoryCache.from_state(70, cache.state(), max_bytes=4000)
    assert 0 < len(less) < len(cache)
    kept, all_values = less.state()["young_values"], cache.state()["young_values"]
    assert np.array_equal(kept, all_values[-len(kept) :])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: state.pop("old_keys"), "n, young_keys"),
        (lambda state: state.update(more=np.zeros(1)), "n, young_keys"),
        (lambda state: state.update(n=np.array([71])), r"70 bits, got n=\[71\]"),
        (lambda state: state.update(n=np.array(70)), "70 bits, got n=70"),
        (lambda state: state.update(young_values=state["young_values"].astype(np.float32)), "dtype=float32"),
        (lambda state: state.update(old_keys=state["old_keys"].astype(np.int64)), "dtype=int64"),
        (lambda state: state.update(old_keys=None), "NoneType"),
        (lambda state: state.update(young_keys=state["young_keys"][1:]), "young_keys of shape"),
        (lambda state: state.update(old_keys=state["old_keys"][:, :1]), "old_keys of shape"),
        (lambda state: state.update(old_values=state["old_values"][None]), "old_keys of shape"),
        (lambda state: state["old_values"].fill(np.nan), "nan in old_values"),
        (lambda state: state["young_keys"].fill(2**7), "longer ones in young_keys"),
        (lambda state: state["young_keys"].fill(1), "each row once"),
    ],
)
def test_a_spoiled_state_is_refused(spoil: Callable[[dict[str, Any]], object], said: str) -> None:
    state = filled().state()
    spoil(state)
    with pytest.raises(ValueError, match=said):
        MemoryCache.from_state(70, state, max_bytes=4000)


# What is refused


def test_wrong_rows_and_values_are_refused_and_nothing_is_added() -> None:
    cache = MemoryCache(3)
    right = np.zeros((2, 3), dtype=np.uint8)
    for wrong in (right[:, :2], right.astype(np.int64), right[0], right.tolist()):
        for call in (lambda rows: cache.add(rows, np.zeros(2)), cache.find, cache.look_up):
            with pytest.raises(ValueError, match="uint8 array of shape"):
                call(wrong)
    for wrong in (np.zeros(1), np.zeros((2, 1)), np.zeros(2, dtype=np.float32), [0.0, 0.0]):
        with pytest.raises(ValueError, match=r"float64 array of shape \(2,\)"):
            cache.add(right, wrong)
    with pytest.raises(ValueError, match="nan for 1 of 2"):
        cache.add(right, np.array([0.0, np.nan]))
    assert len(cache) == 0
    check_values(np.array([-np.inf, np.inf]), 2)


def test_too_little_memory_is_refused_with_what_is_enough() -> None:
    with pytest.raises(ValueError, match="at least 288 for rows of 64 bits, got max_bytes=287"):
        MemoryCache(64, max_bytes=287)
    cache = MemoryCache(64, max_bytes=288)
    rows = np.eye(64, dtype=np.uint8)[:3]
    cache.add(rows, np.arange(3.0))
    assert found(cache, rows) == [None, 1.0, 2.0]
    with pytest.raises(ValueError, match="n=0"):
        MemoryCache(0)


def test_prepare_leaves_nothing_to_compile() -> None:
    """Whatever the arrays are: read-only, in another order of memory, every second row of another one."""
    prepare()
    kernels = (rowtable.hash_rows, rowtable.pack_rows, rowtable.find_rows, rowtable.rebuild)
    kernels += (rowtable.look_up, rowtable.insert)
    before = [len(kernel.signatures) for kernel in kernels]
    assert min(before) > 0
    cache = filled()
    read_only = np.broadcast_to(np.uint8(1), (40, 70))
    state = cache.state()
    for part in state.values():
        part.flags.writeable = False
    MemoryCache.from_state(70, state, max_bytes=4000)
    MemoryCache.from_state(70, state, max_bytes=1000).add(read_only, np.broadcast_to(1.0, 40))
    for rows in (read_only, np.zeros((1, 70), dtype=np.uint8), np.zeros((70, 70), dtype=np.uint8).T[::2]):
        lookup = cache.look_up(rows)
        cache.add_new(lookup, np.arange(len(lookup.first)), np.zeros(len(lookup.first)))
    assert [len(kernel.signatures) for kernel in kernels] == before
