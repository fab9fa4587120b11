"""Names of variables, their interactions and their importance, from evaluated candidates."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from report_helpers import made_up_trace

import daedal
from daedal.problems import Trap
from daedal.result.trace import Trace
from daedal.result.variables import (
    NO_INTERACTIONS,
    Linkage,
    cluster,
    function_linkage,
    interactions_of,
    learned_linkage,
    linkage_of,
    losses,
    neighbors,
    ranked,
    search_linkage,
    variables_of,
)
from daedal.types import Bits, Fitness


def test_bits_of_one_variable_count_as_one() -> None:
    space = daedal.Space(size=daedal.Integer(1, 16), flag=daedal.Flag(), order=daedal.Permutation(["p", "q", "r"]))
    result = daedal.maximize(lambda values: values["size"], space, seed=1, max_evaluations=30)
    variables = variables_of(result)
    assert variables.labels == ("size", "flag", "order: p", "order: q", "order: r")
    assert variables.bit_labels[:5] == ("size.0", "size.1", "size.2", "size.3", "flag")
    rng = np.random.default_rng(1)
    linkage = (rng.random((result.n, result.n)) * 0.01).astype(np.float32)
    linkage[1, 2] = linkage[2, 1] = 0.9  # two bits of one variable
    linkage[3, 4] = linkage[4, 3] = 1.0
    found = learned_linkage(dataclasses.replace(result, trace=made_up_trace(result.x, linkage=linkage)), variables)
    assert found is not None
    assert found.groups == ((0, 1),)
    assert found.strength.shape == (5, 5)
    assert found.strength[0, 1] == found.strength.max() == 1.0
    assert sorted(found.order.tolist()) == [0, 1, 2, 3, 4]


def test_fixed_variables_have_no_bits() -> None:
    space = daedal.Space(a=daedal.Choice("only"), b=daedal.Flag())
    result = daedal.maximize(lambda values: values["b"], space, seed=1)
    assert variables_of(result).labels == ("b",)
    alone = daedal.maximize(lambda values: np.ones(len(values["a"])), daedal.Space(a=daedal.Choice("only")), seed=1)
    assert variables_of(alone).labels == ("unused",)


def seen(x: Bits, values: Fitness, **changes: object) -> Trace:
    order = np.argsort(-values, kind="stable")
    return made_up_trace(
        x[order[0]], seen=x, seen_fitness=values, top=x[order[:1]], top_fitness=values[order[:1]], **changes
    )


def random_rows(rows: int, n: int) -> Bits:
    return np.random.default_rng(rows + n).integers(0, 2, (rows, n), dtype=np.uint8)


def test_neighbors_are_all_pairs_that_differ_in_one_variable() -> None:
    x = np.unique(random_rows(60, 7), axis=0)
    expected = {
        (i, int(np.flatnonzero(x[i] != x[j])[0]), j)
        for i in range(len(x))
        for j in range(len(x))
        if (x[i] != x[j]).sum() == 1 and x[i].sum() < x[j].sum()
    }
    assert set(zip(*(part.tolist() for part in neighbors(x)), strict=True)) == expected
    assert expected


def test_blocks_are_found_in_random_rows() -> None:
    x = random_rows(1500, 20)
    trap = Trap(k=5, n=20)
    linkage = function_linkage(seen(x, trap.evaluate(x)))
    assert linkage is not None
    assert sorted(linkage.groups) == [tuple(range(start, start + 5)) for start in range(0, 20, 5)]
    assert "x0, x1, x2, x3, x4 interact." in linkage.sentences([f"x{i}" for i in range(20)])
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
def test_in_a_sum_nothing_interacts(rows: int) -> None:
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
    assert linkage.sentences(["a"] * 20) == [NO_INTERACTIONS]


def test_in_noise_nothing_interacts() -> None:
    x = random_rows(2000, 20)
    values = x.sum(axis=1) + np.random.default_rng(1).normal(0, 1, len(x))
    linkage = function_linkage(seen(x, values))
    assert linkage is None or linkage.groups == ()


@pytest.mark.parametrize("rows", [0, 1, 21])
def test_with_too_few_candidates_the_search_is_believed(rows: int) -> None:
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


def test_the_belief_of_the_search_is_available_alone() -> None:
    trace = made_up_trace(np.ones(20, np.uint8))
    found = search_linkage(trace)
    assert found is not None
    assert found.strength.max() == 1
    assert np.diagonal(found.strength).max() == 0
    assert search_linkage(None) is linkage_of(None) is None


def test_flips_not_evaluated_are_predicted_by_a_complete_model() -> None:
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


def test_a_chain_interacts_only_through_others() -> None:
    strength = np.zeros((7, 7), np.float32)
    strength[:3, :3] = 0.9 - 0.3 * np.eye(3)
    for i in range(3, 6):
        strength[i, i + 1] = strength[i + 1, i] = 1.0
    linkage = Linkage(strength=strength, order=np.arange(7), groups=((0, 1, 2), (3, 4, 5, 6)), source="made up")
    block, chain = linkage.sentences([f"x{i}" for i in range(7)])
    assert block == "x0, x1, x2 interact."
    assert chain.startswith("x3, x4, x5, x6 interact, some only through others.")


SPACE = daedal.Space(a=daedal.Choice("p", "q", "r", "s"), b=daedal.Choice("p", "q", "r"), c=daedal.Integer(0, 5))
ORDER = daedal.Space(jobs=daedal.Permutation(5))


def mixed(values: Any) -> Any:
    return 5.0 * (values["a"] == "r") + 3.0 * (values["b"] == "q") + values["c"]


def sorted_jobs(values: Any) -> Any:
    return (values["jobs"] * np.arange(5)).sum(axis=1).astype(float)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("calls", [40, 90])
def test_losses_in_a_space_are_those_of_evaluated_candidates(seed: int, calls: int) -> None:
    """No model is asked: a flip of one bit need not be a value at all."""
    rows: list[tuple[tuple[str, str, int], float]] = []

    def noted(values: Any) -> Any:
        found = mixed(values)
        rows.extend(zip(zip(values["a"], values["b"], values["c"], strict=True), found, strict=True))
        return found

    result = daedal.maximize(noted, SPACE, seed=seed, max_evaluations=calls)
    best = tuple(result.values(result.x)[name] for name in "abc")
    expected = [
        result.fitness - max((value for row, value in rows if row[i] != best[i]), default=np.nan) for i in range(3)
    ]
    found = losses(result, variables_of(result))
    assert found is not None
    np.testing.assert_allclose(found[0], expected)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_order_seen_is_better_than_the_best(seed: int) -> None:
    result = daedal.maximize(sorted_jobs, ORDER, seed=seed, max_evaluations=200)
    found = losses(result, variables_of(result))
    assert found is not None
    assert (found[0] == np.rint(found[0])).all()  # as all values are
    assert (found[0] >= 0).all()


@pytest.mark.parametrize("minimize", [False, True])
def test_no_loss_is_negative_because_of_infeasible_candidates(minimize: bool) -> None:
    weights = np.random.default_rng(1).integers(1, 20, 30)
    sign = -1 if minimize else 1
    search = daedal.minimize if minimize else daedal.maximize
    result = search(
        lambda x: sign * (x @ weights).astype(float),
        n=30,
        constraints=[lambda x: x.sum(axis=1) - 8.0],
        seed=1,
        max_evaluations=3000,
    )
    found = losses(result, variables_of(result))
    assert found is not None
    known = found[0][np.isfinite(found[0])]
    assert len(known) > 8
    assert (known >= 0).all()


def test_equal_ones_stay_in_their_order() -> None:
    loss = np.array([0.1 + 0.2, 0.3, np.nan, 0.5, 0.3, np.inf])
    assert ranked(loss).tolist() == [3, 0, 1, 4]
    assert ranked(np.zeros(3)).tolist() == [0, 1, 2]
