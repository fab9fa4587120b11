"""A run in a notebook, with a stand-in for IPython."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from console_helpers import ARun, a_record

import daedal
from daedal.cli.notebook_display import NotebookDisplay, is_notebook
from daedal.limits import Limits


class Handle:
    """What was shown in one place, one after the other."""

    def __init__(self, first: Any) -> None:
        self.shown = [first]

    def update(self, shown: Any) -> None:
        self.shown.append(shown)

    def html(self) -> list[str]:
        return [one._repr_html_() for one in self.shown]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[Handle]:
    """Pretend to be the kernel of a notebook, and give the places where something is shown."""
    places: list[Handle] = []

    def display(shown: Any, *, display_id: bool) -> Handle:
        assert display_id  # or it could not be kept up to date
        places.append(Handle(shown))
        return places[-1]

    ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    vars(ipython).update(get_ipython=lambda: types.SimpleNamespace(kernel=object()), display=module)
    vars(module).update(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return places


def test_a_notebook_is_the_kernel_of_one_and_a_terminal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    ipython = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for shell, expected in ((None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=1), True)):
        vars(ipython).update(get_ipython=lambda shell=shell: shell)
        assert is_notebook() is expected


def test_progress_in_a_notebook_is_one_place_that_is_kept_up_to_date(
    notebook: list[Handle], capsys: pytest.CaptureFixture[str]
) -> None:
    result = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1, max_evaluations=500, progress=True)
    assert capsys.readouterr() == ("", "")
    (place,) = notebook
    first, *_, last = place.html()
    assert "umda on onemax:n=12, popsize 40, seed 1, goal 12" in first
    assert "preparing kernels" in first
    assert f"generation {result.generations}, {result.evaluations} evaluations, best 12" in last
    assert "done after" in last
    assert "<progress" in last
    assert repr(place.shown[-1]).startswith("umda on onemax:n=12")  # where there is no HTML


def test_how_far_a_batch_and_a_budget_are(notebook: list[Handle]) -> None:
    run = ARun(rows=10, answered=4, evaluations=25, limits=Limits(max_evaluations=100))
    with NotebookDisplay(run.view, clock=run.clock, seconds=None) as display:
        display.update(a_record(0, best=1.0))
        display.update(a_record(1, best=2.0))
        run.clock.now += 3.0
        display.draw()
    shown = notebook[0].html()[-2]
    assert "4 of 10 rows of this batch, 3 s" in shown
    assert '<progress max="1" value="0.2500"' in shown
    assert "▁█" in shown


def test_a_run_that_fails_says_so_and_names_are_text(notebook: list[Handle]) -> None:
    run = ARun(title="<script>alert(1)</script>")
    with pytest.raises(RuntimeError), NotebookDisplay(run.view, clock=run.clock, seconds=None):
        raise RuntimeError
    assert all("<script" not in one and "&lt;script&gt;" in one for one in notebook[0].html())
    assert "broken off after" in notebook[0].html()[-1]
