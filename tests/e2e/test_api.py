"""maximize, minimize and ask/tell, as a Python user meets them."""

from __future__ import annotations

import dataclasses
import gc
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal import Generation, Result, StopReason
from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.memory_cache import MemoryCache
from daedal.optimizers.eda import EDA, default_popsize
from daedal.optimizers.selection import SELECTIONS, tournament
from daedal.problems import HIFF, NK, OneMax, Trap, shuffled
from daedal.rng import Stream, stream

QUICK: dict[str, Any] = {"algorithm": "umda", "popsize": 40, "seed": 1}


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def traps(x: np.ndarray) -> np.ndarray:
    """Traps of four bits, written by a user."""
    u = x.reshape(len(x), -1, 4).sum(axis=2)
    return np.where(u == 4, 4, 3 - u).sum(axis=1)


def timeless(history: tuple[Generation, ...]) -> list[Generation]:
    return [dataclasses.replace(record, cpu_seconds=0.0) for record in history]


def same(one: Result, other: Result) -> None:
    """All fields are equal to the bit, but those that are measured with a clock."""
    assert np.array_equal(one.x, other.x)
    assert timeless(one.history) == timeless(other.history)
    for item in dataclasses.fields(Result):
        if item.name not in ("x", "history", "seconds", "cpu_seconds", "cpu_seconds_to_best"):
            assert getattr(one, item.name) == getattr(other, item.name), item.name


# Same seed, same result


@pytest.mark.parametrize("algorithm", sorted(daedal.algorithms()))
def test_two_runs_with_one_seed_are_identical(algorithm: str) -> None:
    def run(seed: int) -> Result:
        return daedal.maximize("trap:k=4,n=20", algorithm=algorithm, popsize=100, seed=seed, max_generations=5)

    same(run(3), run(3))
    assert timeless(run(3).history) != timeless(run(4).history)


@pytest.mark.parametrize("model", [daedal.models.DAE(), daedal.models.PBIL(), daedal.models.UMDA()])
def test_ask_and_tell_by_hand_is_maximize(model: daedal.models.Model) -> None:
    result = daedal.maximize(traps, n=20, algorithm=model, popsize=100, seed=7, max_generations=6)
    optimizer = daedal.EDA(n=20, model=model, popsize=100, seed=7, limits=daedal.Limits(max_generations=6, patience=50))
    history = []
    while optimizer.stop is None:
        optimizer.tell(traps(optimizer.ask().astype(int)))
        assert optimizer.last is not None
        history.append(optimizer.last)
    assert timeless(result.history) == history
    assert optimizer.best is not None
    assert np.array_equal(optimizer.best.x, result.x)
    assert optimizer.best.fitness == result.fitness
    assert optimizer.best.evaluations == result.evaluations_to_best
    assert optimizer.stop is result.stop


def test_ask_and_tell_with_nothing_but_the_defaults_is_maximize() -> None:
    result = daedal.maximize(ones, n=10, popsize=60, seed=7)
    optimizer = daedal.EDA(n=10, model=daedal.models.DAE(), popsize=60, seed=7)
    while optimizer.stop is None:
        optimizer.tell(ones(optimizer.ask()))
    assert optimizer.best is not None
    assert np.array_equal(optimizer.best.x, result.x)
    assert optimizer.last is not None
    assert optimizer.last.evaluations == result.evaluations


def test_a_name_without_shuffling_is_the_problem_is_its_function() -> None:
    how: dict[str, Any] = {"popsize": 100, "seed": 5, "max_generations": 4, "target": 20.0}
    name = daedal.maximize("trap:k=4,n=20", shuffle=False, **how)
    problem = daedal.maximize(Trap(k=4, n=20), **how)
    function = daedal.maximize(traps, n=20, **how)
    same(name, problem)
    assert np.array_equal(function.x, name.x)
    assert timeless(function.history) == timeless(name.history)
    assert (function.optimum, name.optimum) == (None, 20.0)


def test_a_name_is_the_problem_shuffled_by_the_seed() -> None:
    how: dict[str, Any] = {"popsize": 100, "seed": 5, "max_generations": 4}
    mixed = shuffled(Trap(k=4, n=20), rng=stream(5, Stream.SHUFFLE))
    by_name, by_hand = daedal.maximize("trap:k=4,n=20", **how), daedal.maximize(mixed, **how)
    assert np.array_equal(by_name.x, mixed.restore(by_hand.x))
    assert timeless(by_name.history) == timeless(by_hand.history)
    assert timeless(by_name.history) != timeless(daedal.maximize("trap:k=4,n=20", shuffle=False, **how).history)


@pytest.mark.parametrize("spec", ["trap:k=4,n=20", "hiff:n=16", "nk:n=16,k=3,seed=2", "onemax:n=16"])
def test_x_is_in_the_problems_own_order(spec: str) -> None:
    problem = {
        "trap": Trap(k=4, n=20),
        "hiff": HIFF(n=16),
        "nk": NK.random(16, 3, 2),
        "onemax": OneMax(n=16),
    }[spec.split(":")[0]]
    for seed in range(3):
        result = daedal.maximize(spec, algorithm="umda", popsize=30, seed=seed, max_generations=2)
        assert problem.evaluate(result.x[None])[0] == result.fitness
        assert result.x.dtype == np.uint8
        assert result.x.shape == (problem.n,)


def test_a_function_of_one_row_gives_the_same_run() -> None:
    batch = daedal.maximize(traps, n=20, **QUICK)
    row = daedal.maximize(lambda row: traps(row[None])[0], n=20, vectorized=False, **QUICK)
    same(batch, row)


def test_settings_may_be_keywords_texts_or_a_model() -> None:
    how: dict[str, Any] = {"n": 20, "popsize": 60, "seed": 1, "max_generations": 2}
    keyword = daedal.maximize(traps, corruption=0.2, hidden=5, **how)
    same(keyword, daedal.maximize(traps, corruption="0.2", hidden="5", **how))
    model = daedal.maximize(traps, algorithm=daedal.models.DAE(corruption=0.2, hidden=5), **how)
    assert timeless(model.history) == timeless(keyword.history)
    assert keyword.settings["corruption"] == 0.2
    assert timeless(keyword.history) != timeless(daedal.maximize(traps, **how).history)


def test_the_global_generator_is_left_alone() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002  to see that nobody uses it
    first = daedal.maximize("trap:k=4,n=20", popsize=60, seed=1, max_generations=2)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    same(first, daedal.maximize("trap:k=4,n=20", popsize=60, seed=1, max_generations=2))


def test_without_a_seed_the_result_says_which_one_was_drawn() -> None:
    result = daedal.maximize(ones, n=20, algorithm="umda", popsize=40)
    same(result, daedal.maximize(ones, n=20, algorithm="umda", popsize=40, seed=result.seed))


# What a result holds


def test_a_result_adds_up() -> None:
    result = daedal.maximize(traps, n=20, algorithm="dae", popsize=100, seed=2, max_generations=5)
    assert result.fitness == traps(result.x[None].astype(int))[0] == result.history[-1].best
    assert isinstance(result.fitness, float)
    assert [record.generation for record in result.history] == list(range(result.generations + 1))
    assert [record.evaluations for record in result.history] == [100 + 50 * g for g in range(result.generations + 1)]
    assert result.evaluations == result.history[-1].evaluations
    found = next(record for record in result.history if record.best == result.fitness)
    assert result.evaluations_to_best == found.evaluations
    assert result.cpu_seconds_to_best == found.cpu_seconds
    times = [record.cpu_seconds for record in result.history]
    assert times == sorted(times)
    assert result.cpu_seconds >= times[-1] > 0
    assert 0 < result.cpu_seconds_to_best <= result.cpu_seconds
    assert result.seconds > 0
    assert result.evaluations == result.carried_out + result.cached + result.failed
    assert (result.failed, result.failures) == (0, ())
    assert {"epochs", "error"} <= set(result.history[1].info)
    assert (result.algorithm, result.popsize, result.seed) == ("dae", 100, 2)
    assert result.settings == daedal.algorithms()["dae"].settings()


def test_the_default_popsize_is_in_the_result() -> None:
    result = daedal.maximize(ones, n=30, algorithm="umda", seed=1, max_generations=1)
    assert result.popsize == default_popsize(30) == result.history[0].evaluations


def test_success_is_known_where_a_goal_is() -> None:
    assert daedal.maximize(ones, n=10, **QUICK).success is None
    assert daedal.maximize(ones, n=10, target=10, **QUICK).success is True
    assert daedal.maximize(ones, n=10, target=11, **QUICK).success is False
    assert daedal.maximize("onemax:n=10", **QUICK).success is True
    assert daedal.maximize("onemax:n=60", max_generations=0, **QUICK).success is False
    assert daedal.maximize("onemax:n=10", target=9.0, **QUICK).success is True
    assert daedal.maximize("onemax:n=10", target=11, **QUICK).success is False
    assert daedal.minimize("onemax:n=10", **QUICK).success is None


def test_the_optimum_ends_a_run_and_a_target_ends_it_earlier() -> None:
    to_the_end = daedal.maximize("onemax:n=20", **QUICK)
    assert (to_the_end.stop, to_the_end.fitness, to_the_end.optimum) == (StopReason.TARGET, 20.0, 20.0)
    earlier = daedal.maximize("onemax:n=20", target=15.0, **QUICK)
    assert earlier.stop is StopReason.TARGET
    assert earlier.fitness >= 15.0
    assert earlier.generations < to_the_end.generations
    assert earlier.optimum == 20.0


@pytest.mark.parametrize(
    ("how", "stop"),
    [
        ({"max_generations": 2}, StopReason.GENERATIONS),
        ({"max_evaluations": 55}, StopReason.EVALUATIONS),
        ({"target": 12}, StopReason.TARGET),
        ({}, StopReason.CONVERGED),
    ],
)
def test_every_limit_reaches_the_loop(how: dict[str, Any], stop: StopReason) -> None:
    result = daedal.maximize(ones, n=20, **QUICK, **how)
    assert result.stop is stop
    assert result.evaluations == how.get("max_evaluations", result.evaluations)
    assert result.generations == how.get("max_generations", result.generations)


def test_patience_reaches_the_loop() -> None:
    result = daedal.maximize(lambda x: np.zeros(len(x)), n=40, algorithm="pbil", popsize=20, seed=1, patience=4)
    assert (result.stop, result.generations, result.evaluations_to_best) == (StopReason.PATIENCE, 4, 20)


def test_what_is_infeasible_may_be_minus_infinity() -> None:
    result = daedal.maximize(lambda x: np.where(x[:, 0] == 1, -np.inf, ones(x)), n=10, **QUICK)
    assert result.fitness == 9.0
    assert result.x.tolist() == [0] + [1] * 9
    nothing = daedal.maximize(lambda x: np.full(len(x), -np.inf), n=10, max_generations=1, **QUICK)
    assert nothing.fitness == -np.inf


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("popsize", [2, 3, 10])
@pytest.mark.parametrize("algorithm", sorted(daedal.algorithms()))
def test_the_smallest_runs(algorithm: str, n: int, popsize: int) -> None:
    result = daedal.maximize(ones, n=n, algorithm=algorithm, popsize=popsize, seed=1, max_generations=5)
    assert result.x.sum() == result.fitness


# Signs


def test_minimize_has_the_users_signs_everywhere() -> None:
    seen: list[Generation] = []

    def cost(x: np.ndarray) -> np.ndarray:
        return 5.0 + ones(x)

    result = daedal.minimize(cost, n=15, callback=lambda record: seen.append(record), target=5.0, **QUICK)
    assert result.fitness == 5.0
    assert result.x.sum() == 0
    assert result.success is True
    assert result.stop is StopReason.TARGET
    bests = [record.best for record in result.history]
    assert bests == sorted(bests, reverse=True)
    assert all(record.best <= record.mean for record in result.history)
    assert all(5.0 <= record.mean <= 20.0 for record in result.history)
    assert seen == list(result.history)
    missed = daedal.minimize(cost, n=15, target=4.0, **QUICK)
    assert missed.success is False
    assert daedal.minimize(cost, n=15, target=4.0 + 1 + 0.9e-6, **QUICK).success is True


def test_minimize_is_maximize_of_the_negative() -> None:
    down = daedal.minimize(traps, n=20, **QUICK)
    up = daedal.maximize(lambda x: -traps(x), n=20, **QUICK)
    assert np.array_equal(down.x, up.x)
    assert [-record.best for record in up.history] == [record.best for record in down.history]
    assert [-record.mean for record in up.history] == [record.mean for record in down.history]
    assert down.evaluations == up.evaluations


def test_minimize_of_a_problem_does_not_count_its_largest_value() -> None:
    result = daedal.minimize("onemax:n=12", **QUICK)
    assert (result.fitness, result.optimum, result.success) == (0.0, None, None)
    assert daedal.minimize(OneMax(n=12), target=0, **QUICK).success is True


def test_no_result_is_minus_zero() -> None:
    result = daedal.minimize(ones, n=6, **QUICK)
    assert str(result.fitness) == "0.0"
    assert "-0" not in repr(result).replace("seed=-0", "")


def test_minimize_takes_infinity_for_what_is_infeasible() -> None:
    result = daedal.minimize(lambda x: np.where(x[:, 0] == 0, np.inf, ones(x)), n=10, **QUICK)
    assert result.fitness == 1.0
    with pytest.raises(daedal.ObjectiveError, match=r"got -inf .* use inf for what is infeasible"):
        daedal.minimize(lambda x: np.full(len(x), -np.inf), n=10, **QUICK)


# The callback, and Ctrl-C


def test_a_callback_sees_each_generation_and_stops_the_run_with_true() -> None:
    seen: list[Generation] = []

    def third(record: Generation) -> bool:
        seen.append(record)
        return record.generation == 2

    result = daedal.maximize(ones, n=30, callback=third, **QUICK)
    assert result.stop is StopReason.CALLBACK
    assert result.generations == 2
    assert seen == list(result.history)


def test_a_numpy_true_stops_the_run_too() -> None:
    result = daedal.maximize(ones, n=30, callback=lambda record: np.bool_(record.generation == 2), **QUICK)
    assert result.stop is StopReason.CALLBACK


def test_what_else_a_callback_returns_does_not_stop_the_run() -> None:
    plain = daedal.maximize(ones, n=12, **QUICK)
    for returned in (None, False, 0, "yes"):
        same(daedal.maximize(ones, n=12, callback=lambda record, value=returned: value, **QUICK), plain)


def test_true_from_the_callback_at_the_end_does_not_hide_the_end() -> None:
    result = daedal.maximize("onemax:n=6", callback=lambda record: record.best == 6.0, **QUICK)
    assert result.stop is StopReason.TARGET


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
def test_an_interrupt_in_the_middle_gives_the_best_so_far(optimise: Callable[..., Result]) -> None:
    result = optimise(interrupting(4), n=30, **QUICK)
    whole = optimise(interrupting(99), n=30, max_generations=2, **QUICK)
    assert result.stop is StopReason.INTERRUPTED
    assert timeless(result.history) == timeless(whole.history)
    assert np.array_equal(result.x, whole.x)
    assert (result.fitness, result.evaluations, result.generations) == (whole.fitness, 80, 2)


def test_an_interrupt_before_anything_was_found_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        daedal.maximize(interrupting(1), n=30, **QUICK)


def test_an_interrupt_from_the_callback_gives_the_best_so_far() -> None:
    def interrupt(record: Generation) -> None:
        raise KeyboardInterrupt

    result = daedal.maximize(ones, n=30, callback=interrupt, **QUICK)
    assert (result.stop, result.generations) == (StopReason.INTERRUPTED, 0)


def test_an_interrupt_inside_tell_gives_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come at any moment, also when the best is known and the generation not yet recorded: it is then."""
    calls = 0

    def interrupted(fitness: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 3:
            signal.raise_signal(signal.SIGINT)
        return tournament(fitness, rng)

    whole = daedal.maximize(interrupting(99), n=30, max_generations=2, **QUICK)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where it is ignored, it has to be heard
    try:
        monkeypatch.setitem(SELECTIONS, "tournament", interrupted)
        result = daedal.maximize(interrupting(99), n=30, **QUICK)
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == 3
    same(dataclasses.replace(whole, stop=StopReason.INTERRUPTED), result)


# Progress


def test_progress_goes_to_standard_error_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = daedal.maximize(ones, n=12, **QUICK)
    assert capsys.readouterr() == ("", "")
    same(daedal.maximize(ones, n=12, progress=True, **QUICK), quiet)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("umda on ones, popsize 40, seed 1\n")
    assert "\x1b" not in err


# Bad input


def test_the_objectives_own_exception_is_chained() -> None:
    own = RuntimeError("the simulator is down")

    def f(x: np.ndarray) -> np.ndarray:
        raise own

    with pytest.raises(
        daedal.ObjectiveError, match="the objective raised RuntimeError: the simulator is down"
    ) as caught:
        daedal.maximize(f, n=5, **QUICK)
    assert caught.value.__cause__ is own
    assert isinstance(caught.value, ValueError)


def test_a_function_of_one_row_taken_for_one_of_a_batch_gets_the_hint() -> None:
    with pytest.raises(daedal.ObjectiveError, match="vectorized=False"):
        daedal.maximize(lambda row: float(row.sum()), n=5, **QUICK)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (
            lambda x: np.full(len(x), np.nan),
            r"expected finite numbers from the objective, got nan for the row [01]{12}; .* \(40 of 40 rows failed",
        ),
        (lambda x: ones(x)[1:], r"expected one number a row, shape \(40,\), from the objective, got shape=\(39,\)"),
        (lambda x: ["a"] * len(x), "expected numbers from the objective, got list"),
        (lambda x: None, "expected numbers from the objective, got None"),
    ],
)
def test_what_an_objective_may_not_return(objective: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(daedal.ObjectiveError, match=says):
        daedal.maximize(objective, n=12, **QUICK)  # whose first 40 rows are all different


@pytest.mark.parametrize(
    ("objective", "how", "says"),
    [
        (ones, {}, r"expected n, the number of variables, beside a function, as in maximize\(f, n=60\)"),
        (ones, {"n": 0}, "expected n to be a whole number of at least 1, got n=0"),
        (ones, {"n": 5.0}, "got n=5.0"),
        (ones, {"n": "5"}, "got n='5'"),
        ("onemax:n=10", {"n": 9}, "expected n=10, which the problem has, or no n, got n=9"),
        (OneMax(n=10), {"n": 9}, "expected n=10, which the problem has"),
        ("onemxa:n=10", {}, "unknown problem 'onemxa', did you mean 'onemax'"),
        ("hiff:n=60", {}, "hiff needs n to be a power of two, got n=60"),
        ("trap:k=4,n=50", {}, "trap needs n to be a multiple of k=4, got n=50"),
        ("trap:k=4,n=fifty", {}, "expected n of trap to be a whole number, got n=fifty"),
        (ones, {"n": 5, "algorithm": "dea"}, "unknown algorithm 'dea', did you mean 'dae'"),
        (ones, {"n": 5, "popsize": 1}, "expected popsize to be a whole number of at least 2, got popsize=1"),
        (ones, {"n": 5, "popsize": -5}, "got popsize=-5"),
        (ones, {"n": 5, "popsize": 10**13}, "takes about .* of memory, and this machine has"),
        (ones, {"n": 5, "seed": -1}, "expected a seed that is a whole number of at least 0"),
        (ones, {"n": 5, "max_evaluations": 0}, "expected max_evaluations to be a whole number of at least 1"),
        (ones, {"n": 5, "max_generations": -1}, "expected max_generations to be a whole number of at least 0"),
        (ones, {"n": 5, "patience": 0}, "expected patience to be a whole number of at least 1"),
        (ones, {"n": 5, "target": float("nan")}, "expected target to be a number, got target=nan"),
        (ones, {"n": 5, "algorithm": "dae", "corruption": 2}, "expected corruption between 0 and 1, got corruption=2"),
    ],
)
@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize])
def test_bad_input_is_refused(optimise: Callable[..., Result], objective: Any, how: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        optimise(objective, **(QUICK | how))


@pytest.mark.parametrize("objective", [5, None, [1, 2], OneMax, np.zeros(3)])
def test_what_is_no_objective_is_refused(objective: Any) -> None:
    with pytest.raises(TypeError, match="expected a function, a problem or its name as objective, got "):
        daedal.maximize(objective, **QUICK)


def test_what_is_no_callback_is_refused_before_the_run() -> None:
    calls: list[int] = []
    with pytest.raises(TypeError, match="callback"):
        daedal.maximize(lambda x: calls.append(1) or ones(x), n=5, callback="print", **QUICK)  # type: ignore[arg-type]
    assert calls == []


@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize])
def test_an_unknown_keyword_lists_the_known_ones(optimise: Callable[..., Result]) -> None:
    known = ", ".join(sorted(daedal.algorithms()["dae"].parameters()))
    says = f"unknown setting of dae 'coruption', did you mean 'corruption'? Known: {known}"
    with pytest.raises(ValueError, match=re.escape(says)):
        optimise(ones, n=5, coruption=0.1)


def test_a_bad_value_is_refused_before_the_objective_is_called() -> None:
    calls: list[int] = []
    with pytest.raises(ValueError, match="seed"):
        daedal.maximize(lambda x: calls.append(1) or ones(x), n=5, seed=-1)
    assert calls == []


# What is left of a run


@pytest.mark.parametrize("algorithm", ["umda", "dae", "boa"])
@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"checkpoint": "run.ckpt", "every": 1}, {"cache": "scores.db"}])
def test_memory_does_not_wait_for_the_garbage_collector(
    algorithm: str, how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays weigh nothing to it: a hundred runs in a row would hold those of many."""
    monkeypatch.chdir(tmp_path)

    def held() -> int:
        return sum(isinstance(thing, EDA | Evaluator | MemoryCache) for thing in gc.get_objects())

    gc.collect()
    before = held()
    gc.disable()
    try:
        daedal.maximize("onemax:n=8", algorithm=algorithm, popsize=40, seed=1, max_generations=3, **how)
        assert held() == before
    finally:
        gc.enable()
