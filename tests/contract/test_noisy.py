"""What `noisy=True` promises, whatever the algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import ALGORITHMS, Calls, told

import daedal
from daedal.limits import StopReason
from daedal.types import Bits, Fitness

N = 12

pytestmark = pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")


class Scattering:
    """Ones with noise that depends on the number of the call alone, so that a run can go on from any of them."""

    def __init__(self, sd: float = 1.0, *, calls: int = 0, sign: int = 1) -> None:
        self.sd = sd
        self.calls = calls
        self.sign = sign

    def __call__(self, x: Bits) -> Fitness:
        first, self.calls = self.calls, self.calls + len(x)
        draws = [np.random.default_rng([5, call]).normal() for call in range(first, self.calls)]
        values = x.sum(axis=1) + self.sd * np.array(draws)
        return self.sign * np.where(x[:, :4].any(axis=1), values, -np.inf)


def run(objective: Any, name: str, **how: Any) -> daedal.Result:
    return daedal.maximize(objective, N, **{"seed": 1, "noisy": True, **ALGORITHMS[name], **how})


@pytest.mark.parametrize("most", [1, 2, 24, 25, 70])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_row_is_a_call_and_there_are_no_more_than_allowed(algorithm: str, most: int) -> None:
    for how in ({}, {"repeats": 5}):
        function = Scattering()
        result = run(function, algorithm, max_evaluations=most, **how)
        assert function.calls == result.evaluations <= most
        assert result.stop is not StopReason.EVALUATIONS or function.calls == most
        assert (result.standard_error is None) == (result.measurements == 1 or not result.feasible)
        assert not how or result.measurements >= min(5, most)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_noise_the_value_is_that_of_x(algorithm: str) -> None:
    result = run(Scattering(0.0), algorithm, max_evaluations=300)
    assert result.fitness == result.x.sum() >= 11
    assert result.standard_error == 0.0
    assert result.measurements >= 5


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_mean_is_near_the_truth_and_minimizing_is_the_mirror(algorithm: str) -> None:
    result = run(Scattering(2.0), algorithm, max_evaluations=500)
    assert result.x.sum() >= 10
    assert result.standard_error is not None
    assert abs(result.fitness - result.x.sum()) < 4 * result.standard_error
    mirror = run(Scattering(2.0, sign=-1), algorithm, max_evaluations=500, minimize=True)
    assert np.array_equal(mirror.x, result.x)
    assert mirror.fitness == -result.fitness
    assert mirror.standard_error == result.standard_error


@pytest.mark.parametrize("limits", [{"max_evaluations": 200}, {"max_generations": 8, "max_evaluations": 1000}], ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_interrupted_run_ends_as_one_that_was_not(algorithm: str, limits: dict[str, int], tmp_path: Path) -> None:
    how: dict[str, Any] = {"repeats": 3, "vectorized": False, **limits}
    whole = Calls(Scattering())
    expected = run(whole, algorithm, **how)
    last, given = len(whole.seen), {}
    if algorithm.startswith("own"):
        given = {"algorithm": ALGORITHMS[algorithm]["algorithm"]}
    for number in (2, last // 2, last - 2):
        path, first = tmp_path / f"{number}.db", Calls(Scattering(), interrupted_at=number)
        run(first, algorithm, run=path, **how)
        rest = Calls(Scattering(calls=number - 1))
        assert told(daedal.resume(path, rest, **given)) == told(expected)
        assert first.seen + rest.seen == whole.seen


def test_the_result_does_not_depend_on_the_number_of_workers() -> None:
    how: dict[str, Any] = {"algorithm": "umda", "popsize": 20, "seed": 1, "noisy": True, "max_evaluations": 150}
    assert told(daedal.maximize("trap:k=4,n=8", workers=2, **how)) == told(daedal.maximize("trap:k=4,n=8", **how))


@pytest.mark.parametrize("algorithm", ["auto", "umda", "mix"])
def test_only_a_mean_reaches_a_target(algorithm: str) -> None:
    """Half of all values are above the first target, and no mean is; the second is below the optimum."""
    for target, reason in ((12.5, StopReason.EVALUATIONS), (10.0, StopReason.TARGET)):
        result = run(Scattering(2.0), algorithm, max_evaluations=600, target=target)
        if reason is StopReason.TARGET:
            assert (result.stop, result.success) == (reason, True)
            assert result.fitness >= target
            assert result.measurements >= 2
        else:
            assert result.success == (result.stop is StopReason.TARGET)
            assert result.success == (result.fitness >= target)


@pytest.mark.parametrize(
    ("algorithm", "last"),
    [("umda", 27), *((name, last) for name in ("auto", "umda", "ils", "mix") for last in (180, 188, 197))],
)
def test_ctrl_c_gives_what_has_the_best_evidence(algorithm: str, last: int) -> None:
    """In the search, and in each round of the contest: never the lucky value of a batch that was broken off."""
    inner, calls = Scattering(1.0), 0

    def row_by_row(row: Any) -> float:
        nonlocal calls
        calls += 1
        if calls > last:
            raise KeyboardInterrupt
        return 1000.0 if calls == last else float(inner(row[None])[0])

    result = run(row_by_row, algorithm, max_evaluations=200, vectorized=False)
    assert result.stop is StopReason.INTERRUPTED
    assert result.fitness < 500
    assert last < 197 or result.measurements >= 2  # one round is over


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ({"initial": (np.eye(N, dtype=np.uint8), np.ones(N))}, "initial"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": 2.5}, "repeats"),
    ],
)
def test_what_takes_a_value_for_exact_is_refused(odd: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        run(Scattering(), "umda", **odd)


def test_repeats_imply_noise_and_an_exact_objective_has_no_error() -> None:
    noisy = daedal.maximize(Scattering(1.0), N, repeats=7, seed=1, max_evaluations=100)
    assert noisy.measurements >= 7
    exact = daedal.maximize(lambda x: x.sum(axis=1), N, seed=1, max_evaluations=100)
    assert (exact.standard_error, exact.measurements) == (None, 1)


def test_auto_asks_no_questions_and_says_what_it_did() -> None:
    seen: list[bytes] = []

    def function(x: Bits) -> Fitness:
        seen.extend(map(bytes, x.astype(np.uint8)))
        return x.sum(axis=1) + 0.0

    result = daedal.maximize(function, 30, noisy=True, seed=1, max_evaluations=400)
    assert "umda" in result.explanation
    assert len(set(seen[:50])) == 50  # no row is evaluated again at the beginning
