"""A result in words and as a card, and the curve of its best value."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from report_helpers import EVIL, SHOWN_EVIL, full_result, read_html

from daedal.result.trace import best_curve
from daedal.result.wording import effort_text, fitness_text, problem_text, sparkline


def test_evaluations_come_first_and_repeated_candidates_are_free() -> None:
    result = full_result(evaluations=172, failed=2, repeated=65, evaluations_to_best=150, generations=1)
    assert effort_text(result).startswith("172 evaluations")
    assert "65 repeated candidates were free" in effort_text(result)
    assert "1 generation," in effort_text(result)
    assert "free" not in effort_text(full_result(repeated=0))


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


def test_a_card_has_the_answer_and_the_effort() -> None:
    result = full_result(optimum=20.0, success=True)
    card = read_html(result._repr_html_())
    assert "20 of 20" in card.text
    assert "solved" in card.text
    assert "umda on ones, seed 1" in card.text
    assert result.stop.message in card.text
    assert f"{result.evaluations} evaluations" in card.text
    assert card.count("polyline") == 1


def test_a_card_shows_texts_and_obeys_none() -> None:
    plain = full_result()
    evil = full_result(problem=EVIL, algorithm=EVIL, names=tuple(f"{EVIL}{i}" for i in range(20)))
    card = read_html(evil._repr_html_())
    assert [tag for tag, _ in card.tags] == [tag for tag, _ in read_html(plain._repr_html_()).tags]
    assert card.text.count(SHOWN_EVIL) == 2  # problem and algorithm


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [-math.inf, math.nan], [-1e308, 1e308]])
def test_no_line_where_there_is_nothing_to_see(values: list[float]) -> None:
    assert sparkline(values) == ""


def test_a_long_line_is_thinned_and_keeps_its_end() -> None:
    drawn = sparkline([*np.sqrt(np.arange(10_000)).tolist(), 200.0])
    assert drawn.count(",") <= 130
    assert drawn.split('points="')[1].split('"')[0].endswith("218.0,2.0")


def test_a_card_of_a_run_without_a_trace_or_a_history() -> None:
    card = read_html(full_result(trace=None, history=())._repr_html_())
    assert card.count("svg") == 0
