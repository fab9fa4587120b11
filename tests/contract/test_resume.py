"""A run that goes on from its checkpoint ends as one that was never broken off, whichever way it is run.

For every algorithm test_optimizers.py proves it of states, and e2e/test_resume.py of runs that are killed.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import OWN_ALGORITHM, at, told

import daedal
from daedal.limits import Limits
from daedal.models import PBIL, UMDA
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.eda import EDAConfiguration
from daedal.problems import Trap
from daedal.run.checkpoint import load_checkpoint

SMALL: dict[str, Any] = {"seed": 5, "popsize": 24, "max_generations": 6}
TRAP = "trap:k=4,n=12"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@dataclass(frozen=True, kw_only=True)
class Own(UMDA):
    """A model that is not daedal's."""


# Every way to run


def weights(x: Any) -> Any:
    """Something with many values and few ties."""
    return x @ np.sqrt(np.arange(1, x.shape[-1] + 1)) % 5


def sometimes(row: Any) -> float:
    """Fails for a quarter of all rows, in two ways."""
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
    "a named problem": (TRAP, {}),
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
    "evaluations, most of them known": (weights, {"n": 5, "popsize": 12, "max_evaluations": 30}),
    "doubled populations": (weights, {"n": 12, "popsize": "auto", "max_evaluations": 300, "max_generations": 4}),
    "doubled from what is given": (
        weights,
        {
            "n": 12,
            "popsize": "auto",
            "max_evaluations": 400,
            "max_generations": 3,
            "initial": np.repeat(ROWS, 3, axis=0),
        },
    ),
    "patience": (lambda x: x.sum(axis=1), {"n": 12, "patience": 2, "max_generations": 100}),
    "convergence": (lambda x: x.sum(axis=1), {"n": 12, "popsize": 6, "max_generations": 100}),
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
    "settings": (weights, {"n": 12, "algorithm": "pbil", "learning_rate": 1, "best": 3, "selection": "truncation"}),
    "niching": (weights, {"n": 12, "replacement": "rtr"}),
    "NumPy's numbers": (weights, {"n": np.int64(12), "popsize": np.int32(24), "seed": np.uint8(5)}),
    "NumPy's limits": (
        weights,
        {"n": 12, "max_evaluations": np.int64(77), "max_generations": np.int16(5), "max_seconds": np.float32(999)},
    ),
    "NumPy's options": (
        weights,
        {"n": 12, "workers": np.int64(1), "deduplicate": np.True_, "vectorized": np.True_, "shuffle": np.False_},
    ),
}


@pytest.mark.parametrize("name", ["pbil", "hboa"])
@pytest.mark.parametrize("optimise", [daedal.maximize, daedal.minimize], ids=lambda function: function.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run(way: str, optimise: Any, name: str, path: Path) -> None:
    objective, how = WAYS[way]
    if "feasible" in way and optimise is daedal.minimize:
        objective = functools.partial(negative, objective)
    run = {"algorithm": name, **SMALL, **how}
    expected = optimise(objective, **run)
    for generation in {0, expected.generations // 2, expected.generations - 1} & set(range(expected.generations)):
        half = optimise(objective, checkpoint=path, overwrite=True, callback=at(generation), **run)
        assert half.generations == generation
        again = None if isinstance(objective, str) else objective
        assert told(daedal.resume(path, again)) == told(expected)
    if "failures" in way:
        assert len(expected.failures) == expected.failed > 5


def test_with_a_cache_that_others_share(path: Path, tmp_path: Path) -> None:
    """What others know counts as known, in the same places."""
    run = {**SMALL, "algorithm": "umda"}
    for name in ("whole.db", "half.db"):
        daedal.maximize(weights, 12, **run | {"seed": 99, "cache": tmp_path / name, "name": "w"})
    expected = daedal.maximize(weights, 12, cache=tmp_path / "whole.db", name="w", **run)
    assert expected.cached > daedal.maximize(weights, 12, **run).cached
    daedal.maximize(weights, 12, cache=tmp_path / "half.db", name="w", checkpoint=path, callback=at(2), **run)
    assert told(daedal.resume(path, weights)) == told(expected)


def test_with_other_workers(path: Path) -> None:
    """With two processes and then none, with somebody's threads, and with two again: all the same."""
    run = {**SMALL, "algorithm": "umda"}
    expected = told(daedal.maximize(TRAP, **run))
    daedal.maximize(TRAP, workers=2, checkpoint=path, callback=at(1), **run)
    assert load_checkpoint(path).part("config").inner("evaluation").whole("workers") == 2
    assert daedal.resume(path, workers=1, callback=at(2)).generations == 2
    with ThreadPoolExecutor(3) as executor:
        assert daedal.resume(path, executor=executor, callback=at(4)).generations == 4
    assert told(daedal.resume(path, workers=2)) == expected


# What goes on, and what does not


def half_of(path: Path, objective: Any = TRAP, **how: Any) -> daedal.Result:
    return daedal.maximize(
        objective, checkpoint=path, overwrite=True, callback=at(2), **{"algorithm": "umda", **SMALL, **how}
    )


@pytest.mark.parametrize("limits", [{}, {"max_evaluations": 60}, {"target": 3}, {"patience": 1}], ids=str)
def test_a_run_that_is_over_gives_the_same_again_at_once(limits: dict[str, Any], path: Path) -> None:
    result = daedal.maximize(weights, 12, algorithm="umda", checkpoint=path, **{**SMALL, **limits})
    for _ in range(2):
        again = daedal.resume(path, lambda x: pytest.fail("a call"), callback=lambda record: pytest.fail("a record"))
        assert told(again) == told(result)
        assert [one.cpu_seconds for one in again.history] == [one.cpu_seconds for one in result.history]


def test_a_function_has_to_be_given_again_and_the_error_says_how(path: Path) -> None:
    half_of(path, weights, n=12)
    with pytest.raises(ValueError, match="no code") as caught:
        daedal.resume(path)
    assert f"daedal.resume({str(path)!r}, f)" in str(caught.value)
    assert f"daedal resume {path} PROBLEM" in str(caught.value)
    assert "'weights'" in str(caught.value)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ({}, {"objective": weights}, (TRAP, "weights")),
    ({}, {"objective": "trap:k=3,n=12"}, (TRAP, "trap:k=3,n=12")),
    ({}, {"objective": "onemax:n=13"}, (TRAP, "onemax:n=13")),
    ({}, {"objective": Trap(k=4, n=12)}, (TRAP, "Trap(k=4, n=12)")),
    ({}, {"objective": 5}, (TRAP,)),
    ({"objective": weights, "n": 12}, {"objective": TRAP}, ("weights", TRAP)),
    ({"objective": weights, "n": 12}, {"objective": 5}, ("function", "5")),
    ({"objective": weights, "n": 12}, {"objective": Trap(k=4, n=8)}, ("n=8", "n=12")),
    ({}, {"algorithm": "dae"}, ("'umda'", "DAE")),
    ({}, {"algorithm": PBIL()}, ("'umda'", "PBIL")),
    ({}, {"algorithm": OWN_ALGORITHM}, ("'umda'", "HillClimber")),
    ({}, {"algorithm": "nobody"}, ("nobody",)),
    ({}, {"every": "soon"}, ("every='soon'",)),
    ({}, {"workers": 0}, ("workers=0",)),
    ({}, {"callback": 5}, ("callback=5",)),
    ({}, {"executor": 5}, ("executor=5",)),
    ({}, {"executor": ThreadPoolExecutor(1), "workers": 2}, ("workers", "executor")),
    ({"algorithm": Own()}, {}, ("'Own'", "--algorithm")),
    ({"algorithm": Algorithm(name="umda", configuration=EDAConfiguration(model=Own()))}, {}, ("'umda'", "own Own")),
    ({"algorithm": type("UMDA", (UMDA,), {})()}, {}, ("'UMDA'", "--algorithm")),  # it has borrowed the name of a class
]


@pytest.mark.parametrize(("run", "again", "says"), REFUSED, ids=lambda part: str(part)[:40])
def test_what_is_not_the_run_again_is_refused(
    run: dict[str, Any], again: dict[str, Any], says: tuple[str, ...], path: Path
) -> None:
    """And the checkpoint stays as it was."""
    half_of(path, **run)
    before = path.read_bytes()
    with pytest.raises((ValueError, TypeError)) as caught:
        daedal.resume(path, **again)
    assert [word for word in says if word not in str(caught.value)] == []
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "algorithm",
    [
        PBIL(learning_rate=0.3, best=2),
        UMDA(),
        EDAConfiguration(model=UMDA(), selection="truncation"),
        Algorithm(
            name="mine", configuration=EDAConfiguration(model=Own(), replacement="rtr"), limits=Limits(patience=3)
        ),
    ],
    ids=lambda algorithm: str(algorithm)[:20],
)
def test_an_algorithm_comes_back_with_its_settings(algorithm: Any, path: Path) -> None:
    """One of daedal's own from the file alone, under the name it had; another one is given again."""
    expected = daedal.maximize(weights, 12, algorithm=algorithm, **SMALL)
    half_of(path, weights, n=12, algorithm=algorithm)
    again = {"algorithm": algorithm} if isinstance(algorithm, Algorithm) else {}
    assert told(daedal.resume(path, weights, **again)) == told(expected)


def test_a_problem_may_be_named_in_another_way_or_have_moved(path: Path, tmp_path: Path) -> None:
    half_of(path)
    run = {"algorithm": "umda", **SMALL}
    assert told(daedal.resume(path, "trap:n=12, k=4")) == told(daedal.maximize(TRAP, **run))
    file = tmp_path / "one.nk"
    daedal.problems.write_nk(daedal.problems.NK.random(n=12, k=2, seed=1), file)
    expected = daedal.maximize(f"nk:{file}", **run)
    half_of(path, f"nk:{file}")
    moved = file.rename(tmp_path / "other.nk")
    with pytest.raises(ValueError, match=file.name):
        daedal.resume(path)
    assert told(daedal.resume(path, f"nk:{moved}")) == told(expected)


def test_resume_keeps_the_file_up_to_date(path: Path) -> None:
    def generation() -> int:
        return load_checkpoint(path).part("optimizer").whole("generation")

    half_of(path)
    seen: list[int] = []
    daedal.resume(path, every=1, callback=lambda record: seen.append(generation()))
    assert seen == [3, 4, 5, 6]  # as of the generation before: the callback comes first
    assert generation() == 7
