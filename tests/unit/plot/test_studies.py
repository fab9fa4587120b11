"""Figures of a study: shares of solved runs, best values, and what population sizes and budgets reach."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curve_helpers import a_snapshot

import daedal
from daedal.plot.figure import Figure, Line, Panel
from daedal.plot.studies import (
    check_figures,
    convergence,
    costs,
    draw_figures,
    figure_names,
    save_figures,
    sizes,
)
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import Study
from daedal.studies.store import Store


def lines(panel: Panel) -> list[Line]:
    return [mark for mark in panel.marks if isinstance(mark, Line)]


def changed(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """Return a snapshot with all runs changed alike."""
    runs = {
        key: {seed: dataclasses.replace(run, **changes) for seed, run in of_cell.items()}
        for key, of_cell in snapshot.runs.items()
    }
    return dataclasses.replace(snapshot, runs=runs)


def panels_of(figure: Figure | None) -> list[Panel]:
    assert figure is not None
    return list(figure.panels)


def test_runtime_is_the_share_of_solved_runs() -> None:
    figure = daedal.plot.runtime(a_snapshot())
    (panel,) = figure.panels
    fast, slow = lines(panel)
    assert fast.x == [100, 997, 998, 999, 1000, 1000]  # from the first generation on
    assert fast.y == [0, 25, 50, 75, 100, 100]
    assert slow.x == [100, 1997, 1998, 1999, 2000]
    assert slow.y == [0, 25, 50, 75, 75]  # one is not solved
    assert [line.marked for line in (fast, slow)] == [[5], [4]]
    assert list(figure.legend()) == ["rate 0 (popsize 100)", "rate 1 (popsize 100)"]
    assert (panel.x.is_log, panel.title, figure.title) == (True, "", "a trap")
    assert all(0 < panel.x.share(value) < 1 for line in (fast, slow) for value in line.x)


def test_if_no_run_is_solved_the_figure_says_so() -> None:
    (panel,) = daedal.plot.runtime(changed(a_snapshot(), success=False)).panels
    assert panel.title == "No run has solved it."
    assert {line.x[0] for line in lines(panel)} == {100}
    assert panel.x.high > 2000


def test_runtime_of_several_problems_together_or_of_one() -> None:
    snapshot = a_snapshot(problems=("one", "two"))
    together = daedal.plot.runtime(snapshot)
    assert together.title == "2 problems"
    first, second = lines(together.panels[0])
    assert max(second.y) == 75
    assert len(first.x) == 8 + 2
    assert daedal.plot.runtime(snapshot, problem="two").title == "two"
    with pytest.raises(ValueError, match="unknown problem of the study 'three'"):
        daedal.plot.runtime(snapshot, problem="three")
    with pytest.raises(ValueError, match="several problems"):
        daedal.plot.anytime(snapshot)


@pytest.mark.parametrize("minimize", [False, True])
def test_anytime_is_the_median_over_evaluations(minimize: bool) -> None:
    (panel,) = daedal.plot.anytime(a_snapshot(minimize=minimize)).panels
    fast, slow = lines(panel)
    assert (fast.x[0], fast.x[-1]) == (100, 1000)
    assert (slow.x[0], slow.x[-1]) == (200, 2000)
    assert fast.y[-1] == (0 if minimize else 20)
    assert np.all(np.diff(fast.y) * (-1 if minimize else 1) >= 0)
    assert all(
        low <= y <= high for line in (fast, slow) for low, y, high in zip(line.low, line.y, line.high, strict=True)
    )
    assert panel.levels == [(0.0 if minimize else 20.0, "optimum")]
    assert ("smaller is better" in panel.y.title) == minimize


def test_missing_runs_are_counted_in_the_legend_and_have_open_markers() -> None:
    snapshot = a_snapshot(made=1)
    assert list(daedal.plot.anytime(snapshot).legend()) == [
        "rate 0 (popsize 100, 1 run)",
        "rate 1 (popsize 100, 1 run)",
    ]
    for figure in (sizes(snapshot, snapshot.study.problems[0]), costs(snapshot, snapshot.study.problems[0])):
        assert all(list(line.hollow) == [0] for panel in panels_of(figure) for line in lines(panel))


def test_missing_data_is_named() -> None:
    empty = Snapshot(study=a_snapshot().study, runs={})
    for plot in (daedal.plot.runtime, daedal.plot.anytime):
        with pytest.raises(ValueError, match="run the study first"):
            plot(empty)
    with pytest.raises(ValueError, match="optimum or target"):
        daedal.plot.runtime(a_snapshot(solved=False))
    with pytest.raises(TypeError, match="path of a store"):
        daedal.plot.runtime(42)  # type: ignore[arg-type]


def test_a_store_may_be_a_path_or_a_store(tmp_path: Path) -> None:
    study = Study.from_dict({"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20], "runs": 1})
    path = tmp_path / "results.db"
    with Store(path) as store:
        store.remember(study)
        store.record(study.cells()[0], 0, daedal.maximize("onemax:n=8", algorithm="umda", popsize=20, seed=0))
        shown = [daedal.plot.anytime(one) for one in (store, path, str(path))]
    assert len({tuple(lines(figure.panels[0])[0].y) for figure in shown}) == 1


def test_sizes_have_three_panels_whose_axes_hold_all_bars() -> None:
    snapshot = a_snapshot(popsizes=[100, 400])
    wide = {
        key: {seed: dataclasses.replace(run, evaluations_to_best=200 * 3**seed) for seed, run in of_cell.items()}
        for key, of_cell in snapshot.runs.items()
    }
    snapshot = dataclasses.replace(snapshot, runs=wide)
    solved, evaluations, _ = panels_of(sizes(snapshot, snapshot.study.problems[0]))
    assert lines(solved)[0].y == [100, 100]
    for line in lines(evaluations):
        assert line.x == [100, 400]
        assert all(0 < evaluations.y.share(value) < 1 for value in (*line.low, *line.y, *line.high))
        assert all(low > 0 for low in line.low)


def test_an_algorithm_without_a_population_is_the_same_at_every_size() -> None:
    study = Study.from_dict(
        {"problems": ["onemax:n=9"], "algorithms": ["umda", "ils"], "popsizes": [50, 200], "runs": 1}
    )
    run = next(iter(next(iter(a_snapshot().runs.values())).values()))
    snapshot = Snapshot(study=study, runs={cell.key: {0: run} for cell in study.cells()})
    _, evaluations, _ = panels_of(sizes(snapshot, study.problems[0]))
    assert [line.x for line in lines(evaluations)] == [[50, 200], [50, 200]]
    left, _ = panels_of(costs(snapshot, study.problems[0]))
    assert [list(line.labels) for line in lines(left)] == [["50", "200"], [""]]


def test_costs_have_a_numbered_point_for_each_size_and_no_bar_beyond_the_optimum() -> None:
    snapshot = a_snapshot(popsizes=[100, 1000])
    figure = costs(snapshot, snapshot.study.problems[0])
    for panel in panels_of(figure):
        for line in lines(panel):
            assert list(line.labels) == ["100", "1k"]
            assert max(line.high) <= 20
        assert panel.levels == [(20.0, "optimum")]
    assert figure is not None
    drawn = figure.svg()
    assert min(drawn.count(">100</text>"), drawn.count(">1k</text>")) >= 2


def test_budgets_have_three_panels_with_a_point_for_each_budget() -> None:
    snapshot = a_snapshot(problems=("one", "two"), budgets=[500, 1000])
    solved, best, seconds = panels_of(sizes(snapshot, snapshot.study.problems[0]))
    assert [panel.y.title for panel in (solved, seconds)] == ["runs solved", "CPU seconds"]
    assert lines(solved)[0].x == [500, 1000]
    first, second = lines(best)
    assert first.x[0] < 500 < second.x[0]  # their bars are side by side
    assert first.y == [20, 20]
    assert list(second.low) == [19.75, 19.75]
    drawn = dict(draw_figures(snapshot, ["two"]))
    assert list(drawn) == ["anytime", "two-convergence"]
    assert [panel.title for panel in drawn["anytime"].panels] == ["two (trap:k=4,n=20)"]
    assert list(drawn["two-convergence"].legend()) == ["rate 0 (budget 1,000)", "rate 1 (budget 1,000)"]


def test_28_algorithms_look_different() -> None:
    snapshot = a_snapshot(algorithms=28, made=1)
    (panel,) = daedal.plot.anytime(snapshot).panels
    assert len({(line.marker, line.dash) for line in lines(panel)}) == 28


def test_without_an_optimum_there_is_no_runtime_and_without_runs_an_empty_figure() -> None:
    unknown, empty = a_snapshot(solved=False), Snapshot(study=a_snapshot().study, runs={})
    assert len(panels_of(convergence(unknown, unknown.study.problems[0]))) == 1
    assert [figure.panels[0].title for _, figure in draw_figures(empty)] == ["no runs yet"] * 2
    assert convergence(empty, empty.study.problems[0]) is None


def test_every_figure_has_files_with_a_different_name(tmp_path: Path) -> None:
    snapshot = a_snapshot(problems=("A b", "a-b", "a-b-convergence"))
    names = list(figure_names(snapshot.study))
    assert len({name.lower() for name in names}) == len(names) == 6
    assert [name for name, _ in draw_figures(snapshot, ["a-b"])] == ["a-b-2", "a-b-convergence-3"]
    long = figure_names(a_snapshot(problems=("𝛽" * 300,)).study)
    assert all(len(f".{name}.svg.12345678".encode()) <= 255 for name in long)  # with the letters of a draft
    with pytest.raises(ValueError, match="problem of the study 'a-c'"):
        list(draw_figures(snapshot, ["a-c"]))
    written = [file.name for _, files in save_figures(snapshot, tmp_path / "new", ["A b"]) for file in files]
    assert written == ["A-b.svg", "A-b.png", "A-b-convergence-2.svg", "A-b-convergence-2.png"]
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ValueError, match="cannot be made"):
        check_figures(snapshot.study, tmp_path / "taken")
