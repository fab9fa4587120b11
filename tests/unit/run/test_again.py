"""The line that makes a run again makes it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from run_helpers import told

import daedal


def score(x: Any) -> Any:
    return x.sum(axis=1)


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({}, "daedal.maximize('onemax:n=9', seed=4)"),
        (
            {"algorithm": "umda", "popsize": 30, "max_generations": 3},
            "daedal.maximize('onemax:n=9', algorithm='umda', seed=4, max_generations=3, popsize=30)",
        ),
        ({"algorithm": "dae", "popsize": 20, "corruption": 0.2, "max_evaluations": 60, "shuffle": False}, None),
        ({"repeats": 3, "max_evaluations": 60, "on_error": "retry:2,worst", "timeout": 60.0}, None),
        ({"on_error": "worst", "deduplicate": False, "asynchronous": True, "max_evaluations": 30}, None),
        ({"minimize": True, "max_evaluations": 30}, "daedal.minimize('onemax:n=9', seed=4, max_evaluations=30)"),
    ],
)
def test_the_line_of_a_problem(keywords: dict[str, Any], line: str | None) -> None:
    result = daedal.maximize("onemax:n=9", seed=4, **keywords)
    assert line is None or result.again == line
    assert told(eval(result.again)) == told(result)
    for name in keywords.keys() - {"minimize"}:
        assert f"{name}={keywords[name]!r}" in result.again


def test_the_line_of_a_function() -> None:
    result = daedal.maximize(score, 9, seed=4, algorithm="umda", popsize=20)
    assert result.again == "daedal.maximize(score, n=9, algorithm='umda', seed=4, popsize=20)"
    assert told(eval(result.again)) == told(result)
    assert daedal.maximize(lambda x: x.sum(axis=1), 3, seed=np.int64(1)).again == "daedal.maximize(f, n=3, seed=1)"
