"""A generation that takes long is announced, and one that takes days is refused, before anything is evaluated."""

from __future__ import annotations

from typing import Any

import pytest

import daedal
from daedal.cli.compare import compare
from daedal.limits import Limits, TimeWarning
from daedal.models.base import PRODUCTS_A_SECOND
from daedal.run.config import HOPELESS, SLOW, check_duration
from daedal.searches.presets import algorithms, find_algorithm
from daedal.settings.checks import readable_seconds

LONG: dict[str, Any] = {"algorithm": "dae-2015", "popsize": 100, "min_epochs": 10**8, "max_epochs": 10**8}
"""An hour for a generation of 60 bits, by its formula."""


def duration(name: str, n: int, limits: Limits | None = None, **settings: Any) -> str | None:
    algorithm = find_algorithm(name).with_settings(settings).resolved(n)
    return check_duration(algorithm, n, Limits() if limits is None else limits)


def seconds(name: str, n: int, **settings: Any) -> float:
    return find_algorithm(name).with_settings(settings).resolved(n).configuration.generation_seconds(n)


@pytest.mark.parametrize("name", sorted(algorithms()))
def test_what_is_small_is_quick_and_nothing_is_refused_by_default(name: str) -> None:
    assert 0.0 <= seconds(name, 100) < 1.0
    assert 0.0 <= seconds(name, 10_000) < HOPELESS


@pytest.mark.parametrize("name", ["dae", "dae-2015", "dae-search", "rbm", "tree", "ecga", "boa", "hboa"])
def test_more_rows_and_variables_take_longer(name: str) -> None:
    """Twice the rows take twice as long where products are all there is, and no model is slower than cubic."""
    one, rows, variables = (
        seconds(name, 500, popsize=4000),
        seconds(name, 500, popsize=8000),
        seconds(name, 1000, popsize=4000),
    )
    assert one < rows <= 2 * one
    assert 3.9 * one <= variables <= 8 * one


def test_the_formula_of_networks_counts_their_products() -> None:
    """Five for an epoch of an autoencoder, and two for each of ten steps of drawing; seven and two for the other."""
    settings: dict[str, Any] = {"popsize": 2000, "hidden": 50}
    trained, drawn = 5 * 900 * 100 * 50, 20 * 1000 * 100 * 50  # a tenth of the rows are held out
    assert seconds("dae-2015", 100, min_epochs=60, **settings) == (90 * trained + drawn) / PRODUCTS_A_SECOND
    assert seconds("dae-2015", 100, max_epochs=1, **settings) == (trained + drawn) / PRODUCTS_A_SECOND
    assert seconds("dae-search", 100, max_epochs=1, **settings) == 7 * 400 * 100 * 50 / PRODUCTS_A_SECOND
    assert seconds("rbm", 100, max_epochs=1, **settings) == (7 + 52) * 1000 * 100 * 50 / PRODUCTS_A_SECOND


def test_a_long_generation_is_announced_with_its_figure_and_what_to_take_instead() -> None:
    told = duration("dae-2015", 10_000)
    assert told is not None
    for word in ("dae-2015", "n=10,000", "popsize=10,000", "52 minutes", "smaller popsize", "umda", "auto"):
        assert word in told
    assert SLOW < seconds("dae-2015", 10_000) < HOPELESS


@pytest.mark.parametrize(
    ("limits", "settings"),
    [
        (Limits(), {"popsize": 200}),
        (Limits(), {"popsize": "auto"}),
        (Limits(), {"hidden": 100}),
        (Limits(max_seconds=60), {}),
        (Limits(max_generations=0), {}),
        (Limits(max_evaluations=10_000), {}),
    ],
)
def test_who_has_done_something_about_it_is_told_nothing(limits: Limits, settings: dict[str, Any]) -> None:
    assert duration("dae-2015", 10_000, limits, **settings) is None


def test_a_generation_of_days_is_refused_unless_time_is_limited() -> None:
    days = {"popsize": 100, "max_epochs": 10**8, "min_epochs": 10**8}
    with pytest.raises(ValueError, match=r"dae-2015 with n=10,000 and popsize=100 takes about .* days.*--max-seconds"):
        duration("dae-2015", 10_000, **days)
    assert duration("dae-2015", 10_000, Limits(max_seconds=1e9), **days) is None


class CalledError(Exception):
    pass


def never(x: Any) -> Any:
    raise CalledError


def test_a_run_warns_before_it_calls_anybody() -> None:
    with (
        pytest.warns(TimeWarning, match="n=60 and popsize=100 takes about 45 minutes"),
        pytest.raises(ValueError, match="CalledError") as found,
    ):
        daedal.maximize(never, n=60, seed=1, **LONG)
    assert isinstance(found.value.__cause__, CalledError)
    with pytest.raises(ValueError, match="CalledError"):  # and no warning, which would be an error here
        daedal.maximize(never, n=60, seed=1, max_seconds=60, **LONG)


def test_a_run_is_refused_before_it_calls_anybody() -> None:
    with pytest.raises(ValueError, match="days of CPU time") as found:
        daedal.maximize(never, n=60, seed=1, **LONG | {"popsize": 20_000})
    assert found.value.__cause__ is None


def test_a_comparison_refuses_it_too() -> None:
    with pytest.raises(ValueError, match="days of CPU time"):
        compare(
            ["onemax:n=60"],
            algorithm=["dae-2015"],
            runs=1,
            settings=["min_epochs=10000000000", "max_epochs=10000000000"],
        )


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0.0, "0 seconds"),
        (0.042, "0.042 seconds"),
        (119.0, "119 seconds"),
        (120.0, "2 minutes"),
        (7199.0, "120 minutes"),
        (7200.0, "2 hours"),
        (86_400.0, "24 hours"),
        (172_800.0, "2 days"),
        (1e9, "11,574 days"),
    ],
)
def test_times_for_eyes(count: float, text: str) -> None:
    assert readable_seconds(count) == text
