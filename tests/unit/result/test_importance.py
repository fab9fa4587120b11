"""How much variables matter, against all that was evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daedal
from daedal.result.importance import losses, ranked
from daedal.result.variables import variables_of

SPACE = daedal.Space(a=daedal.Choice("p", "q", "r", "s"), b=daedal.Choice("p", "q", "r"), c=daedal.Integer(0, 5))
ORDER = daedal.Space(jobs=daedal.Permutation(5))


def mixed(values: Any) -> Any:
    return 5.0 * (values["a"] == "r") + 3.0 * (values["b"] == "q") + values["c"]


def sorted_jobs(values: Any) -> Any:
    return (values["jobs"] * np.arange(5)).sum(axis=1).astype(float)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("calls", [40, 90])
def test_what_is_said_of_a_space_was_seen(seed: int, calls: int) -> None:
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
def test_what_is_not_allowed_makes_nothing_better(minimize: bool) -> None:
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
