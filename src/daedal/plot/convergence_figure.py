"""How the runs of a study went: the best value against evaluations, and how many runs were solved by then."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from daedal.plot.curve_lines import draw_anytime, draw_runtime
from daedal.plot.style import GREY, draw_legend, plain_text, shortened, styled
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import StudyProblem
from daedal.studies.tables import problem_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_convergence(snapshot: Snapshot, problem: StudyProblem) -> Figure:
    """Draw a problem's convergence curves, and beside them, where one can tell what is solved, runtime distributions.

    Each algorithm has the population size, or budget, that stands for it: see `shown_cells`.
    """
    with styled():
        figure: Figure = importlib.import_module("matplotlib.figure").Figure(figsize=(9.0, 4.0), layout="constrained")
        name, spec = problem_title(problem)
        figure.suptitle(plain_text(shortened(name, 90)), fontsize=12, fontweight="bold")
        left, right = figure.subplots(1, 2, sharex=True)
        lines = draw_anytime(left, snapshot, problem)
        solved = draw_runtime(right, snapshot, [problem])
        left.set_title(plain_text(shortened(spec)), loc="left", fontsize=8, color=GREY)
        if not solved:
            right.remove()
        draw_legend(figure, lines or solved)
    return figure
