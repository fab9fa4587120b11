"""The figures of a study's page: axes that hold all of what is drawn, and a sentence where there is nothing to draw."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from curve_helpers import a_snapshot

from daedal.report.page import Figure, Part, Row
from daedal.report.study_figures import budget_figures, runtime_figures, size_figures
from daedal.studies.snapshot import Snapshot


def drawn(parts: list[Part]) -> dict[str, Any]:
    """Give the figures by name."""
    rows = [part.figures if isinstance(part, Row) else [part] for part in parts if not isinstance(part, str)]
    return {one.name: one for row in rows for one in row}


def changed(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """Give a snapshot with all runs changed alike."""
    runs = {
        key: {seed: dataclasses.replace(run, **changes) for seed, run in of_cell.items()}
        for key, of_cell in snapshot.runs.items()
    }
    return dataclasses.replace(snapshot, runs=runs)


def limits(figure: Figure, name: str) -> tuple[float, float]:
    axis: Any = figure.layout[name]
    low, high = axis["range"]
    return (10**low, 10**high) if axis.get("type") == "log" else (low, high)


def test_axes_hold_the_ends_of_all_bars() -> None:
    snapshot = a_snapshot(popsizes=[100, 400])
    wide = {
        key: {seed: dataclasses.replace(run, evaluations_to_best=200 * 3**seed) for seed, run in of_cell.items()}
        for key, of_cell in snapshot.runs.items()
    }
    figure = drawn(size_figures(dataclasses.replace(snapshot, runs=wide)))["evaluations-0"]
    low, high = limits(figure, "yaxis")
    for line in figure.data:
        for value, bar in zip(line["y"], line["error_y"]["array"], strict=True):
            assert bar > value / 2
            assert value + bar < high
            assert low < max(value - bar, value / 10)


@pytest.mark.parametrize("what", [{}, {"budgets": [500, 1000]}])
def test_a_run_that_solves_its_problem_stays_inside_of_the_axes(what: dict[str, Any]) -> None:
    snapshot = a_snapshot(**what)
    figures = drawn([*(budget_figures(snapshot) if what else size_figures(snapshot)), *runtime_figures(snapshot)])
    for name in ("solved-0", "runtime-0"):
        low, high = limits(figures[name], "yaxis")
        assert low < 0
        assert high > 100
        assert max(value for line in figures[name].data for value in line["y"]) == 100


def test_lines_of_solved_runs_begin_with_the_runs_and_end_with_a_marker() -> None:
    figure = drawn(runtime_figures(a_snapshot()))["runtime-0"]
    low, high = limits(figure, "xaxis")
    lines = [line for line in figure.data if line["mode"] == "lines"]
    ends = [line for line in figure.data if line["mode"] == "markers"]
    assert {line["x"][0] for line in lines} == {100}  # the first generation of the faster one
    assert low < 100
    assert high > 2000
    assert [(end["x"][0], end["y"][0]) for end in ends] == [(line["x"][-1], line["y"][-1]) for line in lines]
    assert len({end["marker"]["symbol"] for end in ends}) == len(ends)


def test_where_nobody_has_solved_a_problem_a_sentence_says_so() -> None:
    parts = runtime_figures(changed(a_snapshot(), success=False))
    assert not drawn(parts)
    assert "No run has solved it" in str(parts)


def test_figures_of_a_row_leave_the_same_room_for_labels() -> None:
    for parts in (size_figures(a_snapshot()), budget_figures(a_snapshot(budgets=[500, 1000]))):
        layouts: list[Any] = [figure.layout for figure in drawn(parts).values()]
        assert len(layouts) == 3
        assert len({layout["margin"]["l"] for layout in layouts}) == 1
        assert not any(layout["yaxis"]["automargin"] for layout in layouts)
