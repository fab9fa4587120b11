"""The rows that a search remembers: as many as memory holds, and no more are begun with."""

from __future__ import annotations

import tracemalloc

import pytest

import daedal
from daedal.optimizers.row_memory import RowMemory


def test_what_no_memory_holds_is_refused_before_it_is_taken() -> None:
    """In one line, with what else there is; what is there stays good."""
    memory = RowMemory(1000)
    before = memory.table
    with pytest.raises(ValueError, match=r"^remembering .* takes about [\d.]+ TiB .* umda"):
        memory.reserve(10**12)
    assert memory.table is before


@pytest.mark.parametrize("algorithm", ["auto", "mix", "ils"])
def test_so_many_variables_that_not_even_some_rows_fit_are_refused_at_once(algorithm: str) -> None:
    with pytest.raises(ValueError, match=r"takes about [\d.]+ TiB of memory"):
        daedal.maximize(lambda x: pytest.fail("called"), 10**11, algorithm=algorithm, seed=1)


def test_while_it_grows_it_takes_no_more_than_when_it_has_grown() -> None:
    memory = RowMemory(100)
    memory.reserve(200_000)
    tracemalloc.start()
    try:
        memory.reserve(2 * len(memory.table.values))
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now == pytest.approx(sum(array.nbytes for array in memory.table[:-1]), rel=0.01)
    assert peak < 1.01 * now
