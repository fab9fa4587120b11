"""The page of a study."""

from __future__ import annotations

from daedal import __version__
from daedal.report.markup import escaped, folded, paragraph, table
from daedal.report.page import Page, Part, Section
from daedal.report.study_figures import anytime_figures, budget_figures, runtime_figures, size_figures
from daedal.settings.checks import counted
from daedal.studies.analysis import analyse
from daedal.studies.budgets import analyse_budgets
from daedal.studies.paper import published
from daedal.studies.plan import Status, study_status
from daedal.studies.snapshot import Snapshot, failed_runs
from daedal.studies.tables import budget_legend, budget_sheet, legend_of, of_rows, sheet_markup, side_by_side

_FAILURES_SHOWN, _FAILURES_KEPT = 10, 1000


def study_page(snapshot: Snapshot) -> Page:
    """Lay out the page of a study: the table first, then what each population size brings, then how runs went."""
    study = snapshot.study
    status = study_status(study, snapshot.runs, confirm=snapshot.confirm, full_grid=snapshot.full_grid)
    name = "A study" if snapshot.path is None else snapshot.path.name
    ways = "budgets" if study.budgets else "population sizes"
    sizes = budget_figures(snapshot) if study.budgets else size_figures(snapshot)
    none = paragraph("No run has ended yet.", kind="soft")
    unknown = paragraph("No optimum or target is known, so nobody can tell what is solved.", kind="soft")
    unsolved = unknown if status.total("done") else none
    sections = [
        Section("table", "The table", [*_standing(status, bool(study.budgets)), *_table(snapshot)]),
        Section("sizes", f"What {ways} bring", sizes or [none]),
        Section("runtime", "When problems are solved", runtime_figures(snapshot) or [unsolved]),
        Section("anytime", "How the best value grows", anytime_figures(snapshot) or [none]),
    ]
    if failed := _failures(snapshot):
        sections.append(Section("failures", "What failed", failed))
    head = f"<h1>{escaped(name)}</h1>{paragraph(_described(snapshot))}"
    return Page(title=name, head=head, sections=sections)


def _described(snapshot: Snapshot) -> str:
    study = snapshot.study
    counts = f"{counted(len(study.problems), 'problem')}, {counted(len(study.algorithms), 'algorithm')}"
    which = f"; study {snapshot.number} of this store, which has others" if snapshot.others else ""
    all_made = bool(study.budgets) or snapshot.full_grid
    some = "" if all_made else "up to "
    left = "" if all_made else "; a size is left once the answer is certain"
    runs = f"{some}{counted(study.runs, 'run')} of each, from seed {study.seed}{left}"
    return f"{counts}, {runs}{which}; daedal {__version__}"


def _standing(status: Status, budgeted: bool) -> list[Part]:
    """Say how far the study is."""
    done, failed, killed, left = (status.total(name) for name in ("done", "failed", "killed", "left"))
    ended = f"{counted(done, 'run')} done"
    ended += f", {failed:,} failed" if failed else ""
    ended += f", {killed:,} killed" if killed else ""
    ahead = f"{'' if budgeted else 'at least '}{left:,} left." if left else "none left: the study is complete."
    return [paragraph(f"{ended}, {ahead}")]


def _table(snapshot: Snapshot) -> list[Part]:
    study, runs = snapshot.study, snapshot.runs
    if study.budgets:
        lines = analyse_budgets(study, runs)
        return [sheet_markup(budget_sheet(lines)), *map(_legend, budget_legend(lines, "signed-rank", False))]
    rows = analyse(study, runs, confirm=snapshot.confirm)
    paper = of_rows(rows, published())
    return [sheet_markup(side_by_side(rows, paper)), *map(_legend, legend_of(rows, paper, "signed-rank", False))]


def _legend(sentence: str) -> str:
    return paragraph(sentence, kind="soft small")


def _failures(snapshot: Snapshot) -> list[Part]:
    failed = failed_runs(snapshot)
    if not failed:
        return []
    of_what = "budget" if snapshot.study.budgets else "popsize"
    rows = [
        [
            escaped(one.problem.name),
            escaped(one.algorithm.name),
            "" if (size := one.budget if one.budget is not None else one.popsize) is None else f"{size:,}",
            str(one.seed),
            escaped(one.status),
            escaped(one.error),
        ]
        for one in failed[:_FAILURES_KEPT]
    ]
    said = paragraph(f"{counted(len(failed), 'run')} did not end well.")
    columns = ("problem", "algorithm", of_what, "seed", "", "error")
    parts: list[Part] = [said, table(columns, rows[:_FAILURES_SHOWN])]
    if (more := len(rows) - _FAILURES_SHOWN) > 0:
        parts.append(folded("failures", f"{more:,} more", table(columns, rows[_FAILURES_SHOWN:])))
    if len(failed) > len(rows):
        parts.append(paragraph("daedal study export has all of them.", kind="soft small"))
    return parts
