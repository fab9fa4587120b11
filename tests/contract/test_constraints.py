"""What every algorithm must do with constraints: the result is the best row that was ever evaluated, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import ALGORITHMS, Calls, told

import daedal

N = 14
WEIGHTS = np.random.default_rng(0).integers(1, 50, (2, N))
PROFITS = np.random.default_rng(1).integers(1, 30, N).astype(float)


class Problem:
    """A knapsack with two constraints that knows what it was asked; `room` is how much of the weight is allowed."""

    def __init__(self, room: float, sign: int = 1) -> None:
        self.room = room
        self.sign = sign
        self.seen: list[tuple[float, float, tuple[int, ...]]] = []  # violation, value to be maximized, row

    def __call__(self, x: Any) -> Any:
        values, outputs = x @ PROFITS + 3 * x[:, 0] * x[:, 5], x @ WEIGHTS.T - self.room * WEIGHTS.sum(axis=1)
        totals = np.maximum(outputs, 0).sum(axis=1)
        self.seen += zip(totals.tolist(), values.tolist(), map(tuple, x.tolist()), strict=True)
        return self.sign * values, outputs

    def best(self) -> tuple[float, float]:
        return min((total, -value) for total, value, _ in self.seen)


def run(objective: Any, name: str, **how: Any) -> daedal.Result:
    how.setdefault("violations", "constraints" not in how)
    return daedal.maximize(objective, N, max_evaluations=150, **ALGORITHMS[name] | how)


def check(result: daedal.Result, problem: Problem) -> None:
    total, value = problem.best()
    assert (result.violation, problem.sign * result.fitness) == (total, -value)
    assert result.feasible == (total == 0)
    outputs = result.x @ WEIGHTS.T.astype(float) - problem.room * WEIGHTS.sum(axis=1)
    assert result.violations == tuple(np.maximum(outputs, 0).tolist())
    assert result.history[-1].info["violation"] == result.violation
    shown = [number for record in result.history for number in (record.best, record.mean)]
    assert all(abs(number) < 1e6 or number == -problem.sign * np.inf for number in shown)
    assert result.success is None


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize("room", [0.4, 0.02, -0.1])  # easy; few feasible rows; none
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_result_is_the_best_row_that_was_evaluated(algorithm: str, room: float) -> None:
    for seed, sign in ((1, 1), (2, -1)):
        problem = Problem(room, sign)
        check(run(problem, algorithm, seed=seed, minimize=sign < 0), problem)


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize("algorithm", ["auto", "mix", "ils", "umda"])
def test_functions_pairs_rows_and_workers_give_the_same(algorithm: str) -> None:
    problem = Problem(0.3)
    pair = run(problem, algorithm, seed=3)
    apart = run(value, algorithm, seed=3, constraints=[first, second])
    row = run(row_pair, algorithm, seed=3, vectorized=False)
    spread = run(value, algorithm, seed=3, constraints=[first, second], workers=2)
    for other in (apart, row, spread):
        assert other.x.tolist() == pair.x.tolist()
        assert (other.violations, other.evaluations) == (pair.violations, pair.evaluations)
        assert [record.best for record in other.history] == [record.best for record in pair.history]


@pytest.mark.parametrize("algorithm", ["auto", "mix", "ils", "umda"])
@pytest.mark.parametrize("room", [0.3, -0.1])
def test_an_interrupted_run_ends_as_one_that_was_not(algorithm: str, room: float, tmp_path: Path) -> None:
    whole, first, rest = Calls(Problem(room)), Calls(Problem(room), interrupted_at=71), Calls(Problem(room))
    how: dict[str, Any] = {"seed": 4, "vectorized": False}
    expected = run(whole, algorithm, **how)
    run(first, algorithm, run=tmp_path / "run.db", **how)
    assert told(daedal.resume(tmp_path / "run.db", rest)) == told(expected)
    assert first.seen + rest.seen == whole.seen


@pytest.mark.parametrize("room", [0.3, -0.1])
def test_known_evaluations_have_their_violations(room: float, tmp_path: Path) -> None:
    before, problem = Problem(room), Problem(room)
    cold = run(before, "mix", seed=5, run=tmp_path / "cold.db")
    warm = run(problem, "mix", seed=5, known=tmp_path / "cold.db")
    assert warm.repeated >= cold.evaluations
    assert not {row for _, _, row in before.seen} & {row for _, _, row in problem.seen}
    problem.seen += before.seen
    check(warm, problem)


def value(x: Any) -> Any:
    return x @ PROFITS + 3 * x[:, 0] * x[:, 5]


def first(x: Any) -> Any:
    return x @ WEIGHTS[0] - 0.3 * WEIGHTS[0].sum()


def second(x: Any) -> Any:
    return x @ WEIGHTS[1] - 0.3 * WEIGHTS[1].sum()


def row_pair(row: Any) -> Any:
    return value(row[None])[0], [first(row[None])[0], second(row[None])[0]]
