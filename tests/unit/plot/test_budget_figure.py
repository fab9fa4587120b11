"""The figure of a study with budgets: points and bars where the medians and quartiles are."""

from __future__ import annotations

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from budget_helpers import STUDY, TRAP, UMDA, runs_of, some_rows, some_runs

from daedal.plot.budget_figure import draw_budgets
from daedal.plot.style import save
from daedal.studies.budgets import analyse_budgets
from daedal.studies.spec import Study

pytest.importorskip("matplotlib", reason="figures need matplotlib")


def lines(axes: Any) -> list[Any]:
    """Give the lines of the algorithms, which have markers, and no bars."""
    return [line for line in axes.get_lines() if line.get_marker() != "None" and line.get_linestyle() != "None"]


def bars(axes: Any) -> list[tuple[float, ...]]:
    return [tuple(line.get_ydata()) for line in axes.get_lines() if line.get_alpha() is not None]


def test_each_problem_is_a_panel_with_a_median_and_quartiles_at_each_budget() -> None:
    figure = draw_budgets(some_rows())
    trap, cost = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["trap:k=4,n=20", "cost"]
    assert [list(line.get_ydata()) for line in lines(trap)] == [[3.5, 10 + 3.5 * 1.125], [3.5, 3.5]]
    assert bars(trap) == [(1.75, 5.25), (10 + 1.75 * 1.125, 10 + 5.25 * 1.125), (1.75, 5.25), (1.75, 5.25)]
    for line in lines(trap):  # beside each other, around their budget
        assert line.get_xdata() == pytest.approx([100, 1000], rel=0.05)
    assert [line.get_ydata()[0] for line in trap.get_lines() if line.get_label() == "_optimum"] == [20.0]
    assert "smaller is better" in [text.get_text() for text in cost.texts][-1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["umda", "PBIL 50"]
    assert (trap.get_xscale(), trap.get_xlabel()) == ("log", "Budget: evaluations")
    assert trap.xaxis.get_major_locator().locs.tolist() == [100, 1000]


def test_only_problems_that_are_named() -> None:
    (only,) = draw_budgets(some_rows(), ["cost"]).axes
    assert only.get_title(loc="left") == "cost"


def test_missing_runs_are_seen_and_what_has_no_place_is_left_out(tmp_path: Path) -> None:
    runs = some_runs()
    key = STUDY.cell(TRAP, UMDA, None, 1000).key
    del runs[key][5]
    figure = draw_budgets(some_rows(runs))
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "not all runs made"
    runs[key] = runs_of([-math.inf] * 8)
    umda, _ = lines(draw_budgets(some_rows(runs)).axes[0])
    assert len(umda.get_xdata()) == 1
    save(draw_budgets(some_rows({})), tmp_path / "empty")


@pytest.mark.parametrize("count", [1, 2, 4, 5, 7])
def test_any_number_of_problems_algorithms_and_budgets_without_texts_that_overlap(count: int) -> None:
    problems = [
        {"name": f"problem {n}, a rather long name for it", "problem": f"onemax:n={n}"} for n in range(5, 5 + count)
    ]
    spec = {
        "problems": problems,
        "algorithms": [{"name": f"algorithm {n}", "algorithm": "umda"} for n in range(count)],
        "budgets": [2**power * 10 for power in range(2 * count)],
        "runs": 2,
    }
    study = Study.from_dict(spec)
    figure = draw_budgets(analyse_budgets(study, {cell.key: runs_of([1.0, 2.0]) for cell in study.cells()}))
    shown = [axes for axes in figure.axes if axes.axison]
    assert len(shown) == count
    figure.draw_without_rendering()
    texts = [label for axes in shown for label in axes.get_xticklabels() if label.get_text()]
    texts += [axes.texts[-1] for axes in shown] + [axes._left_title for axes in shown] + [figure.legends[0]]
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for line in lines(shown[0]):
        assert line.get_xdata() == pytest.approx(study.budgets, rel=0.3)  # nearer to their own than to any other


def test_the_same_figure_gives_the_same_bytes_and_changes_no_settings(tmp_path: Path) -> None:
    matplotlib = importlib.import_module("matplotlib")
    before = dict(matplotlib.rcParams)
    first = save(draw_budgets(some_rows()), tmp_path / "first")
    second = save(draw_budgets(some_rows()), tmp_path / "second")
    assert [one.read_bytes() for one in first] == [two.read_bytes() for two in second]
    assert dict(matplotlib.rcParams) == before
