"""Pictures of a study's runs: shares of solved runs, and how the best value grew; the figures that are written."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curve_helpers import a_snapshot

import daedal
from daedal.plot.study_figures import check_figures, draw_figures, named_figures
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import Study
from daedal.studies.store import Store

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as pyplot

    pyplot.close("all")


def steps(axes: Any) -> list[Any]:
    return [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]


def names(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_runtime_is_the_share_of_solved_runs() -> None:
    axes = daedal.plot.runtime(a_snapshot())
    fast, slow = steps(axes)
    assert fast.get_xdata().tolist() == [100, 997, 998, 999, 1000, 1000]  # from the first generation on
    assert fast.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 1, 1]
    assert slow.get_xdata().tolist() == [100, 1997, 1998, 1999, 2000]
    assert slow.get_ydata().tolist() == [0, 0.25, 0.5, 0.75, 0.75]  # one is not solved
    assert names(axes) == ["rate 0 (popsize 100)", "rate 1 (popsize 100)"]
    assert (axes.get_xscale(), axes.get_title(loc="left")) == ("log", "a trap")


def test_where_nobody_has_solved_anything_the_figure_says_so() -> None:
    snapshot = a_snapshot()
    assert not daedal.plot.runtime(snapshot).texts
    failed = {
        key: {seed: dataclasses.replace(run, success=False) for seed, run in of_cell.items()}
        for key, of_cell in snapshot.runs.items()
    }
    axes = daedal.plot.runtime(dataclasses.replace(snapshot, runs=failed))
    assert [text.get_text() for text in axes.texts] == ["no run has solved it"]
    assert {line.get_xdata()[0] for line in steps(axes)} == {100}
    assert axes.get_xlim()[1] > 2000


def test_runtime_of_several_problems_together_or_of_one() -> None:
    snapshot = a_snapshot(problems=("one", "two"))
    together = daedal.plot.runtime(snapshot)
    assert together.get_title(loc="left") == "2 problems"
    assert max(steps(together)[1].get_ydata()) == 0.75
    assert len(steps(together)[0].get_xdata()) == 8 + 2
    assert daedal.plot.runtime(snapshot, problem="two").get_title(loc="left") == "two"
    with pytest.raises(ValueError, match="one, two, got problem='three'"):
        daedal.plot.runtime(snapshot, problem="three")
    with pytest.raises(ValueError, match="one, two, got problem=None"):
        daedal.plot.anytime(snapshot)


@pytest.mark.parametrize("minimize", [False, True])
def test_anytime_is_the_median_against_evaluations(minimize: bool) -> None:
    axes = daedal.plot.anytime(a_snapshot(minimize=minimize))
    fast, slow = steps(axes)
    assert (fast.get_xdata()[0], fast.get_xdata()[-1]) == (100, 1000)
    assert (slow.get_xdata()[0], slow.get_xdata()[-1]) == (200, 2000)
    assert fast.get_ydata()[-1] == (0 if minimize else 20)
    assert np.all(np.diff(fast.get_ydata()) * (-1 if minimize else 1) >= 0)
    assert len(axes.collections) == 2
    assert ("smaller is better" in axes.get_ylabel()) == minimize


def test_missing_runs_are_counted_in_the_legend() -> None:
    shown = names(daedal.plot.anytime(a_snapshot(made=1)))
    assert shown == ["rate 0 (popsize 100, 1 run)", "rate 1 (popsize 100, 1 run)"]


def test_what_is_not_there_is_named() -> None:
    empty = Snapshot(study=a_snapshot().study, runs={})
    for plot in (daedal.plot.runtime, daedal.plot.anytime):
        with pytest.raises(ValueError, match="got none so far"):
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
    assert len({tuple(steps(axes)[0].get_ydata()) for axes in shown}) == 1
    given = matplotlib.figure.Figure().add_subplot()
    assert daedal.plot.runtime(path, ax=given) is given


@pytest.mark.parametrize("algorithms", [1, 9])
def test_convergence_curves_are_written_beside_the_figure_of_sizes(algorithms: int) -> None:
    snapshot = a_snapshot(algorithms=algorithms)
    drawn = dict(draw_figures(snapshot))
    assert list(drawn) == ["a-trap", "a-trap-convergence"]
    left, right = drawn["a-trap-convergence"].axes
    assert (len(steps(left)), len(steps(right))) == (algorithms, algorithms)
    assert left.get_xlim() == right.get_xlim()
    figure = drawn["a-trap-convergence"]
    figure.draw_without_rendering()
    texts = [figure.legends[0], left.xaxis.label, right.xaxis.label, *left.texts]
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [f"rate {number} (popsize 100)" for number in range(algorithms)]


def test_without_an_optimum_there_is_no_runtime_and_without_runs_an_empty_figure() -> None:
    assert len(dict(draw_figures(a_snapshot(solved=False)))["a-trap-convergence"].axes) == 1
    empty = dict(draw_figures(Snapshot(study=a_snapshot().study, runs={})))
    for figure in empty.values():
        figure.draw_without_rendering()
        assert not figure.legends


def test_every_figure_has_files_of_its_own(tmp_path: Path) -> None:
    study = a_snapshot(problems=("A b", "a-b", "a-b-convergence")).study
    figures = named_figures(study)
    assert len({one.name.lower() for one in figures}) == len(figures) == 6
    kept = {(one.name, one.converging) for one in named_figures(study, ["a-b"])}
    assert kept == {(one.name, one.converging) for one in figures if one.problem == study.problems[1]}
    long = named_figures(a_snapshot(problems=("𝛽" * 300,)).study)
    assert all(len(f".{one.name}.svg.12345678".encode()) <= 255 for one in long)  # with the draft's own letters
    with pytest.raises(ValueError, match="problem of the study 'a-c'"):
        named_figures(study, ["a-c"])
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ValueError, match="cannot be made"):
        check_figures(study, tmp_path / "taken")


def test_a_study_with_budgets_has_one_figure_for_all_and_one_for_each_problem() -> None:
    snapshot = a_snapshot(problems=("one", "two"), budgets=[500, 1000])
    drawn = dict(draw_figures(snapshot, ["two"]))
    assert list(drawn) == ["anytime", "two-convergence"]
    legend = [text.get_text() for text in drawn["two-convergence"].legends[0].get_texts()]
    assert legend == ["rate 0 (budget 1,000)", "rate 1 (budget 1,000)"]
