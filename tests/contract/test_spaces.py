"""What holds for spaces, whatever the algorithm."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_helpers import ALGORITHMS, told
from scipy import stats

import daedal
from daedal import Choice, Flag, Integer, Permutation, Space, Subset
from daedal.limits import StopReason
from daedal.spaces.space import Columns

SPACE = Space(
    fast=Flag(),
    threads=Integer(1, 6),
    depth=Integer(0, 9, code="binary"),
    kernel=Choice("a", "b", "c"),
    mode=Choice(*range(5), code="binary"),
    jobs=Permutation(4),
    features=Subset(7, at_least=1, at_most=3),
)


def worth(value: dict[str, Any]) -> float:
    """Something of all variables, with few ties."""
    rough = sum((place + 1) * item for place, item in enumerate(value["jobs"])) + 0.37 * sum(value["features"])
    return float(
        2 * value["fast"] - abs(value["threads"] - 4) ** 1.5 + ord(value["kernel"]) % 3 + np.cos(value["mode"])
        - 0.1 * value["depth"] + 0.1 * rough
    )  # fmt: skip


def is_value(value: dict[str, Any]) -> bool:
    """Whether all of it is as the space says, written out."""
    return (
        list(value) == list(SPACE)
        and value["fast"] in (True, False)
        and value["threads"] in range(1, 7)
        and value["depth"] in range(10)
        and value["kernel"] in ("a", "b", "c")
        and value["mode"] in range(5)
        and sorted(value["jobs"]) == [0, 1, 2, 3]
        and 1 <= len(value["features"]) <= 3
        and value["features"] == sorted(set(value["features"]) & set(range(7)))
    )


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """Give the columns row by row, as plain values."""
    count = len(columns["fast"])
    plain = {name: column.tolist() for name, column in columns.items()}
    plain["features"] = [np.flatnonzero(mask).tolist() for mask in columns["features"]]
    return [{name: plain[name][row] for name in columns} for row in range(count)]


def batch_worth(columns: Columns) -> np.ndarray[Any, Any]:
    return np.array([worth(value) for value in rows_of(columns)])


class Watched:
    """Remembers all that it was called with."""

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []

    def __call__(self, columns: Columns) -> np.ndarray[Any, Any]:
        self.values += rows_of(columns)
        return batch_worth(columns)


@functools.cache
def run(name: str) -> tuple[daedal.Result, list[dict[str, Any]]]:
    watched = Watched()
    result = daedal.maximize(watched, SPACE, seed=3, max_evaluations=250, **ALGORITHMS[name])
    return result, watched.values


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_only_values_are_evaluated_and_each_once(algorithm: str) -> None:
    result, values = run(algorithm)
    assert all(map(is_value, values))
    again = algorithm == "auto"  # which evaluates the first value twice, to see whether values scatter
    assert len({json.dumps(value) for value in values}) + again == len(values) == result.evaluations
    assert result.best in values
    assert result.fitness == max(map(worth, values)) == worth(result.best)  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ["auto", "ils", "umda", "dae", "own"])
def test_workers_and_interruptions_change_nothing(algorithm: str, tmp_path: Path) -> None:
    whole, values = run(algorithm)
    path, how = tmp_path / "run.db", {"seed": 3, "max_evaluations": 250, **ALGORITHMS[algorithm]}
    side_by_side = daedal.maximize(worth, SPACE, vectorized=False, workers=2, **how)
    assert (told(side_by_side), side_by_side.best) == (told(whole), whole.best)
    half = daedal.maximize(batch_worth, SPACE, run=path, callback=lambda record: record.generation == 1, **how)
    assert half.stop is StopReason.CALLBACK
    rest = Watched()
    given = {"algorithm": how["algorithm"]} if algorithm == "own" else {}
    again = daedal.resume(path, rest, **given)
    assert (told(again), again.best) == (told(whole), whole.best)
    assert rest.values == values[half.evaluations :]


@pytest.mark.parametrize("algorithm", ["auto", "mix", "ils", "umda", "hboa"])
def test_the_first_values_are_uniform_within_each_variable(algorithm: str) -> None:
    """One value of each run for those that climb, the first population of one run for the others."""
    values: list[dict[str, Any]] = []
    if algorithm in ("umda", "hboa"):
        watched = Watched()
        daedal.maximize(watched, SPACE, algorithm=algorithm, popsize=2000, seed=5, deduplicate=False, max_generations=0)
        values = watched.values
    else:
        for seed in range(300):
            watched = Watched()
            daedal.maximize(watched, SPACE, algorithm=algorithm, seed=seed, max_evaluations=1)
            values += watched.values
    for name, variable in SPACE.items():
        seen = [json.dumps(value[name]) for value in values]
        counts = [seen.count(one) for one in sorted(set(seen))]
        assert len(counts) == variable.field.size
        assert stats.chisquare(counts).pvalue > 1e-3, name


def test_runs_begin_where_they_are_told() -> None:
    value = {"fast": True, "threads": 4, "depth": 0, "kernel": "c", "mode": 0, "jobs": [0, 1, 2, 3], "features": [6]}
    for initial in (value, [value], pd.DataFrame([value]), SPACE.encode([value])):
        watched = Watched()
        daedal.maximize(watched, SPACE, seed=1, max_evaluations=5, initial=initial)
        assert watched.values[0] == value
    result = daedal.maximize(batch_worth, SPACE, seed=1, max_evaluations=50)
    for known in (result.frame(), (result.best, [result.fitness])):
        watched = Watched()
        again = daedal.maximize(watched, SPACE, seed=1, max_evaluations=5, initial=known)
        assert result.best not in watched.values
        assert again.fitness >= result.fitness


def test_evaluations_are_known_by_their_values_in_another_space(tmp_path: Path) -> None:
    first, other, calls = Space(size=Integer(0, 7)), Space(size=Integer(-1, 8)), list[int]()

    def noted(value: dict[str, Any]) -> float:
        calls.append(value["size"])
        return float(value["size"])

    daedal.minimize(noted, first, vectorized=False, seed=1, run=tmp_path / "first.db")
    assert sorted(set(calls)) == list(range(8))
    calls.clear()
    result = daedal.minimize(noted, other, vectorized=False, seed=1, known=tmp_path / "first.db")
    assert (result.fitness, sorted(set(calls))) == (-1.0, [-1, 8])


def test_names_go_with_bits() -> None:
    frame = pd.DataFrame(np.eye(4), columns=["a", "b", "c", "d"])
    result = daedal.maximize(lambda x: x @ [1, -1, 1, -1], frame, seed=1)
    assert result.best == {"a": True, "b": False, "c": True, "d": False}
    assert frame.columns[result.mask].tolist() == ["a", "c"]
    assert result.mask.dtype == np.bool_
    watched: list[Any] = []
    daedal.maximize(
        lambda x: watched.append(x[0].tolist()) or x.sum(axis=1),
        list(frame),
        seed=1,
        max_evaluations=3,
        initial={"a": True, "b": True, "c": False, "d": False},
    )
    assert watched[0] == [1, 1, 0, 0]


def test_errors_name_values() -> None:
    def broken(value: dict[str, Any]) -> float:
        raise RuntimeError("no such kernel")

    with pytest.raises(daedal.ObjectiveError, match=r'no such kernel.*"kernel": "'):
        daedal.maximize(broken, SPACE, vectorized=False, seed=1)
    with pytest.raises(daedal.ObjectiveError, match="dict of columns"):
        daedal.maximize(lambda values: values["speed"], SPACE, seed=1)
    with pytest.raises(ValueError, match="space"):
        daedal.maximize("onemax:n=10", SPACE, seed=1)
