"""The page of a study: its table, its figures, and the runs that failed."""

from __future__ import annotations

from collections.abc import Callable

from daedal import __version__
from daedal.plot.figure import Figure
from daedal.plot.studies import convergence, costs, sizes
from daedal.report.markup import escaped, folded, paragraph, table
from daedal.report.page import Page, Part, Section
from daedal.settings.checks import counted
from daedal.studies.plan import Status
from daedal.studies.snapshot import Snapshot, failed_runs
from daedal.studies.spec import StudyProblem
from daedal.studies.tables import StudyTable, problem_title
from daedal.studies.writers import markup

_FAILURES_SHOWN, _FAILURES_KEPT = 10, 1000


def study_page(snapshot: Snapshot) -> Page:
    """Return the page of a study."""
    study = snapshot.study
    status = snapshot.status()
    name = "Study" if snapshot.path is None else snapshot.path.name
    sections = [Section("table", "Results", [*_standing(status, bool(study.budgets)), *_table(snapshot)])]
    sections.append(_figures(snapshot, "sizes", "Budgets" if study.budgets else "Population sizes", sizes))
    if not study.budgets:
        said = "Each point is a population size. Bars show one standard deviation, and open markers show missing runs."
        sections.append(_figures(snapshot, "costs", "Best value and cost", costs, said))
    sections.append(_figures(snapshot, "convergence", "Convergence", convergence))
    if failed := _failures(snapshot):
        sections.append(Section("failures", "Failed runs", failed))
    head = f"<h1>{escaped(name)}</h1>{paragraph(_described(snapshot))}"
    return Page(title=name, head=head, sections=sections)


def _figures(
    snapshot: Snapshot,
    name: str,
    title: str,
    draw: Callable[[Snapshot, StudyProblem], Figure | None],
    said: str = "",
) -> Section:
    """Return a section with a figure for each problem that has runs."""
    parts: list[Part] = [paragraph(said)] if said else []
    for number, problem in enumerate(snapshot.study.problems):
        if (figure := draw(snapshot, problem)) is not None:
            heading = escaped(" ".join(filter(None, problem_title(problem))))
            parts += [f"<h3>{heading}</h3>", Figure(name=f"{name}-{number}", panels=figure.panels)]
    return Section(name, title, parts if len(parts) > bool(said) else [paragraph("No run has ended yet.", kind="soft")])


def _described(snapshot: Snapshot) -> str:
    study = snapshot.study
    counts = f"{counted(len(study.problems), 'problem')}, {counted(len(study.algorithms), 'algorithm')}"
    is_grid = bool(study.budgets) or snapshot.full_grid
    runs = f"{'' if is_grid else 'up to '}{counted(study.runs, 'run')} of each, from seed {study.seed}"
    text = f"{counts}, {runs}, daedal {__version__}."
    if not is_grid:
        text += " The study skips further runs of a population size once its result is certain."
    if snapshot.others:
        text += f" This is study {snapshot.number} of the store, which has others."
    return text


def _standing(status: Status, has_budgets: bool) -> list[Part]:
    """Say how many runs have ended."""
    done, failed, killed, left = (status.total(name) for name in ("done", "failed", "killed", "left"))
    others = [f"{count:,} {name}" for name, count in (("failed", failed), ("killed", killed)) if count]
    ended = ", ".join([f"{counted(done, 'run')} done", *others])
    ahead = f"{'' if has_budgets else 'at least '}{left:,} left." if left else "none left: the study is complete."
    return [paragraph(f"{ended}, {ahead}")]


def _table(snapshot: Snapshot) -> list[Part]:
    sheet = StudyTable.of(snapshot).sheet()
    return [markup(sheet), *(paragraph(sentence, kind="soft small") for sentence in sheet.legend)]


def _failures(snapshot: Snapshot) -> list[Part]:
    failed = failed_runs(snapshot)
    if not failed:
        return []
    rows = []
    for cell, run in failed[:_FAILURES_KEPT]:
        size = cell.popsize if cell.budget is None else cell.budget
        texts = (
            cell.problem.name,
            cell.algorithm.name,
            "" if size is None else f"{size:,}",
            run.seed,
            run.status,
            run.error or "",
        )
        rows.append([escaped(text) for text in texts])
    columns = ("problem", "algorithm", "budget" if snapshot.study.budgets else "popsize", "seed", "status", "error")
    parts: list[Part] = [paragraph(f"{counted(len(failed), 'run')} failed."), table(columns, rows[:_FAILURES_SHOWN])]
    if (more := len(rows) - _FAILURES_SHOWN) > 0:
        parts.append(folded("failures", f"{more:,} more", table(columns, rows[_FAILURES_SHOWN:])))
    if len(failed) > len(rows):
        parts.append(paragraph("To see all of them, use daedal study export.", kind="soft small"))
    return parts
