"""What is known of rows evaluated before: against dictionaries, in little memory, saved and restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.memory_cache import MemoryCache, check_values, distinct, prepare
from daedal.kernels import rowtable
from daedal.types import Bits

LENGTHS = (1, 2, 5, 63, 64, 65, 128, 200)


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
        found = [self.young.get(key, self.old.get(key)) for key in keys]
        in_old = [(key, self.old[key]) for key in keys if key not in self.young and key in self.old]
        for key, value in in_old:
            self._add(key, value)
        return found

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
def calls(draw: st.DrawFn) -> tuple[int, list[tuple[str, Bits, list[float]]]]:
    """Rows of one length, few enough different ones that many come again, to find and to add."""
    n = draw(st.sampled_from(LENGTHS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool = rng.integers(0, 2, (draw(st.integers(1, 80)), n), dtype=np.uint8)
    made = []
    for what in draw(st.lists(st.sampled_from(("find", "add")), max_size=12)):
        chosen = pool[rng.integers(0, len(pool), rng.integers(0, 60))]
        values = (
            rng.choice([-np.inf, -1.5, 0.0, 2.0, np.inf], len(chosen))
            if rng.random() < 0.3
            else rng.random(len(chosen))
        )
        made.append((what, chosen, values.tolist()))
    return n, made


def bytes_for(n: int, rows: int) -> int:
    """Give the least memory for caches of two tables of at most so many rows each."""
    words = -(-n // 64)
    slots = 16
    while 2 * slots // 3 < rows:
        slots *= 2
    return 2 * 8 * (slots + rows * (words + 1))


def answers(cache: MemoryCache, rows: Bits) -> list[float | None]:
    values, known = cache.find(rows)
    assert values.shape == known.shape == (len(rows),)
    assert values.dtype == np.float64
    assert known.dtype == np.bool_
    assert np.isnan(values[~known]).all()
    return [float(value) if is_known else None for value, is_known in zip(values, known, strict=True)]


def every(n: int) -> Bits:
    """All rows of n bits."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.uint8)


# Against dictionaries


@settings(deadline=None, max_examples=150)
@given(calls())
def test_with_memory_enough_it_is_a_dictionary(made: tuple[int, list[tuple[str, Bits, list[float]]]]) -> None:
    n, each = made
    cache, known = MemoryCache(n), dict[bytes, float]()
    for what, rows, values in each:
        if what == "add":
            cache.add(rows, np.array(values, dtype=np.float64))
            for row, value in zip(rows, values, strict=True):
                known.setdefault(row.tobytes(), value)
        else:
            assert answers(cache, rows) == [known.get(row.tobytes()) for row in rows]
        assert len(cache) == len(known)


@settings(deadline=None, max_examples=150)
@given(calls(), st.integers(1, 40), st.data())
def test_in_little_memory_it_drops_what_its_slow_twin_drops(
    made: tuple[int, list[tuple[str, Bits, list[float]]]], most: int, data: st.DataObject
) -> None:
    n, each = made
    max_bytes = bytes_for(n, most)
    cache, slow = MemoryCache(n, max_bytes=max_bytes), SlowCache(most)
    restored_at = data.draw(st.integers(0, max(len(each) - 1, 0)))
    for k, (what, rows, values) in enumerate(each):
        if k == restored_at:  # from here on, it is another one that answers
            cache = MemoryCache.from_state(n, cache.state(), max_bytes=max_bytes)
        if what == "add":
            cache.add(rows, np.array(values, dtype=np.float64))
            slow.add(rows, values)
        else:
            assert answers(cache, rows) == slow.find(rows)
        assert len(cache) == len(slow) <= 2 * most
        for part, expected in (("young", slow.young), ("old", slow.old)):
            state = cache.state()
            assert state[f"{part}_values"].tolist() == list(expected.values())


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(LENGTHS), st.integers(0, 300), st.integers(1, 100), st.integers(0, 2**32 - 1))
def test_distinct_rows_are_those_of_a_dictionary(n: int, rows: int, pool: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (pool, n), dtype=np.uint8)[rng.integers(0, pool, rows)]
    first, inverse = distinct(x)
    places: dict[bytes, int] = {}
    for k, row in enumerate(x):
        places.setdefault(row.tobytes(), k)
    assert first.tolist() == list(places.values())
    assert np.array_equal(x[first][inverse], x)
    assert first.dtype == inverse.dtype == np.intp


# The cache


def test_long_rows_that_differ_in_one_bit_are_not_mixed_up() -> None:
    n = 5000
    rows = np.tile(np.random.default_rng(0).integers(0, 2, n, dtype=np.uint8), (n + 1, 1))
    rows[np.arange(n), np.arange(n)] ^= 1
    cache = MemoryCache(n)
    cache.add(rows, np.arange(n + 1.0))
    assert answers(cache, rows) == list(range(n + 1))
    assert len(distinct(rows)[0]) == n + 1


def test_all_rows_of_sixteen_bits_find_their_place() -> None:
    rows = every(16)
    cache = MemoryCache(16)
    cache.add(rows[::2], np.arange(0.0, 2**16, 2))
    values, known = cache.find(rows)
    assert known.tolist() == [True, False] * 2**15
    assert values[known].tolist() == list(range(0, 2**16, 2))
    assert len(cache) == 2**15


def test_rows_in_another_order_of_memory_are_the_same_rows() -> None:
    rows = every(8)
    cache = MemoryCache(8)
    cache.add(np.asfortranarray(rows), np.arange(256.0))
    assert answers(cache, np.repeat(rows, 2, axis=0)[::2]) == list(range(256))


def test_what_is_asked_for_again_and_again_is_not_dropped() -> None:
    rows = every(10)
    cache = MemoryCache(10, max_bytes=bytes_for(10, 20))
    cache.add(rows[:1], np.array([7.0]))
    for start in range(1, len(rows) - 10, 10):
        cache.add(rows[start : start + 10], np.zeros(10))
        assert answers(cache, rows[:1]) == [7.0]
    assert not cache.find(rows[1:11])[1].any()


def test_the_memory_is_bounded_and_used() -> None:
    rows = every(16)
    for max_bytes in (5000, 2**16, 2**18, 10**6):
        cache = MemoryCache(16, max_bytes=max_bytes)
        held = 0
        for start in range(0, len(rows), 1000):
            cache.add(rows[start : start + 1000], np.zeros(len(rows[start : start + 1000])))
            tables = (cache._young, cache._old)
            used = sum(part.nbytes for table in tables for part in (table.slots, table.keys, table.values))
            assert used <= max_bytes
            for table in tables:
                assert table.count <= 0.7 * table.slots.size
            held = max(held, len(cache))
        assert held * (8 + 8 + 8) > 0.55 * max_bytes


def test_a_batch_larger_than_the_memory_leaves_its_last_rows() -> None:
    rows = every(12)
    cache = MemoryCache(12, max_bytes=bytes_for(12, 30))
    cache.add(rows, np.arange(4096.0))
    assert answers(cache, rows[-30:])[-1] == 4095.0
    assert 30 < len(cache) <= 60


def test_no_rows_are_fine() -> None:
    cache = MemoryCache(3)
    none = np.zeros((0, 3), dtype=np.uint8)
    cache.add(none, np.zeros(0))
    assert answers(cache, none) == []
    assert [part.tolist() for part in distinct(none)] == [[], []]
    assert len(cache) == 0


def test_neither_the_rows_nor_the_state_are_shared() -> None:
    rows, values = every(3), np.arange(8.0)
    cache = MemoryCache(3)
    cache.add(rows, values)
    state = cache.state()
    for part in (rows, values, *state.values()):
        part[:] = 1
    assert answers(cache, every(3)) == list(range(8))
    assert len(cache) == 8


def test_hashes_spread_over_all_their_bits() -> None:
    rows = every(12)
    keys, hashes = np.empty((4096, 1), dtype=np.uint64), np.empty(4096, dtype=np.uint64)
    rowtable.pack(rows, keys)
    rowtable.hash_rows(keys, hashes)
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


def test_a_state_is_compact_and_of_plain_numbers() -> None:
    cache = filled()
    state = cache.state()
    assert {part.dtype for part in state.values()} == {np.dtype(np.uint64), np.dtype(np.float64), np.dtype(np.int64)}
    assert len(state["old_values"]) > 0
    assert len(state["young_values"]) > 0
    again = MemoryCache.from_state(70, state, max_bytes=4000).state()
    assert all(np.array_equal(state[name], again[name]) for name in state)


def test_in_less_memory_a_state_keeps_its_latest_rows() -> None:
    cache = filled(max_bytes=2**20)
    less = MemoryCache.from_state(70, cache.state(), max_bytes=4000)
    assert 0 < len(less) < len(cache)
    kept, all_values = less.state()["young_values"], cache.state()["young_values"]
    assert np.array_equal(kept, all_values[-len(kept) :])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: state.pop("old_keys"), "expected n, young_keys"),
        (lambda state: state.update(more=np.zeros(1)), "expected n, young_keys"),
        (lambda state: state.update(n=np.array([71])), "rows of 70 bits, got n=\\[71\\]"),
        (lambda state: state.update(n=np.array(70)), "rows of 70 bits, got n=70"),
        (lambda state: state.update(young_values=state["young_values"].astype(np.float32)), "got dtype=float32"),
        (lambda state: state.update(old_keys=state["old_keys"].astype(np.int64)), "got dtype=int64"),
        (lambda state: state.update(old_keys=None), "got NoneType"),
        (lambda state: state.update(young_keys=state["young_keys"][1:]), "expected young_keys of shape"),
        (lambda state: state.update(old_keys=state["old_keys"][:, :1]), "expected old_keys of shape"),
        (lambda state: state.update(old_values=state["old_values"][None]), "expected old_keys of shape"),
        (lambda state: state["old_values"].fill(np.nan), "got nan in old_values"),
        (lambda state: state["young_keys"].fill(2**7), "got longer ones in young_keys"),
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
        with pytest.raises(ValueError, match="expected a uint8 array of shape"):
            cache.add(wrong, np.zeros(2))
        with pytest.raises(ValueError, match="expected a uint8 array of shape"):
            cache.find(wrong)
    for wrong in (np.zeros(1), np.zeros((2, 1)), np.zeros(2, dtype=np.float32), [0.0, 0.0]):
        with pytest.raises(ValueError, match=r"expected a float64 array of shape \(2,\)"):
            cache.add(right, wrong)
    with pytest.raises(ValueError, match="got nan for 1 of 2"):
        cache.add(right, np.array([0.0, np.nan]))
    assert len(cache) == 0
    for wrong in (right.astype(np.int64), right[0], right.tolist()):
        with pytest.raises(ValueError, match="expected a uint8 array of shape"):
            distinct(wrong)


def test_too_little_memory_is_refused_with_what_is_enough() -> None:
    with pytest.raises(ValueError, match="expected max_bytes of at least 288 for rows of 64 bits, got max_bytes=287"):
        MemoryCache(64, max_bytes=287)
    cache = MemoryCache(64, max_bytes=288)
    rows = np.eye(64, dtype=np.uint8)[:3]
    cache.add(rows, np.arange(3.0))
    assert answers(cache, rows) == [None, 1.0, 2.0]
    with pytest.raises(ValueError, match="at least one bit, got n=0"):
        MemoryCache(0)


def test_check_values_takes_infinity() -> None:
    check_values(np.array([-np.inf, np.inf]), 2)


def test_prepare_leaves_nothing_to_compile() -> None:
    prepare()
    kernels = (rowtable.pack, rowtable.hash_rows, rowtable.rebuild, rowtable.look_up, rowtable.insert)
    before = [len(kernel.signatures) for kernel in (*kernels, rowtable.distinct_rows)]
    assert min(before) > 0
    cache = filled()
    cache.find(np.zeros((1, 70), dtype=np.uint8))
    state = cache.state()
    read_only = np.broadcast_to(np.uint8(1), (40, 70))
    for part in state.values():
        part.flags.writeable = False
    MemoryCache.from_state(70, state, max_bytes=4000)
    MemoryCache.from_state(70, state, max_bytes=1000).add(read_only, np.broadcast_to(1.0, 40))
    cache.find(read_only)
    distinct(read_only)
    distinct(np.asfortranarray(every(4)))
    distinct(every(4)[::2])
    assert [len(kernel.signatures) for kernel in (*kernels, rowtable.distinct_rows)] == before
