"""What stands for an algorithm, how its settings are changed, and what does not stand for one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from run_helpers import OWN_ALGORITHM, OWN_MODEL, registries_restored

import daedal
from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.models import DAE, PBIL, UMDA
from daedal.searches.algorithm import Algorithm, Configuration
from daedal.searches.eda import eda
from daedal.searches.presets import EDAConfiguration, algorithms, find_algorithm, register_algorithm, restored_algorithm

OWN_NAME = OWN_ALGORITHM.rpartition(":")[2]
TRUNCATION = EDAConfiguration(model=UMDA(), selection="truncation", popsize=30)
MINE = Algorithm(name="mine", summary="UMDA with truncation", configuration=TRUNCATION, limits=Limits(patience=7))


async def build(f, *, n: int, seed: int, popsize=30, share: float = 0.5) -> None:  # type: ignore[no-untyped-def]
    """Run something."""
    await eda(f, model=UMDA(), popsize=popsize, selection="truncation")


async def run_anything(f: Engine, **how: Any) -> None:
    assert set(how) == {"n", "rng", "seed"}
    await build(f, n=how["n"], seed=how["seed"])


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registries_restored():
        register_algorithm(MINE)
        yield


# What stands for one


@pytest.mark.parametrize(
    ("given", "name", "popsize"),
    [
        ("mine", "mine", 30),
        (MINE, "mine", 30),
        (TRUNCATION, "UMDA", 30),
        (UMDA(), "UMDA", None),
        (UMDA, "UMDA", None),
        (build, "build", 30),
        (run_anything, "run_anything", None),
        (OWN_ALGORITHM, OWN_NAME, None),
        (OWN_MODEL, "Copies", None),
    ],
    ids=lambda part: str(part)[-20:],
)
def test_an_algorithm_is_given_in_many_ways(given: Any, name: str, popsize: int | None) -> None:
    """By name, as a value or a class, as a function, in a file: each of them runs."""
    assert (find_algorithm(given).name, find_algorithm(given).settings().get("popsize")) == (name, popsize)
    result = daedal.maximize("onemax:n=8", algorithm=given, seed=1, max_evaluations=60)
    assert (result.algorithm, result.evaluations > 8) == (name, True)
    if popsize == 30:  # all of these are the same EDA
        expected = daedal.maximize("onemax:n=8", algorithm=MINE, seed=1, max_evaluations=60)
        assert [record.mean for record in result.history] == [record.mean for record in expected.history]


def test_a_model_gets_the_rules_and_limits_of_its_kind_or_else_those_of_dae() -> None:
    assert find_algorithm(PBIL(best=2)).limits == find_algorithm("pbil").limits
    assert find_algorithm(OWN_MODEL).limits == find_algorithm("dae").limits
    assert find_algorithm(DAE(hidden=3)).configuration == EDAConfiguration(model=DAE(hidden=3))
    assert algorithms()["mine"] is MINE


# What does not

FILE = """
number = 5
def plain(f, *, n, rng): ...
"""


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("dea", ValueError, r"'dae'.*dae-2015.*mine.*umda"),
        ("", ValueError, "''"),
        (5, TypeError, "algorithm=5"),
        (None, TypeError, "algorithm=None"),
        (int, TypeError, "algorithm=<class 'int'>"),
        (lambda f, n, rng: None, TypeError, "async function"),
        (EDAConfiguration, TypeError, "'model'"),
        ("{folder}/file.py:plain", TypeError, "async function"),
        ("{folder}/file.py:number", TypeError, "algorithm=5"),
        ("{folder}/file.py:nobody", ValueError, "'nobody'.*file.py"),
        ("{folder}/none.py:few", ValueError, "none.py"),
        ("{folder}/file.py", ValueError, "unknown algorithm"),
        ("{folder}/raises.py:few", ValueError, "raises.py .*ZeroDivisionError"),
        ("{folder}/ends.py:few", ValueError, "ends.py .*SystemExit"),
    ],
)
def test_what_is_no_algorithm_is_refused(given: Any, error: type[Exception], says: str, tmp_path: Path) -> None:
    for name, text in (("file", FILE), ("raises", "1 / 0"), ("ends", "raise SystemExit(3)")):
        (tmp_path / f"{name}.py").write_text(text)
    text = given.format(folder=tmp_path) if isinstance(given, str) else given
    with pytest.raises(error, match=says):
        daedal.maximize(lambda x: pytest.fail("the objective was called"), 8, algorithm=text)


# Settings


def test_settings_go_to_the_model_the_rules_and_the_builder() -> None:
    changed = find_algorithm("dae").with_settings({"corruption": "0.2", "hidden": 7, "selection": "truncation"})
    assert changed.configuration == EDAConfiguration(model=DAE(corruption=0.2, hidden=7), selection="truncation")
    assert find_algorithm("dae").settings()["hidden"] is None
    assert find_algorithm("dae").with_settings({}) == find_algorithm("dae")
    built = find_algorithm(build).with_settings({"popsize": "40", "share": 1}).with_settings({"popsize": 50})
    assert built.settings() == {"popsize": 50, "share": 1.0}


def test_parameters_show_the_values_in_force() -> None:
    assert find_algorithm("dae-2015").parameters()["learning_rate"].default == 0.2
    assert list(find_algorithm("umda").parameters()) == ["selection", "replacement", "popsize"]
    assert find_algorithm(build).parameters()["popsize"].describe() == "a whole number"


def test_what_has_no_default_has_to_be_set() -> None:
    async def needy(f: Engine, *, rate: float) -> None:
        await eda(f, model=UMDA(), popsize=int(rate * 100))

    assert find_algorithm(needy).settings() == {}
    with pytest.raises(TypeError, match="'rate'"):
        daedal.maximize("onemax:n=8", algorithm=needy)
    result = daedal.maximize("onemax:n=8", algorithm=needy, rate=0.5, seed=1, max_generations=0)
    assert result.evaluations + result.repeated == 50


@dataclass(frozen=True, kw_only=True)
class Climbing(Configuration):
    """A configuration of a user's own."""

    flips: float = 1.0

    def search(self, f: Engine, limits: Limits) -> Search:
        configuration = find_algorithm(OWN_ALGORITHM).configuration
        return configuration.with_settings({"flips": self.flips}).search(f, limits)


def test_a_configuration_of_a_users_own() -> None:
    assert find_algorithm(Climbing).kind == "Climbing"
    few = daedal.maximize("onemax:n=20", algorithm=Climbing(flips=0.1), seed=1, max_evaluations=50, target=99)
    again = daedal.maximize("onemax:n=20", algorithm=Climbing, flips=0.1, seed=1, max_evaluations=50, target=99)
    assert few.settings == again.settings == {"flips": 0.1}
    assert few.batches == again.batches >= 25


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("dae", {"corruptoin": 0.1}, "'corruption'.* Known: .*batch_size, "),
        ("umda", {"corruption": 0.1}, "Known: popsize, replacement, selection$"),
        ("dae", {"corruption": "lots"}, "corruption=lots"),
        ("dae", {"corruption": 1.5}, "corruption=1.5"),
        ("dae", {"corruption": float("nan")}, "corruption=nan"),
        ("dae", {"batch_size": 0}, "batch_size=0"),
        ("dae", {"batch_size": 2.5}, "whole number, got batch_size=2.5"),
        ("dae", {"biases": "absolute"}, "normal or marginals, got biases=absolute"),
        ("dae", {"selection": "roulette"}, "tournament or truncation, got selection=roulette"),
        ("umda", {"replacement": "best"}, "parents or rtr, got replacement=best"),
        ("pbil", {"learning_rate": -0.1}, "learning_rate=-0.1"),
        ("pbil", {"best": 0}, "best=0"),
        ("dae", {"max_evals": 100}, "'max_evaluations'"),
        ("umda", {"sede": 100}, "'seed'"),
        ("umda", {"pop_size": 100}, "'popsize'"),
        (OWN_ALGORITHM, {"patince": 3}, "'patience'"),
        (OWN_ALGORITHM, {"flip": 3}, "'flips'"),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict[str, Any], says: str) -> None:
    """A mistyped name is compared with all that can be said, keywords included."""
    for optimize in (daedal.maximize, daedal.minimize):
        with pytest.raises(ValueError, match=says):
            optimize("onemax:n=8", algorithm=name, **settings)


def test_limits_of_the_user_come_before_those_of_the_algorithm() -> None:
    assert find_algorithm("dae").with_limits(Limits()) == Limits(max_generations=150, patience=50)
    given = Limits(max_evaluations=9, max_generations=0, patience=3, target=1.0)
    assert find_algorithm("dae").with_limits(given) == given
    assert find_algorithm(OWN_ALGORITHM).with_limits(Limits()) == Limits()


def test_minimize_has_the_signature_of_maximize() -> None:
    assert inspect.signature(daedal.minimize) == inspect.signature(daedal.maximize)
    run: dict[str, Any] = {"algorithm": "umda", "popsize": 30, "seed": 1, "max_generations": 4}
    least, most = daedal.minimize("onemax:n=8", **run), daedal.maximize("onemax:n=8", minimize=True, **run)
    assert [record.best for record in least.history] == [record.best for record in most.history]
    assert least.fitness == least.x.sum() < 3


# From a run file


def test_a_file_names_what_is_registered_or_a_model_of_daedals() -> None:
    assert restored_algorithm("mine", "UMDA") is MINE
    nameless = restored_algorithm("whatever", "PBIL")
    assert (nameless.name, nameless.configuration) == ("whatever", EDAConfiguration(model=PBIL()))
    for own in (OWN_ALGORITHM, OWN_MODEL, build, type("UMDA", (UMDA,), {})()):  # a class may have borrowed its name
        with pytest.raises(ValueError, match="--algorithm"):
            restored_algorithm(find_algorithm(own).name, find_algorithm(own).kind)
    assert find_algorithm(OWN_ALGORITHM).kind.startswith(f"{OWN_NAME} ")  # and a digest of its file
