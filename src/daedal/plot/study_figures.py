"""The figures of a study, each with the name of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from daedal.plot.budget_figure import draw_budgets
from daedal.plot.convergence_figure import draw_convergence
from daedal.plot.size_figure import draw_sizes
from daedal.plot.style import figure_files, find_matplotlib
from daedal.settings.parameters import unknown
from daedal.storage.kinds import check_place
from daedal.studies.budgets import analyse_budgets
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import Study, StudyProblem
from daedal.studies.tables import FIGURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Named:
    """A figure to be drawn: the name of its files, its problem (None: all), and whether it shows how runs went."""

    name: str
    problem: StudyProblem | None
    converging: bool


def named_figures(study: Study, problems: Sequence[str] = ()) -> list[Named]:
    """List the figures of a study, of the problems that are named, or of all.

    One for each problem, with what each population size reaches, or one for all of them where there are budgets; and
    one for each problem with how its runs went. No two have the same name, whichever are drawn.
    """
    known = [problem.name for problem in study.problems]
    for name in problems:
        if name not in known:
            raise ValueError(unknown("problem of the study", name, known))
    figures = [Named(_free_name("anytime", []), None, converging=False)] if study.budgets else []
    for converging in (True,) if study.budgets else (False, True):
        for problem in study.problems:
            plain = f"{file_name(problem.name, most=56)}-convergence" if converging else file_name(problem.name)
            figures.append(Named(_free_name(plain, figures), problem, converging))
    return [one for one in figures if one.problem is None or not problems or one.problem.name in problems]


def draw_figures(snapshot: Snapshot, problems: Sequence[str] = ()) -> Iterator[tuple[str, Figure]]:
    """Draw the figures of a study, one after the other, and give each with the name of its files."""
    for one in named_figures(snapshot.study, problems):
        if one.problem is None:
            yield one.name, draw_budgets(analyse_budgets(snapshot.study, snapshot.runs), problems)
        elif one.converging:
            yield one.name, draw_convergence(snapshot, one.problem)
        else:
            yield one.name, draw_sizes(snapshot.study, snapshot.runs, one.problem)


def check_figures(study: Study, folder: Path, called: str | None = None) -> None:
    """Check that figures can be drawn and written to a folder, whatever users call it; it is made if it is missing."""
    find_matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"expected a folder to write to at {called or folder}, but it cannot be made: {error.strerror}"
        ) from error
    for one in named_figures(study):
        for form, file in figure_files(folder / one.name).items():
            check_place(file, FIGURES[form])


def file_name(name: str, most: int = 60) -> str:
    """Give a name that every file system takes, without an ending: a letter may take four of its 255 bytes."""
    plain = re.sub(r"[^\w.]+|_+", "-", name.replace("=", "")).strip("-.")
    return plain[:most] or "figure"


def _free_name(name: str, taken: Sequence[Named]) -> str:
    """Give a name with a number where it is taken: two problems may stand for one file."""
    used = {one.name.lower() for one in taken}
    numbered = chain([name], (f"{name}-{times}" for times in count(2)))
    return next(one for one in numbered if one.lower() not in used)
