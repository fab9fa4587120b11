"""What a memory says of the problem: the best rows, those around one, a sample; against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.evaluation.memory_cache import MemoryCache
from daedal.evaluation.seen_rows import SeenRows
from daedal.types import Bits, Fitness


def some_rows(n: int, rows: int) -> tuple[Bits, Fitness]:
    rng = np.random.default_rng(n)
    x = np.unique(rng.integers(0, 2, (rows, n), dtype=np.uint8), axis=0)
    x = x[rng.permutation(len(x))]
    return x, rng.integers(0, 9, len(x)).astype(float)


def a_memory(x: Bits, values: Fitness, *, max_bytes: int = 2**22) -> MemoryCache:
    memory = MemoryCache(x.shape[1], max_bytes=max_bytes)
    memory.add(x, values)
    return memory


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [3, 64, 70])
def test_the_best_rows_come_best_first_and_of_equal_ones_the_first(n: int, sign: int) -> None:
    x, values = some_rows(n, 200)
    rows, fitness = SeenRows(a_memory(x, values), sign=sign).best(20)
    order = sorted(range(len(x)), key=lambda i: -sign * values[i])[:20]
    assert rows.tolist() == x[order].tolist()
    assert fitness.tolist() == (sign * values[order]).tolist()


@pytest.mark.parametrize("n", [3, 64, 70])
def test_what_is_around_a_row(n: int) -> None:
    x, values = some_rows(n, 300)
    centre = x[7]
    x = np.concatenate([x, centre ^ np.eye(n, dtype=np.uint8)[: n // 2]])
    x = np.unique(x, axis=0)
    values = np.random.default_rng(1).random(len(x))
    flips, others = SeenRows(a_memory(x, values), sign=1).around(centre)
    for i in range(n):
        differing = [k for k, row in enumerate(x) if row[i] != centre[i]]
        alone = [k for k in differing if (x[k] != centre).sum() == 1]
        assert flips[i] == values[alone[0]] if alone else np.isnan(flips[i])
        assert others[i] == max(values[differing]) if differing else np.isnan(others[i])
    assert np.isfinite(flips).sum() >= n // 2


def test_rows_in_both_tables_of_a_memory_are_given_once() -> None:
    x, values = some_rows(16, 400)
    memory = a_memory(x, values, max_bytes=2**12)
    memory.find(x[:-200])  # what is asked for again moves to the young table
    old, young = (len(part) for _, part in memory.parts())
    assert old
    assert young
    rows, _ = SeenRows(memory, sign=1).best(1000)
    assert len({row.tobytes() for row in rows}) == len(rows) == len(memory)


def test_what_is_infeasible_is_left_out() -> None:
    x, values = some_rows(16, 50)
    values[::2] = -np.inf
    seen = SeenRows(a_memory(x, values), sign=1)
    assert len(seen.best(100)[0]) == len(seen.sample(100)[0]) == len(x) // 2
    assert np.isfinite(seen.sample(100)[1]).all()


@pytest.mark.parametrize("most", [8, 50, 199, 1000])
def test_a_sample_is_of_stretches_from_all_of_the_run(most: int) -> None:
    x = ((np.arange(400)[:, None] >> np.arange(9)) & 1).astype(np.uint8)
    rows, values = SeenRows(a_memory(x, np.arange(400.0)), sign=1).sample(most)
    assert len(rows) <= most
    assert (rows == x[values.astype(int)]).all()
    assert (np.diff(values) > 0).all()
    assert values[0] == 0
    assert values[-1] == 399
    assert len(rows) >= min(most, 400) // 2


def test_nothing_is_known_of_an_empty_memory() -> None:
    seen = SeenRows(MemoryCache(5), sign=1)
    assert seen.best(3)[0].shape == (0, 5)
    assert seen.sample(3)[0].shape == (0, 5)
    assert np.isnan(seen.around(np.zeros(5, np.uint8)).others).all()
