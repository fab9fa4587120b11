"""Which rows are remembered, and what models of them take for the best."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.optimizers import contenders
from daedal.optimizers.contenders import Seen, distinct
from daedal.types import State, StateError


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_kept_evenly_whatever_the_batches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a state in between changes nothing."""
    monkeypatch.setattr(contenders, "REMEMBERED", 7)
    rng = np.random.default_rng(seed)
    seen, total = Seen(8), 0
    while total < 200:
        size = int(rng.integers(1, 40))
        rows = np.arange(total, total + size, dtype=np.uint8)
        seen.add(np.unpackbits(rows[:, None], axis=1), rows.astype(float))
        total += size
        if rng.random() < 0.3:
            kept, seen = seen.state(), Seen(8)
            seen.restore(kept)
    rows, values = seen.all()
    step = int(values[1])
    assert values.tolist() == list(np.arange(0, total, step) % 256)
    assert len(values) < 14 <= 2 * len(values) + 2
    assert np.packbits(rows, axis=1).ravel().tolist() == values.tolist()


def test_the_first_maximum_is_that_of_a_linear_function() -> None:
    rng = np.random.default_rng(3)
    x, best = rng.integers(0, 2, (400, 30), dtype=np.uint8), rng.integers(0, 2, 30, dtype=np.uint8)
    seen = Seen(30)
    seen.add(x, (x == best).sum(axis=1) + 3 * rng.normal(size=400))
    assert np.array_equal(seen.maxima(x[:1], rng=rng)[0], best)


def test_what_is_infeasible_counts_as_the_worst_of_the_others() -> None:
    """A variable that must not be 1, in all rows in which it is not 0."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, (200, 12), dtype=np.uint8)
    seen = Seen(12)
    seen.add(x, np.where(x[:, 0] == 1, -np.inf, x.sum(axis=1)))
    assert seen.maxima(x[:1], rng=rng)[0].tolist() == [0] + [1] * 11


@pytest.mark.parametrize("values", [np.zeros(50), np.full(50, -np.inf)])
def test_where_there_is_nothing_to_learn_there_are_none(values: np.ndarray) -> None:
    rng = np.random.default_rng(5)
    seen = Seen(20)
    assert len(seen.maxima(np.zeros((1, 20), np.uint8), rng=rng)) == 0
    seen.add(rng.integers(0, 2, (50, 20), dtype=np.uint8), values)
    assert len(seen.maxima(np.zeros((1, 20), np.uint8), rng=rng)) == 0


def test_a_state_that_does_not_add_up_is_refused() -> None:
    seen = Seen(3)
    seen.add(np.eye(3, dtype=np.uint8), np.arange(3.0))
    state = seen.state()
    for fields in ({"step": 0, "total": 3}, {"step": 1, "total": 9}, {"step": 2, "total": 3}):
        with pytest.raises(StateError):
            Seen(3).restore(State(arrays=state.arrays, fields=fields))


def test_rows_come_once_in_their_order() -> None:
    rows = np.array([[1, 1], [0, 1], [1, 1], [0, 0], [0, 1]], np.uint8)
    assert distinct(rows).tolist() == [[1, 1], [0, 1], [0, 0]]
