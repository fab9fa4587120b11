"""What every algorithm must do in a loop of the user's own: `daedal.Optimizer`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_helpers import ALGORITHMS, Calls, ragged

import daedal
from daedal.archive import to_candidates, to_rows

N = 12
EVERYONE = pytest.mark.parametrize("name", ALGORITHMS)


def optimizer(name: str, n: Any = N, **how: Any) -> daedal.Optimizer:
    return daedal.Optimizer(n, **{"seed": 1, "max_evaluations": 80, **ALGORITHMS[name], **how})


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@EVERYONE
def test_a_loop_by_hand_is_maximize(name: str) -> None:
    calls = Calls()
    result = daedal.maximize(calls, N, seed=1, vectorized=False, max_evaluations=80, **ALGORITHMS[name])
    by_hand, seen, count = optimizer(name), list[int](), len(calls.seen)
    while len(seen) < count and (candidates := by_hand.ask()) is not None:
        candidates = candidates[: count - len(seen)]
        seen += to_candidates(candidates)
        by_hand.tell(candidates, ragged(candidates))
    assert seen == calls.seen
    assert by_hand.fitness == result.fitness
    assert by_hand.x is not None
    assert by_hand.x.tolist() == result.x.tolist()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@EVERYONE
def test_values_may_come_in_any_order_and_of_any_candidates(name: str, data: st.DataObject) -> None:
    """Two optimizers that are told the same ask for the same; nothing that has a value is asked for again."""
    one, other = optimizer(name), optimizer(name)
    under_way, known, asked_twice = list[int](), dict[int, float](), 0
    for _ in range(data.draw(st.integers(3, 12), "rounds")):
        count = data.draw(st.none() | st.integers(1, 10), "count")
        rows, same = one.ask(count), other.ask(count)
        assert (rows is None) == (same is None)
        if rows is not None:
            assert rows.tolist() == same.tolist()
            assert count is None or len(rows) <= count
            new = to_candidates(rows) if len(rows) else []
            asked_twice += len([c for c in new if c in known])
            assert not {*new} & {*under_way} - {*known}
            assert new or under_way, "nothing is under way, so something has to be asked for"
            under_way += new
        elif not under_way:
            break
        told = data.draw(st.permutations(under_way).map(lambda order: order[: max(1, len(order) * 2 // 3)]), "told")
        foreign = data.draw(st.lists(st.integers(0, 2**N - 1), max_size=3), "foreign")
        for optimizer_ in (one, other):
            rows = to_rows([*told, *foreign], N)
            if len(rows):
                optimizer_.tell(rows, ragged(rows))
        known |= dict.fromkeys([*told, *foreign], 0.0)
        under_way = [c for c in under_way if c not in known]
        assert one.evaluations == len(known)
        assert one.fitness == ragged(to_rows(list(known), N)).max()
    assert asked_twice <= (5 if name == "auto" else 0)  # whose evaluations of one candidate show the noise


@pytest.mark.parametrize("name", ["auto", "umda", "own"])
def test_dicts_of_a_space_and_signs(name: str) -> None:
    space = daedal.Space(size=daedal.Integer(0, 20), kind=daedal.Choice("a", "b"))
    best = optimizer(name, space, minimize=True)
    while best.evaluations < 42 and (values := best.ask(5)):
        assert all(one["size"] in range(21) and one["kind"] in "ab" for one in values)
        best.tell(values, [abs(one["size"] - 7) + (one["kind"] == "a") for one in values])
        best.tell({"size": 19, "kind": "b"}, 12)  # also one that was not asked for
    assert best.best is not None
    assert best.fitness == abs(best.best["size"] - 7) + (best.best["kind"] == "a") <= 3  # type: ignore[operator]


def test_initial_candidates_are_asked_for_first() -> None:
    rows = np.eye(4, N, dtype=np.uint8)
    for name in ("auto", "ils", "umda", "own"):
        assert optimizer(name, initial=rows).ask(4).tolist() == rows.tolist()


def test_a_search_that_has_ended_asks_for_nothing() -> None:
    small = daedal.Optimizer(3, algorithm="ils", seed=1)
    while (candidates := small.ask()) is not None:
        small.tell(candidates, candidates.sum(axis=1))
    assert (small.evaluations, small.fitness) == (8, 3.0)


@pytest.mark.parametrize(
    ("candidates", "values", "says"),
    [
        (np.zeros((2, N)), [1.0, 2.0], "0 and 1"),
        (np.full((1, N), 2), [1.0], "0 and 1"),
        (np.zeros((1, N + 1), np.uint8), [1.0], "12"),
        (np.zeros((2, N), np.uint8), [1.0], "2 values"),
        (np.zeros((1, N), np.uint8), [np.nan], "nan"),
        (np.zeros((1, N), np.uint8), [np.inf], "inf"),
        (np.zeros((1, N), np.uint8), ["much"], "much"),
    ],
)
def test_other_values_are_refused_and_change_nothing(candidates: Any, values: Any, says: str) -> None:
    refusing = optimizer("umda")
    asked = refusing.ask()
    with pytest.raises(ValueError, match=says):
        refusing.tell(candidates, values)
    assert (refusing.evaluations, refusing.best) == (0, None)
    refusing.tell(asked, np.full(len(asked), -np.inf))  # nothing is feasible, and that is no error
    assert refusing.evaluations == len(np.unique(asked, axis=0))
