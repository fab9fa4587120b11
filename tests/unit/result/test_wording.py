"""A result in words: calls, repeats, titles, and where the best value stands."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from report_helpers import full_result

from daedal.result.best_curve import best_curve
from daedal.result.wording import effort_text, fitness_text, problem_text


def test_calls_come_first_and_what_was_repeated_was_free() -> None:
    result = full_result(evaluated=170, failed=2, cached=65, evaluations=237, evaluations_to_best=200, generations=1)
    assert effort_text(result).startswith("172 calls")
    assert "65 repeated rows were free" in effort_text(result)
    assert "1 generation," in effort_text(result)
    assert "free" not in effort_text(full_result(cached=0))


@pytest.mark.parametrize(
    ("problem", "shown"),
    [("/tmp/some/where/mine.py:score", "mine.py:score"), ("<lambda>", "a function (lambda)"), ("trap:n=5", "trap:n=5")],
)
def test_a_title_has_no_folders(problem: str, shown: str) -> None:
    assert problem_text(full_result(problem=problem)) == shown


def test_zero_has_no_sign() -> None:
    assert fitness_text(full_result(fitness=-0.0)) == "0"


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"evaluations_to_best": 62}, [(40, 1.0), (62, 3.0), (121, 3.0), (160, 3.0)]),
        ({"evaluations_to_best": 7}, [(40, 1.0), (121, 3.0), (160, 3.0)]),  # which is not where it can have been
        ({"evaluations_to_best": 121}, [(40, 1.0), (121, 3.0), (160, 3.0)]),
        ({"evaluations_to_best": 62, "standard_error": 0.1}, [(40, 1.0), (121, 3.0), (160, 3.0)]),
        ({"history": ()}, []),
    ],
)
def test_the_best_value_stands_where_it_was_found(changes: dict[str, Any], points: list[tuple[int, float]]) -> None:
    result = full_result()
    history = tuple(
        dataclasses.replace(record, evaluations=at, best=best)
        for record, (at, best) in zip(result.history, [(40, 1.0), (121, 3.0), (160, 3.0)], strict=False)
    )
    result = dataclasses.replace(result, **{"history": history} | changes)
    assert best_curve(result, result.history) == points
