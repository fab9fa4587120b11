"""Figures of a run: values over evaluations, time, populations, interactions and importance."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from report_helpers import full_result, made_up_trace

import daedal
from daedal.limits import Limits
from daedal.plot.figure import Bars, Cells, Figure
from daedal.plot.runs import bit_order, decisions, effort, training
from daedal.result.variables import learned_linkage, variables_of


def only(figure: Figure | None) -> Any:
    assert figure is not None
    (panel,) = figure.panels
    return panel


def test_values_and_spread_are_drawn_over_evaluations() -> None:
    result = full_result(optimum=20.0, limits=Limits(target=19.5))
    panel = only(daedal.plot.convergence(result))
    mean, best = panel.marks
    assert best.x == mean.x == [record.evaluations for record in result.history]
    assert best.y == [record.best for record in result.history]
    assert best.is_step
    assert [best.y[k] for k in best.marked] == [result.history[-1].best]
    assert np.allclose(np.array(mean.high) - np.array(mean.low), 2.0)
    assert panel.levels == [(19.5, "target"), (20.0, "optimum")]
    assert panel.x.share(0) == 0
    assert 0.9 < panel.x.share(best.x[-1]) < 1
    assert "smaller is better" in only(daedal.plot.convergence(full_result(minimize=True))).y.title


def test_one_generation_is_seen() -> None:
    mean, best = only(daedal.plot.convergence(full_result(history=full_result().history[:1]))).marks
    assert mean.marked == best.marked == [0]
    assert (mean.low, mean.high, mean.has_bars) == ([mean.y[0] - 1], [mean.y[0] + 1], True)


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "seconds"), (1e-3, "milliseconds")])
def test_time_is_that_of_each_generation(factor: float, unit: str) -> None:
    history = tuple(
        dataclasses.replace(one, seconds=factor * one.seconds, objective_seconds=factor * one.objective_seconds)
        for one in full_result().history
    )
    figure = effort(full_result(history=history))
    assert figure is not None
    batches, time = figure.panels
    objective, search = time.marks
    assert isinstance(objective, Bars)
    assert isinstance(search, Bars)
    assert time.y.title == f"{unit} per generation"
    assert np.allclose(objective.ends, 0.15)
    assert np.allclose(np.array(search.ends) - search.base, 0.05)
    assert len(batches.x.names) == len(history)
    assert effort(full_result(history=())) is None


def test_training_has_some_curves_and_what_each_generation_took() -> None:
    figure = training(full_result())
    assert figure is not None
    curves, epochs, error = figure.panels
    assert len(curves.marks) == 8
    assert [panel.y.title for panel in (epochs, error)] == ["epochs", "error at the end"]
    plain = daedal.maximize("onemax:n=8", algorithm="umda", popsize=20, seed=1)
    assert training(plain) is None


@pytest.mark.parametrize(("looks", "shown"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (24, [0, 11, 23])])
def test_a_population_is_shown_at_the_start_in_the_middle_and_at_the_end(looks: int, shown: list[int]) -> None:
    trace = made_up_trace(full_result().x, looks=looks)
    figure = daedal.plot.population(full_result(trace=trace))
    assert [panel.title.split(",")[0] for panel in figure.panels] == [f"Generation {k}" for k in shown]


def test_entropy_and_population_have_the_same_order() -> None:
    result = full_result()
    variables = variables_of(result)
    order = bit_order(learned_linkage(result, variables), variables)
    assert result.trace is not None
    entropy = only(decisions(result.trace, variables, order))
    cells = entropy.marks[0].percent
    assert cells.shape == (20, 12)
    assert cells[:, 0].min() == 100
    assert cells[:, -1].max() == 0
    first = daedal.plot.population(result).panels[0]
    assert first.x.names == entropy.y.names
    assert isinstance(first.marks[0], Cells)
    rows, _ = result.trace.population(0)
    assert np.array_equal(first.marks[0].percent, 100 * rows[:, order])
    assert [int(name.removeprefix("x")) for name in first.x.names] == order.tolist()


def test_interactions_are_in_order_with_a_frame_around_each_group() -> None:
    panel = only(daedal.plot.linkage(full_result()))
    cells = panel.marks[0].percent
    place = {name: k for k, name in enumerate(panel.x.names)}
    assert cells[place["x0"], place["x3"]] > 90
    assert cells[place["x0"], place["x7"]] < 10
    assert len(panel.frames) == 4
    for first, last in panel.frames:
        inside = cells[int(first) : int(last) + 1, int(first) : int(last) + 1]
        assert inside.shape == (5, 5)
        assert inside.min() > 90


def test_variables_of_a_space_have_their_names() -> None:
    space = daedal.Space(size=daedal.Integer(0, 15), cost=daedal.Integer(0, 15))
    result = daedal.maximize(lambda v: v["size"] * v["cost"], space, seed=1, max_evaluations=150)
    assert set(only(daedal.plot.linkage(result)).x.names) == {"size", "cost"}
    assert set(only(daedal.plot.importance(result)).x.names) == {"size", "cost"}


def test_importance_is_exact_if_only_a_variable_changes() -> None:
    result = full_result()
    assert result.trace is not None
    panel = only(daedal.plot.importance(result))
    exact, hollow = panel.marks
    assert (exact.is_hollow, hollow.is_hollow) == (False, True)
    found = {panel.x.names[at]: end for at, end in zip(exact.at, exact.ends, strict=True)}
    assert found["x1"] == pytest.approx(-result.trace.flips[1])
    bounds = {panel.x.names[at]: end for at, end in zip(hollow.at, hollow.ends, strict=True)}
    assert bounds["x3"] == pytest.approx(result.fitness - result.trace.others[3])
    assert set(found) & set(bounds) == set()
    assert len(found) + len(bounds) == 20
    worse = full_result(minimize=True, trace=made_up_trace(result.x, sign=-1.0))
    assert min(only(daedal.plot.importance(worse)).marks[0].ends) > 0  # worse is larger


def test_bars_with_long_names_lie_the_most_important_on_top() -> None:
    panel = only(daedal.plot.importance(full_result(names=tuple(f"a long name, number {i}" for i in range(20)))))
    assert all(bars.is_lying for bars in panel.marks)
    ends = dict(pair for bars in panel.marks for pair in zip(bars.at, bars.ends, strict=True))
    assert [ends[k] for k in range(20)] == sorted(ends.values(), reverse=True)
    assert panel.y.share(0) > panel.y.share(19)
    assert panel.height > 12 * 20


@pytest.mark.parametrize(
    ("figure", "changes", "says"),
    [
        (daedal.plot.convergence, {"history": ()}, "no history"),
        (daedal.plot.population, {"trace": None}, "no trace"),
        (daedal.plot.importance, {"trace": None}, "no trace"),
        (daedal.plot.linkage, {"trace": None}, "too few candidates"),
    ],
)
def test_a_result_without_what_a_figure_needs_is_refused(figure: Any, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        figure(full_result(**changes))
