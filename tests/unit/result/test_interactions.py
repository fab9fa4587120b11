"""What acts together, from rows alone, and the groups that are named."""

from __future__ import annotations

import numpy as np
import pytest
from report_helpers import made_up_trace

import daedal
from daedal.problems import Trap
from daedal.result.importance import losses
from daedal.result.interactions import interactions_of, neighbours
from daedal.result.linkage import NOTHING, cluster, function_linkage, linkage_of, search_linkage
from daedal.result.trace import Trace
from daedal.result.variables import variables_of
from daedal.types import Bits, Fitness


def seen(x: Bits, values: Fitness, **changes: object) -> Trace:
    order = np.argsort(-values, kind="stable")
    return made_up_trace(
        x[order[0]], seen=x, seen_fitness=values, top=x[order[:1]], top_fitness=values[order[:1]], **changes
    )


def random_rows(rows: int, n: int) -> Bits:
    return np.random.default_rng(rows + n).integers(0, 2, (rows, n), dtype=np.uint8)


def test_neighbours_are_all_pairs_that_differ_in_one_variable() -> None:
    x = np.unique(random_rows(60, 7), axis=0)
    expected = {
        (i, int(np.flatnonzero(x[i] != x[j])[0]), j)
        for i in range(len(x))
        for j in range(len(x))
        if (x[i] != x[j]).sum() == 1 and x[i].sum() < x[j].sum()
    }
    assert set(zip(*(part.tolist() for part in neighbours(x)), strict=True)) == expected
    assert expected


def test_blocks_are_found_in_random_rows() -> None:
    x = random_rows(1500, 20)
    trap = Trap(k=5, n=20)
    linkage = function_linkage(seen(x, trap.evaluate(x)))
    assert linkage is not None
    assert sorted(linkage.groups) == [tuple(range(start, start + 5)) for start in range(0, 20, 5)]
    assert "x0, x1, x2, x3, x4 act as one." in linkage.sentences([f"x{i}" for i in range(20)])
    blocks = [int(place) // 5 for place in linkage.order]
    assert blocks == sorted(blocks, key=blocks.index)  # side by side


def test_blocks_are_found_in_climbs_alone() -> None:
    """A row and all its flips, again and again: differences say more than values."""
    starts = random_rows(60, 20)
    x = np.unique(np.concatenate([starts, *(starts ^ row for row in np.eye(20, dtype=np.uint8))]), axis=0)
    linkage = function_linkage(seen(x, Trap(k=5, n=20).evaluate(x)))
    assert linkage is not None
    assert sorted(linkage.groups) == [tuple(range(start, start + 5)) for start in range(0, 20, 5)]


@pytest.mark.parametrize("rows", [23, 30, 400])
def test_in_a_sum_nothing_hangs_together(rows: int) -> None:
    """With two rows more than there are unknowns, too."""
    x, weights = random_rows(rows, 20), np.linspace(-3, 5, 20)
    trace = seen(x, x @ weights + 7)
    found = interactions_of(trace)
    assert found is not None
    assert found.is_sum
    assert found.effect == pytest.approx(weights * (1 - 2.0 * trace.top[0]))
    linkage = linkage_of(trace)
    assert linkage is not None
    assert linkage.groups == ()
    assert linkage.sentences(["a"] * 20) == [NOTHING]


def test_in_noise_nothing_hangs_together() -> None:
    x = random_rows(2000, 20)
    values = x.sum(axis=1) + np.random.default_rng(1).normal(0, 1, len(x))
    linkage = function_linkage(seen(x, values))
    assert linkage is None or linkage.groups == ()


@pytest.mark.parametrize("rows", [0, 1, 21])
def test_of_too_few_rows_nothing_is_said_and_the_search_is_believed(rows: int) -> None:
    x = random_rows(rows, 20) if rows else np.empty((0, 20), np.uint8)
    values = Trap(k=5, n=20).evaluate(x).astype(float)
    trace = made_up_trace(np.ones(20, np.uint8), seen=x, seen_fitness=values)
    assert function_linkage(trace) is None
    believed = linkage_of(trace)
    assert believed is not None
    assert believed.source == trace.source
    assert sorted(believed.groups) == [tuple(range(start, start + 5)) for start in range(0, 20, 5)]
    assert linkage_of(made_up_trace(np.ones(20, np.uint8), seen=x, seen_fitness=values, linkage=None)) is None


def test_effects_are_those_of_flips() -> None:
    x = random_rows(1500, 20)
    trap = Trap(k=5, n=20)
    trace = seen(x, trap.evaluate(x))
    found = interactions_of(trace)
    assert found is not None
    flips = trap.evaluate(trace.top[0] ^ np.eye(20, dtype=np.uint8)) - trap.evaluate(trace.top[:1])
    assert found.effect == pytest.approx(flips, abs=0.05)


def test_weak_groups_are_found_beside_strong_ones() -> None:
    strength = np.kron(np.eye(4), np.ones((3, 3))) * np.repeat([1.0, 0.5, 0.2, 0.01], 3)[:, None]
    np.fill_diagonal(strength, 0.0)
    assert cluster(strength)[1] == ((0, 1, 2), (3, 4, 5), (6, 7, 8))  # the last is too faint


def test_what_the_search_believed_is_shown_by_itself() -> None:
    trace = made_up_trace(np.ones(20, np.uint8))
    found = search_linkage(trace)
    assert found is not None
    assert found.strength.max() == 1
    assert np.diagonal(found.strength).max() == 0
    assert search_linkage(None) is linkage_of(None) is None


def test_what_nobody_tried_is_told_by_a_model_that_explains_everything() -> None:
    """In a sum, the climb never flips single bits of the best row; each of them is worth its weight all the same."""
    weights = np.arange(1.0, 31.0)
    result = daedal.maximize(lambda x: x @ weights, 30, seed=1, target=weights.sum())
    assert result.trace is not None
    assert np.isnan(result.trace.flips).any()
    found = losses(result, variables_of(result))
    assert found is not None
    loss, exact = found
    assert exact.all()
    assert loss == pytest.approx(weights)
