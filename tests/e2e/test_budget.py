"""Few evaluations, as users have them: populations that fit, warnings where nothing does, kernels not needed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cli_helpers import Cli, read_report

import daedal
from daedal.limits import StopReason
from daedal.models import UMDA

EDAS = sorted(name for name, one in daedal.algorithms().items() if "popsize" in one.settings())


def weighted(x: Any) -> Any:
    """Pairs with weights of both signs: nothing that is solved at once."""
    n = x.shape[1]
    weights = np.sin(np.arange(n * n) * 7.0).reshape(n, n)
    return ((x[:, None, :] * weights).sum(axis=2) * x).sum(axis=1)


@pytest.mark.parametrize("algorithm", EDAS)
def test_a_budget_of_3000_is_ten_generations_or_more(algorithm: str) -> None:
    result = daedal.maximize(weighted, 60, algorithm=algorithm, seed=1, max_evaluations=3_000)
    assert result.generations >= 10
    assert result.evaluations <= 3_000
    if result.stop is StopReason.EVALUATIONS:
        assert result.evaluations == 3_000


def test_a_budget_that_pays_for_nothing_is_a_warning_before_the_first_call() -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(len(x))
        return x.sum(axis=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error", daedal.BudgetWarning)
        with pytest.raises(daedal.BudgetWarning, match=r"100 evaluations .* popsize=80, .*smaller popsize"):
            daedal.maximize(counted, 30, algorithm="umda", popsize=80, max_evaluations=100)
        assert calls == []
        daedal.maximize(counted, 30, algorithm="umda", popsize=50, max_evaluations=100)
        daedal.maximize(counted, 30, algorithm="umda", max_evaluations=100)
    with pytest.warns(daedal.BudgetWarning) as caught:
        daedal.maximize(counted, 30, algorithm="umda", popsize=80, max_evaluations=100)
    assert [one.filename for one in caught] == [__file__]


def test_the_command_line_warns_in_one_line(here: Cli) -> None:
    words = ("solve", "onemax:n=30", "-a", "umda", "--seed", 1, "--max-evaluations", 100, "--json")
    report, warned = read_report(here(*words)), here(*words, "--popsize", 80)
    assert (report["evaluations"], report["popsize"] < 40) == (100, True)
    assert read_report(warned)["evaluations"] == 100
    lines = [line for line in warned.stderr.splitlines() if "warning" in line.lower()]
    assert len(lines) == 1
    assert lines[0].startswith("warning: 100 evaluations do not pay for three generations with popsize=80")
    assert "warning" not in here(*words).stderr


# Populations that are doubled


def test_popsize_auto_from_the_command_line(here: Cli) -> None:
    """All of the budget is spent, the last size is reported, and what was asked for is in the settings."""
    words = ("-a", "umda", "--max-evaluations", 1_500, "--target", 99)
    report = read_report(here("solve", "onemax:n=30", "--popsize", "auto", *words, "--seed", 1, "--json", "--history"))
    result = daedal.maximize("onemax:n=30", popsize="auto", algorithm="umda", max_evaluations=1_500, target=99, seed=1)
    assert (report["evaluations"], report["stop"]) == (1_500, "evaluations")
    assert (report["popsize"], report["settings"]["popsize"]) == (result.popsize, "auto")
    assert {record["popsize"] for record in report["history"]} == {16, 32, 64, 128}
    assert report["x"] == "".join(map(str, result.x))
    compared = read_report(
        here("compare", "onemax:n=30", "-a", "pbil", "--popsize=auto", *words, "--runs", 1, "--json")
    )
    assert [run["evaluations"] for run in compared["cells"][0]["results"]] == [1_500]
    refused = here("solve", "onemax:n=30", "-a", "umda", "--popsize", "many")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "a whole number or auto or none, got popsize=many" in refused.stderr


# Kernels


class Counting(UMDA):
    """Counts how often it is prepared."""

    prepared = 0

    def prepare(self) -> None:
        type(self).prepared += 1


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize(("most", "prepared"), [(1, 0), (49, 0), (50, 0), (51, 1), (None, 1)])
def test_no_kernel_is_compiled_that_is_not_used(most: int | None, prepared: int) -> None:
    Counting.prepared = 0
    run: dict[str, Any] = {"algorithm": Counting(), "popsize": 50, "seed": 1, "max_evaluations": most}
    daedal.maximize("onemax:n=20", **run)
    assert Counting.prepared == prepared
