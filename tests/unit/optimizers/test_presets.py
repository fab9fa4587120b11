"""Algorithms by name: presets, their settings and their limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import daedal
from daedal.limits import Limits
from daedal.models import DAE, PBIL, UMDA
from daedal.optimizers.presets import _ALGORITHMS, Algorithm, Rules, algorithms, find_algorithm, register_algorithm


@pytest.fixture
def own_algorithm() -> Iterator[Algorithm]:
    algorithm = Algorithm(
        name="mine", summary="UMDA with truncation", model=UMDA(), rules=Rules(selection="truncation")
    )
    register_algorithm(algorithm)
    yield algorithm
    del _ALGORITHMS["mine"]


def test_the_paper_and_its_rivals_are_there() -> None:
    assert {"dae", "dae-2015", "pbil", "umda"} <= set(algorithms())
    assert all(name == algorithm.name and algorithm.summary for name, algorithm in algorithms().items())


def test_the_papers_settings() -> None:
    """REFERENCE.md section 1: DAE (settings of the 2015 paper), and the stops."""
    paper = find_algorithm("dae-2015")
    expected = {
        "hidden": None,
        "tied": True,
        "error": "cross-entropy",
        "corruption": 0.1,
        "learning_rate": 0.2,
        "bias_factor": 5.0,
        "momentum": 0.0,
        "init_scale": 0.01,
        "batch_size": 100,
        "validation": 0.1,
        "overfitting": 0.1,
        "gamma": 0.05,
        "check_every": 5,
        "min_epochs": 25,
        "max_epochs": 2000,
        "sampling_steps": 10,
        "selection": "tournament",
    }
    assert expected.items() <= paper.settings().items()
    assert (paper.max_generations, paper.patience) == (100, 20)


def test_the_later_settings() -> None:
    """REFERENCE.md section 1: DAE (the authors' later settings, 2016)."""
    later = find_algorithm("dae")
    expected = {
        "learning_rate": 0.1,
        "bias_factor": 5.0,
        "momentum": 0.3,
        "init_scale": 0.005,
        "validation": 0.0,
        "overfitting": None,
        "min_epochs": 50,
        "min_updates": 200,
    }
    assert expected.items() <= later.settings().items()
    assert later.settings()["corruption"] in (0.05, 0.1)
    assert (later.max_generations, later.patience) == (150, 50)


def test_pbil_lives_longer() -> None:
    pbil = find_algorithm("pbil")
    assert pbil.model == PBIL(learning_rate=0.02, best=1)
    assert (pbil.max_generations, pbil.patience) == (2000, 400)


def test_a_model_or_an_algorithm_stands_for_itself(own_algorithm: Algorithm) -> None:
    assert find_algorithm(own_algorithm) is own_algorithm
    assert find_algorithm("mine") is own_algorithm
    by_model = find_algorithm(DAE(hidden=3))
    assert by_model.model == DAE(hidden=3)
    assert by_model.name == "DAE"
    assert by_model.rules == Rules()


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"unknown algorithm 'dea', did you mean 'dae'\? Known: .*dae, dae-2015, .*pbil.*umda"
    ):
        find_algorithm("dea")


def test_settings_go_to_the_model_and_to_the_rules() -> None:
    changed = find_algorithm("dae").with_settings({"corruption": "0.2", "hidden": 7, "selection": "truncation"})
    assert isinstance(changed.model, DAE)
    assert (changed.model.corruption, changed.model.hidden, changed.rules.selection) == (0.2, 7, "truncation")
    assert changed.settings()["corruption"] == 0.2
    assert find_algorithm("dae").settings()["hidden"] is None
    assert find_algorithm("dae").with_settings({}) == find_algorithm("dae")


def test_parameters_show_the_presets_own_values() -> None:
    assert find_algorithm("dae-2015").parameters()["learning_rate"].default == 0.2
    assert find_algorithm("dae").parameters()["learning_rate"].default == 0.1
    assert list(find_algorithm("umda").parameters()) == ["selection", "replacement"]


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        (
            "dae",
            {"corruptoin": 0.1},
            "unknown setting of dae 'corruptoin', did you mean 'corruption'\\? Known: batch_size, ",
        ),
        ("umda", {"corruption": 0.1}, r"unknown setting of umda 'corruption'.* Known: replacement, selection$"),
        ("dae", {"corruption": "lots"}, "expected corruption of dae to be a number, got corruption=lots"),
        ("dae", {"corruption": 1.5}, "expected corruption between 0 and 1, got corruption=1.5"),
        ("dae", {"corruption": float("nan")}, "expected corruption between 0 and 1, got corruption=nan"),
        ("dae", {"batch_size": 0}, "expected batch_size of at least 1, got batch_size=0"),
        ("dae", {"batch_size": 2.5}, "expected batch_size of dae to be a whole number, got batch_size=2.5"),
        ("dae", {"error": "absolute"}, "expected error of dae to be cross-entropy or squared, got error=absolute"),
        (
            "dae",
            {"selection": "roulette"},
            "expected selection of dae to be tournament or truncation, got selection=roulette",
        ),
        ("pbil", {"learning_rate": -0.1}, "expected learning_rate between 0 and 1, got learning_rate=-0.1"),
        ("pbil", {"best": 0}, "expected best of at least 1, got best=0"),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_algorithm(name).with_settings(settings)  # type: ignore[arg-type]


def test_rules_know_the_selections() -> None:
    with pytest.raises(ValueError, match="expected selection of Rules to be tournament or truncation"):
        Rules(selection="best")  # type: ignore[arg-type]


def test_limits_of_the_user_come_before_those_of_the_preset() -> None:
    dae = find_algorithm("dae")
    assert dae.limits(Limits()) == Limits(max_generations=150, patience=50)
    given = Limits(max_evaluations=9, max_generations=0, patience=3, target=1.0)
    assert dae.limits(given) == given


def test_the_optimizer_is_made_as_the_preset_says(own_algorithm: Algorithm) -> None:
    optimizer = own_algorithm.optimizer(n=6, popsize=10, seed=3, limits=Limits(patience=2))
    assert isinstance(optimizer, daedal.EDA)
    assert (optimizer.n, optimizer.popsize, optimizer.seed) == (6, 10, 3)
    assert optimizer.model == UMDA()
    assert optimizer.selection == "truncation"
    assert optimizer.limits == Limits(patience=2)


def test_the_list_of_algorithms_is_a_copy() -> None:
    algorithms().clear()
    assert "dae" in algorithms()
