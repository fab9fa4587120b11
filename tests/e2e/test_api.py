"""maximize, minimize and ask/tell, as a Python user meets them."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import shown_trace, sized, without_clocks

import daedal
from daedal import Generation, Result, StopReason
from daedal.problems import HIFF, NK, OneMax, Trap, shuffled
from daedal.rng import Stream, stream

ALGORITHMS = sorted(daedal.algorithms())
QUICK: dict[str, Any] = {"algorithm": "umda", "popsize": 40, "seed": 1}
CLOCKS = ("seconds", "cpu_seconds", "cpu_seconds_to_best")


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def traps(x: np.ndarray) -> np.ndarray:
    """Traps of four bits, written by a user."""
    u = x.reshape(len(x), -1, 4).sum(axis=2)
    return np.where(u == 4, 4, 3 - u).sum(axis=1)


def timeless(history: tuple[Generation, ...]) -> list[Generation]:
    return [without_clocks(record) for record in history]


def same(one: Result, other: Result) -> None:
    """All fields are equal to the bit, but those that are measured with a clock."""
    assert np.array_equal(one.x, other.x)
    assert timeless(one.history) == timeless(other.history)
    assert one.trace is not None
    assert other.trace is not None
    assert shown_trace(one.trace) == shown_trace(other.trace)
    for item in dataclasses.fields(Result):
        if item.name not in ("x", "history", "trace", "problem", "again", "limits", *CLOCKS):
            assert getattr(one, item.name) == getattr(other, item.name), item.name


# Same seed, same result


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_two_runs_with_one_seed_are_identical(algorithm: str) -> None:
    """Whatever NumPy's global generator, which is left alone, has in store."""

    def run(seed: int) -> Result:
        size = sized(algorithm, 100)
        return daedal.maximize("trap:k=4,n=20", algorithm=algorithm, seed=seed, max_generations=4, **size)

    before = np.random.get_state()[1].tolist()  # noqa: NPY002  to see that nobody uses it
    first = run(3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    same(run(3), first)
    assert timeless(run(4).history) != timeless(first.history)


def test_without_a_seed_the_result_says_which_one_was_drawn() -> None:
    result = daedal.maximize(ones, n=20, algorithm="umda", popsize=40)
    same(result, daedal.maximize(ones, n=20, algorithm="umda", popsize=40, seed=result.seed))


@pytest.mark.parametrize(
    ("model", "most"),
    [(daedal.models.DAE(), 6), (daedal.models.PBIL(), 6), (daedal.models.UMDA(), 6), (daedal.models.DAE(), None)],
)
def test_ask_and_tell_by_hand_is_maximize(model: daedal.models.Model, most: int | None) -> None:
    result = daedal.maximize(traps, n=12, algorithm=model, popsize=60, seed=7, max_generations=most)
    limits = None if most is None else daedal.Limits(max_generations=most, patience=50)
    optimizer = daedal.EDA(n=12, model=model, popsize=60, seed=7, limits=limits)
    history = []
    while optimizer.stop is None:
        history.append(optimizer.tell(traps(optimizer.ask().astype(int))))
    assert [dataclasses.replace(record, batches=0) for record in timeless(result.history)] == history
    assert optimizer.best is not None
    assert np.array_equal(optimizer.best.x, result.x)
    assert not optimizer.best.x.flags.writeable
    assert (optimizer.best.fitness, optimizer.best.evaluations) == (result.fitness, result.evaluations_to_best)
    assert (optimizer.stop, optimizer.evaluations) == (result.stop, result.evaluations)


def test_a_name_without_shuffling_is_the_problem_is_its_function() -> None:
    how: dict[str, Any] = {"seed": 5, "max_evaluations": 500, "target": 20.0}
    name = daedal.maximize("trap:k=4,n=20", shuffle=False, **how)
    same(name, daedal.maximize(Trap(k=4, n=20), **how))
    function = daedal.maximize(traps, n=20, **how)
    assert (function.optimum, name.optimum) == (None, 20.0)
    same(dataclasses.replace(function, optimum=20.0), name)
    by_row = daedal.maximize(lambda row: traps(row[None])[0], n=20, vectorized=False, **how)
    same(by_row, function)


def test_a_name_is_the_problem_shuffled_by_the_seed() -> None:
    how: dict[str, Any] = {"seed": 5, "max_evaluations": 300}
    mixed = shuffled(Trap(k=4, n=20), rng=stream(5, Stream.SHUFFLE))
    by_name, by_hand = daedal.maximize("trap:k=4,n=20", **how), daedal.maximize(mixed, **how)
    assert np.array_equal(by_name.x, mixed.restore(by_hand.x))
    assert timeless(by_name.history) == timeless(by_hand.history)
    assert timeless(by_name.history) != timeless(daedal.maximize("trap:k=4,n=20", shuffle=False, **how).history)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("trap:k=4,n=20", Trap(k=4, n=20)),
        ("hiff:n=16", HIFF(n=16)),
        ("nk:n=16,k=3,seed=2", NK.random(16, 3, 2)),
        ("onemax:n=16", OneMax(n=16)),
    ],
)
def test_x_is_in_the_problems_own_order(spec: str, problem: daedal.problems.Problem) -> None:
    for seed in range(3):
        result = daedal.maximize(spec, algorithm="umda", popsize=30, seed=seed, max_generations=2)
        assert problem.evaluate(result.x[None])[0] == result.fitness
        assert (result.x.dtype, result.x.shape) == (np.uint8, (problem.n,))


def test_settings_may_be_keywords_texts_or_a_model() -> None:
    how: dict[str, Any] = {"n": 20, "popsize": 60, "seed": 1, "max_generations": 2}
    keyword = daedal.maximize(traps, algorithm="dae", corruption=0.2, hidden=5, **how)
    same(keyword, daedal.maximize(traps, algorithm="dae", corruption="0.2", hidden="5", **how))
    model = daedal.maximize(traps, algorithm=daedal.models.DAE(corruption=0.2, hidden=5), **how)
    assert timeless(model.history) == timeless(keyword.history)
    assert keyword.settings["corruption"] == 0.2
    assert timeless(keyword.history) != timeless(daedal.maximize(traps, algorithm="dae", **how).history)


def test_a_model_runs_under_the_limits_of_its_kind() -> None:
    by_name = daedal.maximize("onemax:n=30", algorithm="pbil", popsize=20, seed=1)
    by_model = daedal.maximize("onemax:n=30", algorithm=daedal.models.PBIL(), popsize=20, seed=1)
    assert (by_model.stop, by_model.generations) == (by_name.stop, by_name.generations)


# What a result holds


def test_a_result_adds_up() -> None:
    result = daedal.maximize(traps, n=20, algorithm="dae", popsize=100, seed=2, max_generations=5)
    assert result.fitness == traps(result.x[None].astype(int))[0] == result.history[-1].best
    assert isinstance(result.fitness, float)
    assert [record.generation for record in result.history] == list(range(result.generations + 1))
    assert [record.evaluations for record in result.history] == [100 + 50 * g for g in range(result.generations + 1)]
    found = next(record for record in result.history if record.best == result.fitness)
    assert result.evaluations_to_best == found.evaluations
    times = [0.0, *(record.cpu_seconds for record in result.history), result.cpu_seconds]
    assert times == sorted(times)
    assert times[found.generation] < result.cpu_seconds_to_best <= result.cpu_seconds
    assert result.seconds > 0
    last = result.history[-1]
    assert (result.evaluations, result.repeated) == (last.evaluations, last.repeated)
    assert (result.failed, result.failures) == (0, ())
    assert (result.algorithm, result.popsize, result.seed) == ("dae", 100, 2)
    assert result.settings | {"popsize": None} == daedal.algorithms()["dae"].settings() | {"popsize": None}
    result.x[0] ^= 1  # it is the user's own


def test_the_default_popsize_is_in_the_result() -> None:
    result = daedal.maximize(ones, n=30, algorithm="umda", seed=1, max_generations=1)
    assert result.popsize == result.history[0].evaluations == daedal.EDA(n=30, model=daedal.models.UMDA()).popsize
    few = daedal.maximize("onemax:n=200000", algorithm="umda", popsize=4, seed=1, max_generations=1)
    assert few.popsize == 4  # whose memory is that of four rows


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
        ("onemax:n=10", {}, True, StopReason.TARGET),
        ("onemax:n=10", {"max_generations": 0}, False, StopReason.GENERATIONS),
        ("onemax:n=10", {"target": 9.0}, True, StopReason.TARGET),
        ("onemax:n=10", {"target": 11}, False, StopReason.CONVERGED),
    ],
)
def test_limits_end_a_run_and_success_is_known_where_a_goal_is(
    objective: Any, how: dict[str, Any], success: bool | None, stop: StopReason
) -> None:
    result = daedal.maximize(objective, n=10, **(QUICK | how))
    assert (result.success, result.stop) == (success, stop)
    assert result.evaluations == how.get("max_evaluations", result.evaluations)
    assert result.generations == how.get("max_generations", how.get("patience", result.generations))
    assert result.optimum == (10.0 if isinstance(objective, str) else None)


def test_sums_beyond_a_float_are_no_warning() -> None:
    result = daedal.maximize(lambda x: ones(x) * 4e306, n=20, algorithm="umda", popsize=200, seed=1)
    assert result.fitness == 20 * 4e306


# What each generation has to tell

INFO = {
    "dae": {"epochs", "error"},
    "dae-2015": {"epochs", "error", "validation_error"},
    "dae-search": {"epochs", "error"},
    "rbm": {"epochs", "error"},
    "boa": {"edges", "max_in_degree", "score"},
    "hboa": {"edges", "max_in_degree", "score"},
    "ecga": {"groups", "largest_group", "score"},
    "tree": {"edges", "information"},
    "pbil": set(),
    "umda": set(),
}


@pytest.mark.parametrize("algorithm", INFO)
def test_every_model_tells_its_own_figures(algorithm: str) -> None:
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


@pytest.mark.parametrize("replacement", ["parents", "rtr"])
@pytest.mark.parametrize("algorithm", INFO)
def test_where_there_is_nothing_to_learn_the_run_ends(algorithm: str, replacement: str) -> None:
    """All rows are as good, or all rows are the same; no figure is nan."""
    how: dict[str, Any] = {"algorithm": algorithm, "seed": 1, "replacement": replacement}
    equal = daedal.maximize(lambda x: np.full(len(x), 2.5), n=10, popsize=40, patience=6, **how)
    assert all(record.best == record.mean == 2.5 for record in equal.history)
    zeros = np.zeros((60, 7), dtype=np.uint8)
    alike = daedal.maximize(lambda x: -ones(x), n=7, popsize=60, patience=5, initial=zeros, **how)
    assert (alike.fitness, alike.history[0].mean, alike.x.tolist()) == (0.0, 0.0, [0] * 7)
    if algorithm != "pbil":  # which does not take the parents' word for it at once
        assert alike.stop is StopReason.CONVERGED
    for result in (equal, alike):
        assert result.stop in (StopReason.PATIENCE, StopReason.CONVERGED)
        assert all(np.isfinite(list(record.info.values())).all() for record in result.history)


# Signs


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


def test_minimize_is_maximize_of_the_negative() -> None:
    down, up = daedal.minimize(traps, n=20, **QUICK), daedal.maximize(lambda x: -traps(x), n=20, **QUICK)
    assert np.array_equal(down.x, up.x)
    assert [(-record.best, -record.mean) for record in up.history] == [(one.best, one.mean) for one in down.history]
    assert down.evaluations == up.evaluations


def test_minimize_of_a_problem_does_not_count_its_largest_value() -> None:
    result = daedal.minimize("onemax:n=12", **QUICK)
    assert (str(result.fitness), result.optimum, result.success) == ("0.0", None, None)  # nor is it minus zero
    assert "=-0" not in repr(result)
    assert daedal.minimize(OneMax(n=12), target=0, **QUICK).success is True


def test_infinity_is_for_what_is_infeasible() -> None:
    """A mean is that of the feasible."""
    up = daedal.maximize(lambda x: np.where(x[:, 0] == 1, -np.inf, ones(x)), n=10, **QUICK)
    assert (up.fitness, up.x.tolist()) == (9.0, [0] + [1] * 9)
    assert all(0 <= record.mean <= 9 for record in up.history)
    nothing = daedal.maximize(lambda x: np.full(len(x), -np.inf), n=10, max_generations=1, **QUICK)
    assert nothing.fitness == nothing.history[0].mean == -np.inf
    down = daedal.minimize(lambda x: np.where(x[:, 0] == 0, np.inf, ones(x)), n=10, **QUICK)
    assert down.fitness == 1.0
    with pytest.raises(daedal.ObjectiveError, match=r"-inf .* inf"):
        daedal.minimize(lambda x: np.full(len(x), -np.inf), n=10, **QUICK)


# The callback, and Ctrl-C


@pytest.mark.parametrize("true", [True, np.bool_(True)])
def test_a_callback_sees_each_generation_and_stops_the_run_with_true(true: Any) -> None:
    seen: list[Generation] = []
    result = daedal.maximize(ones, n=30, callback=lambda one: seen.append(one) or (len(seen) == 3 and true), **QUICK)
    assert (result.stop, result.generations) == (StopReason.CALLBACK, 2)
    assert seen == list(result.history)


def test_what_else_a_callback_returns_changes_nothing() -> None:
    plain = daedal.maximize("onemax:n=6", **QUICK)
    for returned in (None, False, 0, "yes"):
        same(daedal.maximize("onemax:n=6", callback=lambda record, value=returned: value, **QUICK), plain)
    same(daedal.maximize("onemax:n=6", callback=lambda record: record.best == 6.0, **QUICK), plain)  # it is over


def test_what_a_callback_raises_comes_out() -> None:
    def broken(record: Generation) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        daedal.maximize(ones, n=12, callback=broken, **QUICK)


def interrupting(call: int) -> Callable[[np.ndarray], np.ndarray]:
    """Give an objective that is better at each call, and interrupted at one of them."""
    calls = 0

    def f(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return ones(x) + 100 * calls

    return f


@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize])
def test_an_interrupt_gives_the_best_so_far_if_there_is_one(optimise: Callable[..., Result]) -> None:
    result = optimise(interrupting(4), n=30, **QUICK)
    whole = optimise(interrupting(99), n=30, max_generations=2, **QUICK)
    same(result, dataclasses.replace(whole, stop=StopReason.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        optimise(interrupting(1), n=30, **QUICK)


# What is refused


def test_what_an_objective_raises_is_chained() -> None:
    own = RuntimeError("the simulator is down")

    def f(x: np.ndarray) -> np.ndarray:
        raise own

    with pytest.raises(daedal.ObjectiveError, match="RuntimeError: the simulator is down") as caught:
        daedal.maximize(f, n=5, **QUICK)
    assert caught.value.__cause__ is own
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda x: np.full(len(x), np.nan), r"nan for the row [01]{12}.*40 of 40 rows"),
        (lambda x: ones(x)[1:], r"\(40,\).* got shape=\(39,\)"),
        (lambda x: ["a"] * len(x), "got list"),
        (lambda x: None, "got None"),
        (lambda row: float(row.sum()), "vectorized=False"),
    ],
)
def test_what_an_objective_may_not_return(objective: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(daedal.ObjectiveError, match=says):
        daedal.maximize(objective, n=12, **QUICK)  # whose first 40 rows are all different


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
@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize])
def test_bad_input_is_refused_before_the_run(
    optimise: Callable[..., Result], objective: Any, how: dict[str, Any], kind: type[Exception], says: str
) -> None:
    calls: list[int] = []
    given = (lambda x: calls.append(1) or ones(x)) if objective is ones else objective
    with pytest.raises(kind, match=says):
        optimise(given, **(QUICK | how))
    assert calls == []


@pytest.mark.parametrize("algorithm", ["rbm", "boa", "tree", "ecga", "dae"])
def test_models_that_no_memory_holds_are_refused(algorithm: str) -> None:
    with pytest.raises(ValueError, match="memory"):
        daedal.maximize(lambda x: x[:, 0], n=1_000_000, algorithm=algorithm, popsize=4, seed=1)


# Time and memory


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


@pytest.mark.parametrize(
    ("algorithm", "how"),
    [
        *((name, {}) for name in ("umda", "dae", "boa")),
        *(
            ("umda", how)
            for how in (
                {"workers": 2},
                {"checkpoint": "run.ckpt", "every": 1, "overwrite": True},
                {"cache": "scores.db"},
            )
        ),
    ],
)
def test_memory_does_not_wait_for_the_garbage_collector(
    algorithm: str, how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays weigh nothing to it: a hundred runs in a row would hold those of many."""
    monkeypatch.chdir(tmp_path)

    def run() -> None:
        daedal.maximize("onemax:n=8", algorithm=algorithm, popsize=40, seed=1, max_generations=3, **how)

    def held() -> list[str]:
        kinds = [type(thing) for thing in gc.get_objects()]
        return sorted(kind.__qualname__ for kind in kinds if str(kind.__module__).startswith("daedal."))

    run()  # what is made once stays
    gc.collect()
    before = held()
    gc.disable()
    try:
        run()
        assert held() == before
    finally:
        gc.enable()
