"""`maximize` and `minimize` as a Python user meets them; every algorithm is tested in contract/test_runs.py."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import told, without_clocks

import daedal
from daedal import Generation, Result, StopReason
from daedal.problems import OneMax, Trap, shuffled
from daedal.rng import Stream, stream

QUICK: dict[str, Any] = {"algorithm": "umda", "popsize": 40, "seed": 1}


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def traps(x: np.ndarray) -> np.ndarray:
    """Traps of four bits, written by a user."""
    u = x.reshape(len(x), -1, 4).sum(axis=2)
    return np.where(u == 4, 4, 3 - u).sum(axis=1)


def timeless(history: tuple[Generation, ...]) -> list[Generation]:
    return [without_clocks(record) for record in history]


def same(one: Result, other: Result) -> None:
    """All fields are equal, except for those that depend on the clock or on the name of the objective."""
    assert {**told(one), "limits": None} == {**told(other), "limits": None}


# ---------------------------------------------------------------- what is run


def test_without_a_seed_the_result_says_which_one_was_drawn() -> None:
    result = daedal.maximize(ones, n=20, algorithm="umda", popsize=40)
    same(result, daedal.maximize(ones, n=20, algorithm="umda", popsize=40, seed=result.seed))


def test_a_name_without_shuffling_is_the_problem_is_its_function() -> None:
    how: dict[str, Any] = {"seed": 5, "max_evaluations": 500, "target": 20.0}
    name = daedal.maximize("trap:k=4,n=20", shuffle=False, **how)
    same(name, daedal.maximize(Trap(k=4, n=20), **how))
    function = daedal.maximize(traps, n=20, **how)
    assert (function.optimum, name.optimum) == (None, 20.0)
    same(dataclasses.replace(function, optimum=20.0), name)
    same(daedal.maximize(lambda row: traps(row[None])[0], n=20, vectorized=False, **how), function)


def test_a_name_is_the_problem_shuffled_by_the_seed() -> None:
    how: dict[str, Any] = {"seed": 5, "max_evaluations": 300}
    mixed = shuffled(Trap(k=4, n=20), rng=stream(5, Stream.SHUFFLE))
    by_name, by_hand = daedal.maximize("trap:k=4,n=20", **how), daedal.maximize(mixed, **how)
    assert np.array_equal(by_name.x, mixed.restore(by_hand.x))
    assert Trap(k=4, n=20).evaluate(by_name.x[None])[0] == by_name.fitness
    assert timeless(by_name.history) == timeless(by_hand.history)
    assert timeless(by_name.history) != timeless(daedal.maximize("trap:k=4,n=20", shuffle=False, **how).history)


def test_settings_may_be_keywords_texts_or_a_model() -> None:
    how: dict[str, Any] = {"n": 20, "popsize": 60, "seed": 1, "max_generations": 2}
    keyword = daedal.maximize(traps, algorithm="dae", corruption=0.2, hidden=5, **how)
    same(keyword, daedal.maximize(traps, algorithm="dae", corruption="0.2", hidden="5", **how))
    model = daedal.maximize(traps, algorithm=daedal.models.DAE(corruption=0.2, hidden=5), **how)
    assert timeless(model.history) == timeless(keyword.history)
    assert keyword.settings["corruption"] == 0.2
    assert timeless(keyword.history) != timeless(daedal.maximize(traps, algorithm="dae", **how).history)


# ---------------------------------------------------------------- what a result holds


def test_a_result_adds_up() -> None:
    result = daedal.maximize(traps, n=20, algorithm="dae", popsize=100, seed=2, max_generations=5)
    assert isinstance(result.fitness, float)
    found = next(record for record in result.history if record.best == result.fitness)
    assert result.evaluations_to_best == found.evaluations
    times = [0.0, *(record.cpu_seconds for record in result.history), result.cpu_seconds]
    assert times == sorted(times)
    assert times[found.generation] < result.cpu_seconds_to_best <= result.cpu_seconds
    assert result.seconds > 0
    assert (result.failed, result.failures) == (0, ())
    assert (result.algorithm, result.popsize, result.seed) == ("dae", 100, 2)
    assert result.settings | {"popsize": None} == daedal.algorithms()["dae"].settings() | {"popsize": None}
    result.x[0] ^= 1  # it is the user's own


class OfAUser:
    """A problem that states no optimum."""

    n = 10

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return x.sum(axis=1).astype(float)


@pytest.mark.parametrize(
    ("objective", "how", "success", "stop"),
    [
        (ones, {}, None, StopReason.CONVERGED),
        (OfAUser(), {}, None, StopReason.CONVERGED),
        (ones, {"target": 10}, True, StopReason.TARGET),
        (ones, {"target": 11}, False, StopReason.CONVERGED),
        (ones, {"target": 11, "max_generations": 2}, False, StopReason.GENERATIONS),
        (ones, {"max_evaluations": 85}, None, StopReason.EVALUATIONS),
        (lambda x: 0 * ones(x), {"patience": 4, "algorithm": "pbil"}, None, StopReason.PATIENCE),
        (lambda x: ones(x) * 1.5e307, {}, None, StopReason.CONVERGED),  # no warning of sums beyond a float
        ("onemax:n=10", {}, True, StopReason.TARGET),
        ("onemax:n=10", {"max_generations": 0}, False, StopReason.GENERATIONS),
        ("onemax:n=10", {"target": 9.0}, True, StopReason.TARGET),
        ("onemax:n=10", {"target": 11}, False, StopReason.CONVERGED),
    ],
)
def test_limits_end_a_run_and_success_is_known_if_a_target_is(
    objective: Any, how: dict[str, Any], success: bool | None, stop: StopReason
) -> None:
    result = daedal.maximize(objective, n=10, **(QUICK | how))
    assert (result.success, result.stop) == (success, stop)
    assert result.evaluations == how.get("max_evaluations", result.evaluations)
    assert result.generations == how.get("max_generations", how.get("patience", result.generations))
    assert result.optimum == (10.0 if isinstance(objective, str) else None)


INFO = {
    "dae": {"epochs", "error"},
    "dae-2015": {"epochs", "error", "validation_error"},
    "rbm": {"epochs", "error"},
    "boa": {"edges", "max_in_degree", "score"},
    "hboa": {"edges", "max_in_degree", "score"},
    "ecga": {"groups", "largest_group", "score"},
    "tree": {"edges", "information"},
    "pbil": set(),
    "umda": set(),
}


@pytest.mark.parametrize("algorithm", INFO)
def test_every_model_reports_its_own_figures(algorithm: str) -> None:
    result = daedal.maximize("trap:k=4,n=16", algorithm=algorithm, popsize=200, seed=1, max_generations=3)
    assert [set(record.info) for record in result.history] == [set(), *[INFO[algorithm]] * result.generations]
    for info in (record.info for record in result.history[1:]):
        if "epochs" in info:
            assert info["epochs"] >= 1
            assert info["error"] >= 0
        if "max_in_degree" in info:
            assert 0 < info["max_in_degree"] <= info["edges"] <= 16 * 15 / 2
            assert info["score"] < 0
        if "groups" in info:
            assert 1 <= info["groups"] <= 16
            assert 16 / info["groups"] <= info["largest_group"] <= 17 - info["groups"]
        if algorithm == "tree":
            assert 0 < info["edges"] < 16


@pytest.mark.parametrize("algorithm", INFO)
def test_a_run_ends_if_there_is_nothing_to_learn(algorithm: str) -> None:
    """All candidates are equally good, or all are the same; no figure is nan."""
    how: dict[str, Any] = {"algorithm": algorithm, "seed": 1}
    equal = daedal.maximize(lambda x: np.full(len(x), 2.5), n=10, popsize=40, patience=6, **how)
    assert all(record.best == record.mean == 2.5 for record in equal.history)
    zeros = np.zeros((60, 7), dtype=np.uint8)
    alike = daedal.maximize(lambda x: -ones(x), n=7, popsize=60, patience=5, initial=zeros, **how)
    assert (alike.fitness, alike.history[0].mean, alike.x.tolist()) == (0.0, 0.0, [0] * 7)
    for result in (equal, alike):
        assert result.stop in (StopReason.PATIENCE, StopReason.CONVERGED)
        assert all(np.isfinite(list(record.info.values())).all() for record in result.history)


# ---------------------------------------------------------------- signs


def test_minimize_has_the_users_signs_everywhere() -> None:
    seen: list[Generation] = []

    def cost(x: np.ndarray) -> np.ndarray:
        return 5.0 + ones(x)

    result = daedal.minimize(cost, n=15, callback=lambda record: seen.append(record), target=5.0, **QUICK)
    assert (result.fitness, result.x.sum(), result.success, result.stop) == (5.0, 0, True, StopReason.TARGET)
    bests = [record.best for record in result.history]
    assert bests == sorted(bests, reverse=True)
    assert all(5.0 <= record.best <= record.mean <= 20.0 for record in result.history)
    assert seen == list(result.history)
    assert daedal.minimize(cost, n=15, target=4.0, **QUICK).success is False
    assert daedal.minimize(cost, n=15, target=5.0 - 0.9e-6, **QUICK).success is True
    named = daedal.minimize("onemax:n=12", **QUICK)
    assert (str(named.fitness), named.optimum, named.success) == ("0.0", None, None)  # not minus zero
    assert "=-0" not in repr(named)


def test_infinity_is_for_infeasible_candidates() -> None:
    """A mean is that of the feasible ones."""
    up = daedal.maximize(lambda x: np.where(x[:, 0] == 1, -np.inf, ones(x)), n=10, **QUICK)
    assert (up.fitness, up.x.tolist()) == (9.0, [0] + [1] * 9)
    assert all(0 <= record.mean <= 9 for record in up.history)
    nothing = daedal.maximize(lambda x: np.full(len(x), -np.inf), n=10, max_generations=1, **QUICK)
    assert nothing.fitness == nothing.history[0].mean == -np.inf
    assert daedal.minimize(lambda x: np.where(x[:, 0] == 0, np.inf, ones(x)), n=10, **QUICK).fitness == 1.0
    with pytest.raises(daedal.ObjectiveError, match=r"-inf .* inf"):
        daedal.minimize(lambda x: np.full(len(x), -np.inf), n=10, **QUICK)


# ---------------------------------------------------------------- the callback, and Ctrl-C


@pytest.mark.parametrize("true", [True, np.bool_(True)])
def test_a_callback_sees_each_generation_and_stops_the_run_with_true(true: Any) -> None:
    seen: list[Generation] = []
    result = daedal.maximize(ones, n=30, callback=lambda one: seen.append(one) or (len(seen) == 3 and true), **QUICK)
    assert (result.stop, result.generations) == (StopReason.CALLBACK, 2)
    assert seen == list(result.history)


def test_other_values_of_a_callback_change_nothing_and_its_errors_come_out() -> None:
    plain = daedal.maximize("onemax:n=6", **QUICK)
    for returned in (None, False, 0, "yes"):
        same(daedal.maximize("onemax:n=6", callback=lambda record, value=returned: value, **QUICK), plain)
    same(daedal.maximize("onemax:n=6", callback=lambda record: record.best == 6.0, **QUICK), plain)  # it is over

    def broken(record: Generation) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        daedal.maximize(ones, n=12, callback=broken, **QUICK)


def interrupting(call: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return an objective that is better at each call, and interrupted at one of them."""
    calls = 0

    def f(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return ones(x) + 100 * calls

    return f


@pytest.mark.parametrize("optimize", [daedal.maximize, daedal.minimize])
def test_an_interrupt_returns_the_best_so_far_if_there_is_one(optimize: Callable[..., Result]) -> None:
    result = optimize(interrupting(4), n=30, **QUICK)
    whole = optimize(interrupting(99), n=30, max_generations=2, **QUICK)
    same(result, dataclasses.replace(whole, stop=StopReason.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        optimize(interrupting(1), n=30, **QUICK)


# ---------------------------------------------------------------- what is refused


def test_an_error_of_the_objective_is_chained() -> None:
    own = RuntimeError("the simulator is down")

    def f(x: np.ndarray) -> np.ndarray:
        raise own

    with pytest.raises(daedal.ObjectiveError, match="RuntimeError: the simulator is down") as caught:
        daedal.maximize(f, n=5, **QUICK)
    assert caught.value.__cause__ is own
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("objective", "how", "kind", "says"),
    [
        (ones, {}, ValueError, "n=60"),
        (ones, {"n": 0}, ValueError, "n=0"),
        (ones, {"n": 5.0}, ValueError, "n=5.0"),
        ("onemax:n=10", {"n": 9}, ValueError, "n=10.* got n=9"),
        (OneMax(n=10), {"n": 9}, ValueError, "n=10.* got n=9"),
        ("onemxa:n=10", {}, ValueError, "'onemxa'.* 'onemax'"),
        ("trap:k=4,n=50", {}, ValueError, "k=4, got n=50"),
        ("trap:k=4,n=fifty", {}, ValueError, "n=fifty"),
        (ones, {"n": 5, "algorithm": "dea"}, ValueError, "'dea'.* 'dae'"),
        (ones, {"n": 5, "popsize": 1}, ValueError, "popsize=1"),
        (ones, {"n": 5, "popsize": 10**13}, ValueError, "popsize=10000000000000 .* memory"),
        (ones, {"n": 5, "seed": -1}, ValueError, "-1"),
        (ones, {"n": 5, "max_evaluations": 0}, ValueError, "max_evaluations=0"),
        (ones, {"n": 5, "max_generations": -1}, ValueError, "max_generations=-1"),
        (ones, {"n": 5, "patience": 0}, ValueError, "patience=0"),
        (ones, {"n": 5, "target": float("nan")}, ValueError, "target=nan"),
        (ones, {"n": 5, "algorithm": "dae", "corruption": 2}, ValueError, "corruption=2"),
        (ones, {"n": 5, "algorithm": "dae", "coruption": 2}, ValueError, "'coruption'.* 'corruption'.* hidden"),
        (ones, {"n": 5, "callback": "print"}, TypeError, "callback"),
        *((what, {}, TypeError, "objective") for what in (5, None, [1, 2], OneMax, np.zeros(3))),
    ],
)
def test_bad_input_is_refused_before_the_run(
    objective: Any, how: dict[str, Any], kind: type[Exception], says: str
) -> None:
    calls: list[int] = []
    given = (lambda x: calls.append(1) or ones(x)) if objective is ones else objective
    with pytest.raises(kind, match=says):
        daedal.maximize(given, **(QUICK | how))
    assert calls == []


# ---------------------------------------------------------------- time and memory


def test_kernels_are_loaded_before_the_clock_starts() -> None:
    calls: list[str] = []
    waited = 0.0

    class Slow(daedal.models.UMDA):
        def prepare(self) -> None:
            nonlocal waited
            begin = time.monotonic()
            time.sleep(0.2)
            waited = time.monotonic() - begin
            calls.append("prepare")

    begin = time.monotonic()
    result = daedal.maximize(
        lambda x: calls.append("evaluate") or ones(x), n=5, algorithm=Slow(), popsize=10, seed=1, max_generations=1
    )
    assert calls == ["prepare", "evaluate", "evaluate"]
    assert result.seconds <= time.monotonic() - begin - waited


@pytest.mark.parametrize("how", [{}, {"algorithm": "dae"}, {"workers": 2}, {"run": "run.db"}], ids=str)
def test_memory_does_not_wait_for_the_garbage_collector(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive of a long run is large, so a hundred runs in a row must not hold those of many."""
    monkeypatch.chdir(tmp_path)

    def held() -> set[str]:
        return {type(one).__name__ for one in gc.get_objects()} & {"Run", "Archive", "Engine", "Journal", "RunFile"}

    gc.collect()
    before = held()
    gc.disable()
    try:
        daedal.maximize("onemax:n=8", seed=1, max_evaluations=100, **how)
        assert held() - {"Engine"} <= before  # the engine of some searches is left, but empty
    finally:
        gc.enable()
