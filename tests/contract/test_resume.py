"""A run that goes on from its checkpoint ends as the one that was never broken off. A new algorithm is in by being
registered."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import daedal
from daedal.evaluation.caller import ObjectiveError
from daedal.limits import Limits, StopReason
from daedal.models import PBIL, UMDA
from daedal.models.base import Fitted, Model
from daedal.models.univariate import Marginals
from daedal.optimizers.presets import _ALGORITHMS, Algorithm, Rules, algorithms, register_algorithm
from daedal.optimizers.replacement import REPLACEMENTS
from daedal.optimizers.selection import SELECTIONS
from daedal.problems import Trap
from daedal.run.checkpoint import load
from daedal.storage.checkpoint_file import read_checkpoint_file, write_checkpoint_file
from daedal.types import Bits, State

SMALL: dict[str, Any] = {"popsize": 24, "seed": 5, "max_generations": 6}


def told(result: daedal.Result) -> dict[str, Any]:
    """Give all that a result tells, but for the clocks; types and signs of zeros too."""
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    fields["x"] = (result.x.dtype, result.x.tolist())
    fields["history"] = [repr(dataclasses.replace(record, cpu_seconds=0.0)) for record in result.history]
    return {name: value for name, value in fields.items() if "seconds" not in name}


def at(generation: int) -> Callable[[daedal.Generation], bool]:
    """Stop after a generation."""
    return lambda record: record.generation == generation


def check_every_generation(path: Path, name: str, **settings: Any) -> None:
    """Break a run off after each of its generations in turn, and let it go on."""
    run = {**SMALL, "algorithm": name, **settings}
    expected = daedal.maximize("trap:k=4,n=12", **run)
    assert expected.generations >= 2
    for generation in range(expected.generations + 1):
        half = daedal.maximize("trap:k=4,n=12", checkpoint=path, callback=at(generation), **run)
        assert half.generations == generation
        assert half.stop is (expected.stop if generation == expected.generations else StopReason.CALLBACK)
        assert told(half)["history"] == told(expected)["history"][: generation + 1]
        assert told(daedal.resume(path)) == told(expected)


def check_chain(path: Path, name: str) -> None:
    """Break one run off after every generation."""
    run = {**SMALL, "algorithm": name}
    expected = daedal.maximize("trap:k=4,n=12", **run)
    result = daedal.maximize("trap:k=4,n=12", checkpoint=path, callback=at(0), **run)
    for generation in range(1, expected.generations + 1):
        result = daedal.resume(path, callback=at(generation))
        assert result.generations == generation
    assert told(daedal.resume(path)) == told(expected)


# Every algorithm


@pytest.mark.parametrize("name", sorted(algorithms()))
def test_broken_off_after_any_generation(name: str, tmp_path: Path) -> None:
    check_every_generation(tmp_path / "run.ckpt", name)


@pytest.mark.parametrize("name", sorted(algorithms()))
def test_broken_off_after_every_generation(name: str, tmp_path: Path) -> None:
    check_chain(tmp_path / "run.ckpt", name)


@pytest.mark.parametrize("replacement", sorted(REPLACEMENTS))
@pytest.mark.parametrize("selection", sorted(SELECTIONS))
@pytest.mark.parametrize("name", sorted(algorithms()))
def test_with_every_selection_and_replacement(name: str, selection: str, replacement: str, tmp_path: Path) -> None:
    run = {**SMALL, "algorithm": name, "selection": selection, "replacement": replacement}
    expected = daedal.maximize("trap:k=4,n=12", **run)
    path = tmp_path / "run.ckpt"
    daedal.maximize("trap:k=4,n=12", checkpoint=path, callback=at(expected.generations // 2), **run)
    result = daedal.resume(path)
    assert told(result) == told(expected)
    assert (result.settings["selection"], result.settings["replacement"]) == (selection, replacement)


@pytest.mark.parametrize("name", sorted(algorithms()))
def test_an_optimizer_gives_its_state_at_any_moment(name: str, tmp_path: Path) -> None:
    """Before the first batch, while rows are asked for, and after they are told; through a file."""
    preset = algorithms()[name]

    def fresh() -> daedal.EDA:
        return preset.optimizer(n=8, popsize=20, seed=2, limits=Limits(max_generations=4))

    def copied(optimizer: daedal.EDA) -> daedal.EDA:
        state = optimizer.state()
        write_checkpoint_file(tmp_path / "eda.ckpt", arrays=state.arrays, fields=state.fields)
        other = fresh()
        other.restore(load(tmp_path / "eda.ckpt"))
        return other

    one = fresh()
    while one.stop is None:
        before = copied(one)
        x = one.ask()
        asked = copied(one)
        assert np.array_equal(before.ask(), x)
        assert np.array_equal(asked.ask(), x)
        fitness = Trap(k=4, n=8).evaluate(x)
        for optimizer in (before, asked, one):
            optimizer.tell(fitness)
        for optimizer in (before, asked, copied(one)):
            assert repr(optimizer.best) == repr(one.best)
            assert optimizer.stop is one.stop
        assert repr(before.last) == repr(asked.last) == repr(one.last)
        one = copied(one)  # and go on with that


# The suite itself


@dataclass(frozen=True, kw_only=True)
class Forgetful(PBIL):
    """A model that lives on, and does not say so."""

    def memory(self, fitted: Fitted | None) -> dict[str, NDArray[Any]]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Waiting(Model):
    """A newcomer with a memory of its own: the mean of all parents it has seen."""

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Marginals:
        mean = x.mean(axis=0)
        return Marginals(
            probabilities=0.5 * (mean + previous.probabilities) if isinstance(previous, Marginals) else mean,
            info={"ones": float(mean.sum())},
        )

    def memory(self, fitted: Fitted | None) -> dict[str, NDArray[Any]]:
        return {"p": fitted.probabilities} if isinstance(fitted, Marginals) else {}

    def remembered(self, arrays: Any, n: int) -> Marginals | None:
        return Marginals(probabilities=arrays["p"]) if "p" in arrays else None


@pytest.fixture
def registered() -> Iterator[Callable[[Model], str]]:
    before = dict(_ALGORITHMS)

    def register(model: Model) -> str:
        register_algorithm(Algorithm(name="newcomer", summary="", model=model))
        return "newcomer"

    yield register
    _ALGORITHMS.clear()
    _ALGORITHMS.update(before)


def test_a_newly_registered_algorithm_is_under_contract(registered: Callable[[Model], str], tmp_path: Path) -> None:
    name = registered(Waiting())
    assert name in algorithms()
    check_every_generation(tmp_path / "run.ckpt", name)
    check_chain(tmp_path / "run.ckpt", name)


def test_the_contract_has_teeth(registered: Callable[[Model], str], tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check_every_generation(tmp_path / "run.ckpt", registered(Forgetful()))


# Every way to run


def ones(x: Any) -> Any:
    return x.sum(axis=1)


def weights(x: Any) -> Any:
    """Something with many values and few ties."""
    return x @ np.sqrt(np.arange(1, x.shape[-1] + 1)) % 5


def sometimes(row: Any) -> float:
    """Fails for a quarter of all rows, in three ways."""
    if row[0] and row[1]:
        if row[2]:
            return math.nan
        raise RuntimeError(f"no value for {row[2:5].tolist()}")
    return float(weights(row))


def negative(objective: Any, x: Any) -> Any:
    return -objective(x)


def hardly(x: Any) -> Any:
    return np.where(x[:, :3].any(axis=1), -np.inf, weights(x))


ROWS = np.random.default_rng(9).integers(0, 2, (7, 12))

WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a named problem": ("trap:k=4,n=12", {}),
    "in its own order": ("hiff:n=16", {"shuffle": False}),
    "a landscape": ("nk:n=12,k=3,seed=2", {}),
    "a problem": (Trap(k=4, n=12), {}),
    "a function": (weights, {"n": 12}),
    "by row": (weights, {"n": 12, "vectorized": False}),
    "more bits than a word": (weights, {"n": 70}),
    "one bit": (weights, {"n": 1, "popsize": 4}),
    "a target": (weights, {"n": 12, "target": 4.99}),
    "a target with many digits": (weights, {"n": 12, "target": 4.9 + 1e-12}),
    "evaluations": (weights, {"n": 12, "max_evaluations": 77}),
    "evaluations, met exactly": (weights, {"n": 12, "max_evaluations": 60}),
    "patience": (ones, {"n": 12, "patience": 2, "max_generations": 100}),
    "convergence": (ones, {"n": 12, "popsize": 6, "max_generations": 100}),
    "time to spare": (weights, {"n": 12, "max_seconds": 1000.0}),
    "an odd popsize": (weights, {"n": 12, "popsize": 31}),
    "rows to begin with": (weights, {"n": 12, "initial": ROWS}),
    "rows and values to begin with": (weights, {"n": 12, "initial": (ROWS, np.arange(7.0))}),
    "failures": (sometimes, {"n": 12, "vectorized": False, "on_error": "worst"}),
    "failures of a batch": (lambda x: [sometimes(row) for row in x], {"n": 12, "on_error": "retry:1,worst"}),
    "hardly anything feasible": (hardly, {"n": 12}),
    "nothing feasible": (lambda x: np.full(len(x), -np.inf), {"n": 12}),
    "large numbers": (lambda x: 1e300 * weights(x), {"n": 12}),
    "no deduplication": (weights, {"n": 12, "deduplicate": False}),
    "a large seed": (weights, {"n": 12, "seed": 2**100 + 1}),
    "a setting": (weights, {"n": 12, "algorithm": "pbil", "learning_rate": 1, "best": 3}),
    "NumPy's numbers": (weights, {"n": np.int64(12), "popsize": np.int32(24), "seed": np.uint8(5)}),
    "NumPy's limits": (
        weights,
        {"n": 12, "max_evaluations": np.int64(77), "max_generations": np.int16(5), "max_seconds": np.float32(999)},
    ),
    "NumPy's means": (
        weights,
        {"n": 12, "workers": np.int64(1), "deduplicate": np.True_, "vectorized": np.True_, "shuffle": np.False_},
    ),
}


@pytest.mark.parametrize("name", ["pbil", "hboa"])
@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize], ids=lambda function: function.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run(way: str, optimise: Any, name: str, tmp_path: Path) -> None:
    objective, how = WAYS[way]
    if "feasible" in way and optimise is daedal.minimize:
        objective = functools.partial(negative, objective)
    run = {"algorithm": name, **SMALL, **how}
    if run["algorithm"] == "pbil" and name == "hboa":
        run["replacement"] = "rtr"
    expected = optimise(objective, **run)
    path = tmp_path / "run.ckpt"
    for generation in {0, 1, expected.generations // 2, expected.generations - 1} & set(range(expected.generations)):
        half = optimise(objective, checkpoint=path, callback=at(generation), **run)
        assert half.generations == generation
        again = None if isinstance(objective, str) else objective
        assert told(daedal.resume(path, again)) == told(expected)
    if "failures" in way:
        assert expected.failed > 5
        assert len(expected.failures) == expected.failed


def test_with_a_cache_that_others_share(tmp_path: Path) -> None:
    """What others know counts as known, in the same places."""
    others = daedal.maximize(weights, 12, algorithm="umda", popsize=40, seed=99, max_generations=2)
    for name in ("whole.db", "half.db"):
        again = daedal.maximize(
            weights, 12, algorithm="umda", popsize=40, seed=99, max_generations=2, cache=tmp_path / name, name="w"
        )
        assert told(again) == told(others)
    run = {**SMALL, "algorithm": "umda", "name": "w"}
    expected = daedal.maximize(weights, 12, cache=tmp_path / "whole.db", **run)
    assert expected.cached > daedal.maximize(weights, 12, **SMALL, algorithm="umda").cached
    path = tmp_path / "run.ckpt"
    daedal.maximize(weights, 12, cache=tmp_path / "half.db", checkpoint=path, callback=at(2), **run)
    assert told(daedal.resume(path, weights)) == told(expected)


def test_with_other_workers(tmp_path: Path) -> None:
    """With two processes and then none, none and then two, somebody's threads: all the same."""
    run = {**SMALL, "algorithm": "umda"}
    expected = told(daedal.maximize("trap:k=4,n=12", **run))
    path = tmp_path / "run.ckpt"
    daedal.maximize("trap:k=4,n=12", workers=2, checkpoint=path, callback=at(1), **run)
    assert load(path).inner("description").inner("means").whole("workers") == 2
    assert told(daedal.resume(path, workers=1, callback=at(2)))["generations"] == 2
    with ThreadPoolExecutor(3) as executor:
        assert told(daedal.resume(path, executor=executor, callback=at(4)))["generations"] == 4
        with pytest.raises(ValueError, match="expected workers or an executor, got both"):
            daedal.resume(path, executor=executor, workers=2)
    assert told(daedal.resume(path, workers=2)) == expected


# What goes on, and what does not


def half_of(path: Path, objective: Any = "trap:k=4,n=12", **how: Any) -> daedal.Result:
    return daedal.maximize(objective, checkpoint=path, callback=at(2), **{"algorithm": "umda", **SMALL, **how})


def test_a_run_that_is_over_gives_the_same_again_at_once(tmp_path: Path) -> None:
    calls = 0

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return weights(x)

    for limits in ({}, {"max_evaluations": 60}, {"target": 3}, {"patience": 1}):
        path = tmp_path / "run.ckpt"
        result = daedal.maximize(counted, 12, algorithm="umda", checkpoint=path, **{**SMALL, **limits})
        calls = 0
        for _ in range(2):
            again = daedal.resume(path, counted, callback=lambda record: pytest.fail("a generation"))
            assert told(again) == told(result)
            assert [one.cpu_seconds for one in again.history] == [one.cpu_seconds for one in result.history]
        assert calls == 0


def test_a_function_has_to_be_given_again_and_the_error_says_how(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path, weights, n=12)
    with pytest.raises(ValueError, match="a checkpoint holds no code") as caught:
        daedal.resume(path)
    assert f"daedal.resume({str(path)!r}, f)" in str(caught.value)
    assert f"daedal resume {path} PROBLEM; it was 'weights'" in str(caught.value)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (weights, "expected the objective of the run, 'trap:k=4,n=12', got 'weights'"),
        ("trap:k=3,n=12", "expected the objective of the run, 'trap:k=4,n=12', got 'trap:k=3,n=12'"),
        ("onemax:n=12", "expected the objective of the run, 'trap:k=4,n=12', got 'onemax:n=12'"),
        ("onemax:n=13", "expected n=13"),
        (Trap(k=4, n=12), "expected the objective of the run, 'trap:k=4,n=12', got 'Trap(k=4, n=12)'"),
        (5, "expected a function, a problem or its name"),
    ],
)
def test_another_objective_than_that_of_the_run_is_refused(objective: Any, says: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError), match=re.escape(says)):
        daedal.resume(path, objective)
    assert path.read_bytes() == before


def test_the_same_problem_may_be_written_in_another_way(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    expected = told(daedal.maximize("trap:k=4,n=12", algorithm="umda", **SMALL))
    assert told(daedal.resume(path, "trap:n=12, k=4")) == expected


def test_a_name_for_a_run_of_a_function_is_refused(tmp_path: Path) -> None:
    half_of(tmp_path / "run.ckpt", weights, n=12)
    with pytest.raises(ValueError, match=r"expected the objective of the run, 'weights', got 'onemax:n=12'"):
        daedal.resume(tmp_path / "run.ckpt", "onemax:n=12")


def test_a_model_comes_back_with_its_settings(tmp_path: Path) -> None:
    """Without a name of its own, under the name of its class."""
    path = tmp_path / "run.ckpt"
    for model in (PBIL(learning_rate=0.3, best=2), UMDA()):
        expected = daedal.maximize(weights, 12, algorithm=model, **SMALL)
        half_of(path, weights, n=12, algorithm=model)
        result = daedal.resume(path, weights)
        assert told(result) == told(expected)
        assert result.algorithm == type(model).__name__


def test_an_algorithm_that_is_not_daedals_own_has_to_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    own = Algorithm(name="mine", summary="", model=Waiting(), rules=Rules(replacement="rtr"), patience=3)
    expected = daedal.maximize(weights, 12, algorithm=own, **SMALL)
    half_of(path, weights, n=12, algorithm=own)
    with pytest.raises(ValueError, match=r"expected algorithm=\.\.\., because mine is not one of daedal's own"):
        daedal.resume(path, weights)
    assert told(daedal.resume(path, weights, algorithm=own)) == told(expected)


@pytest.mark.parametrize("other", ["dae", "pbil", PBIL()])
def test_another_algorithm_than_that_of_the_run_is_refused(other: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    with pytest.raises(ValueError, match="expected the algorithm of the run, 'umda' with a model 'UMDA', got"):
        daedal.resume(path, algorithm=other)


def test_an_algorithm_that_borrowed_a_name_is_not_taken_for_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    borrowed = Algorithm(name="umda", summary="", model=Waiting())
    expected = daedal.maximize(weights, 12, algorithm=borrowed, **SMALL)
    half_of(path, weights, n=12, algorithm=borrowed)
    with pytest.raises(ValueError, match="expected the algorithm of the run, 'umda' with a model 'Waiting', got umda"):
        daedal.resume(path, weights)
    assert told(daedal.resume(path, weights, algorithm=borrowed)) == told(expected)


def test_a_landscape_that_was_moved_is_named_again(tmp_path: Path) -> None:
    path, file = tmp_path / "run.ckpt", tmp_path / "one.nk"
    daedal.problems.write_nk(daedal.problems.NK.random(n=12, k=2, seed=1), file)
    expected = daedal.maximize(f"nk:{file}", algorithm="umda", **SMALL)
    half_of(path, f"nk:{file}")
    file.rename(tmp_path / "other.nk")
    with pytest.raises(ValueError, match=r"expected the file of the problem .* that the run was on, found none"):
        daedal.resume(path)
    assert told(daedal.resume(path, f"nk:{tmp_path / 'other.nk'}")) == told(expected)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"every": "soon"}, "expected every to be a time"),
        ({"workers": 0}, "expected workers to be a whole number of at least 1"),
        ({"callback": 5}, "expected a function as callback"),
        ({"executor": 5}, "expected an executor with a submit method"),
        ({"algorithm": "nobody"}, "unknown algorithm 'nobody'"),
    ],
)
def test_what_resume_is_told_is_checked(wrong: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError), match=says):
        daedal.resume(path, **wrong)
    assert path.read_bytes() == before


def test_resume_keeps_the_file_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    seen = []
    daedal.resume(path, every=1, callback=lambda record: seen.append(load(path).inner("optimizer").whole("generation")))
    assert seen == [3, 4, 5, 6]  # as of the generation before: the callback comes first
    assert load(path).inner("optimizer").whole("generation") == 7


def test_a_checkpoint_of_a_failed_run_waits_for_a_better_objective(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    expected = daedal.maximize(weights, 12, algorithm="umda", **SMALL)
    calls = 0

    def flaky(x: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise ConnectionError("no route to host")
        return weights(x)

    with pytest.raises(ObjectiveError, match="no route to host"):
        daedal.maximize(flaky, 12, algorithm="umda", checkpoint=path, **SMALL)
    with pytest.raises(ObjectiveError, match="no route to host"):
        daedal.resume(path, flaky)
    assert told(daedal.resume(path, weights)) == told(expected)


def test_a_state_is_refused_where_it_is_not_of_such_an_optimizer(tmp_path: Path) -> None:
    """Of another n or popsize, of other generations, with parents or a best that do not go with it."""

    def fresh(**how: Any) -> daedal.EDA:
        return daedal.EDA(**{"n": 6, "model": UMDA(), "popsize": 10, "seed": 1, **how})

    one = fresh()
    one.tell(ones(one.ask()))
    state = one.state()
    fresh().restore(state)
    for how in ({"n": 7}, {"popsize": 9}, {"limits": Limits(max_evaluations=10)}):
        with pytest.raises(ValueError, match="expected"):
            fresh(**how).restore(state)
    changes: list[dict[str, Any]] = [
        {"generation": 0},
        {"evaluations": 9},
        {"best": None},
        {"best": {"fitness": 1.0, "generation": 1, "evaluations": 10}},
        {"best": {"fitness": 1.0, "generation": 0, "evaluations": 11}},
        {"stop": "bored"},
    ]
    for change in changes:
        with pytest.raises(ValueError, match=r"expected|not a valid"):
            fresh().restore(State(arrays=state.arrays, fields={**state.fields, **change}))
    for name in ("population", "parents", "best"):
        for rows in (state.arrays[name][:0], np.repeat(state.arrays[name], 2, axis=0), 2 + state.arrays[name]):
            fitness = {} if name == "best" else {f"{name}_fitness": np.zeros(len(rows))}
            with pytest.raises(ValueError, match="expected"):
                fresh().restore(State(arrays={**state.arrays, name: rows, **fitness}, fields=state.fields))
    early = fresh().state()
    for change in ({"evaluations": 1}, {"stop": "target"}, {"generation": 1}):
        with pytest.raises(ValueError, match="expected"):
            fresh().restore(State(arrays=early.arrays, fields={**early.fields, **change}))
    with pytest.raises(ValueError, match="expected at most popsize=10 initial rows"):
        fresh().restore(State(arrays={**early.arrays, "initial": np.zeros((11, 6), np.uint8)}, fields=early.fields))


def test_records_and_counts_have_to_agree(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half_of(path)
    arrays, fields = read_checkpoint_file(path)
    evaluator: Any = fields["evaluator"]
    for changed in ({"carried_out": evaluator["carried_out"] + 1}, {"failed": 1}, {"cached": 10**9}):
        write_checkpoint_file(path, arrays=arrays, fields={**fields, "evaluator": {**evaluator, **changed}})
        with pytest.raises(ValueError, match="the checkpoint does not fit its own run: expected the records of 3"):
            daedal.resume(path)
    shorter = {name: array[:-1] if name.startswith("history/") else array for name, array in arrays.items()}
    history: Any = fields["history"]
    write_checkpoint_file(path, arrays=shorter, fields={**fields, "history": {**history, "generations": 2}})
    with pytest.raises(ValueError, match="got 2 records"):
        daedal.resume(path)
