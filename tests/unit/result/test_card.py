"""A result in a notebook: a small card of HTML, and what variables are called on it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from report_helpers import EVIL, SHOWN_EVIL, full_result, made_up_trace, read_html

import daedal
from daedal.result.card import sparkline
from daedal.result.variables import learned_linkage, variables_of


def test_a_card_has_the_answer_and_the_effort() -> None:
    result = full_result(optimum=20.0, success=True)
    card = read_html(result._repr_html_())
    assert "20 of 20" in card.text
    assert "solved" in card.text
    assert "umda on ones, seed 1" in card.text
    assert result.stop.message in card.text
    assert f"{result.evaluated} calls" in card.text
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


def test_bits_of_one_variable_count_as_one() -> None:
    space = daedal.Space(size=daedal.Integer(1, 16), flag=daedal.Flag(), order=daedal.Permutation(["p", "q", "r"]))
    result = daedal.maximize(lambda values: values["size"], space, seed=1, max_evaluations=30)
    variables = variables_of(result)
    assert variables.labels == ("size", "flag", "order: p", "order: q", "order: r")
    assert variables.bit_labels[:5] == ("size.0", "size.1", "size.2", "size.3", "flag")
    rng = np.random.default_rng(1)
    linkage = (rng.random((result.n, result.n)) * 0.01).astype(np.float32)
    linkage[1, 2] = linkage[2, 1] = 0.9  # two bits of one variable
    linkage[3, 4] = linkage[4, 3] = 1.0
    found = learned_linkage(dataclasses.replace(result, trace=made_up_trace(result.x, linkage=linkage)), variables)
    assert found is not None
    assert found.groups == ((0, 1),)
    assert found.strength.shape == (5, 5)
    assert found.strength[0, 1] == found.strength.max() == 1.0
    assert sorted(found.order.tolist()) == [0, 1, 2, 3, 4]


def test_fixed_variables_have_no_bits() -> None:
    space = daedal.Space(a=daedal.Choice("only"), b=daedal.Flag())
    result = daedal.maximize(lambda values: values["b"], space, seed=1)
    assert variables_of(result).labels == ("b",)
    alone = daedal.maximize(lambda values: np.ones(len(values["a"])), daedal.Space(a=daedal.Choice("only")), seed=1)
    assert variables_of(alone).labels == ("unused",)
