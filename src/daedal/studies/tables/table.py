"""The table of a study, whichever it is, in every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daedal.studies.analysis import Row, Runs, analyse
from daedal.studies.budgets import BudgetRow, analyse_budgets
from daedal.studies.export import export
from daedal.studies.frames import frame_of
from daedal.studies.published import published
from daedal.studies.rank_tests import Test
from daedal.studies.spec import Study
from daedal.studies.tables.budgets import budget_latex, budget_legend, budget_markdown, budget_sheet
from daedal.studies.tables.content import of_rows, problem_title, size_lines
from daedal.studies.tables.flat import BUDGET_COLUMNS, ROW_COLUMNS, SIZE_COLUMNS, flat_budgets, flat_rows, flat_sizes
from daedal.studies.tables.html import sheet_html
from daedal.studies.tables.latex import latex
from daedal.studies.tables.legend import legend_of
from daedal.studies.tables.markdown import markdown, sizes_markdown
from daedal.studies.tables.sheets import Column, Group, Sheet, side_by_side, with_names, with_problems

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyTable:
    """The table of a study: the sizes that solve 50 and 90 % of the runs, or what each budget buys.

    Parameters
    ----------
    study, runs
        What is compared, and the runs of a store.
    confirm
        How many fresh seeds confirm each choice.
    test, holm
        Which test decides about the stars, and whether it is corrected for the number of pairs.
    sizes
        Whether each population size has a line instead.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(StudyTable(study=study, runs={}).markdown().splitlines()[2])
    | onemax:n=20 | umda | … | … | … | … | … | … |
    """

    study: Study
    runs: Runs
    confirm: int = 0
    test: Test = "signed-rank"
    holm: bool = False
    sizes: bool = False

    def __post_init__(self) -> None:
        if self.sizes and self.study.budgets:
            raise ValueError("expected a study that looks for population sizes with --sizes, got one with budgets")

    @cached_property
    def rows(self) -> list[Row]:
        """The lines of a study that looks for population sizes."""
        return analyse(self.study, self.runs, test=self.test, correct=self.holm, confirm=self.confirm)

    @cached_property
    def budget_rows(self) -> list[BudgetRow]:
        """The lines of a study with budgets."""
        return analyse_budgets(self.study, self.runs, test=self.test, correct=self.holm)

    @property
    def failed(self) -> int:
        """How many runs have failed."""
        return sum(row.failed for row in (self.budget_rows if self.study.budgets else self.rows))

    @property
    def unjudged(self) -> list[str]:
        """The problems of which nobody can tell whether a run solved them, where the table should say so."""
        if self.study.budgets or self.sizes:
            return []
        return list(dict.fromkeys(row.problem.name for row in self.rows if not row.judged))

    def markdown(self) -> str:
        """Give the table as Markdown."""
        if self.study.budgets:
            return budget_markdown(self.budget_rows, test=self.test, correct=self.holm)
        if self.sizes:
            return sizes_markdown(self.study, self.runs)
        return markdown(self.rows, published=published(), test=self.test, correct=self.holm)

    def latex(self) -> str:
        r"""Give the table as LaTeX to be \input."""
        if self.study.budgets:
            return budget_latex(self.budget_rows, test=self.test, correct=self.holm)
        if self.sizes:
            raise ValueError("expected --sizes with --format rich, markdown, csv or json, got --format latex")
        return latex(self.rows, published=published(), test=self.test, correct=self.holm)

    def html(self) -> str:
        """Give the table as HTML, with its legend; names in it are shown as they are and never obeyed."""
        if self.study.budgets:
            sheet = budget_sheet(self.budget_rows)
            legend = budget_legend(self.budget_rows, self.test, self.holm)
            return sheet_html(with_problems(sheet.columns, sheet.groups), legend)
        if self.sizes:
            return sheet_html(self._size_sheet(), [])
        known = of_rows(self.rows, published())
        sheet = side_by_side(self.rows, known, beside=known is not None)
        return sheet_html(sheet, legend_of(self.rows, known, self.test, self.holm))

    def csv(self) -> str:
        """Give the table as CSV: one row for each problem, algorithm and level, size or budget."""
        return b"".join(self.exported("csv")).decode()

    def json(self) -> str:
        """Give the same as JSON: an array of objects."""
        return b"".join(self.exported("json")).decode()

    def frame(self) -> DataFrame:
        """Give the same as a pandas data frame."""
        return frame_of(*self._flat())

    def exported(self, form: str) -> Iterator[bytes]:
        """Give the same in a format of `export`, piece by piece."""
        rows, columns = self._flat()
        return export(rows, form, columns)

    def _flat(self) -> tuple[list[dict[str, Any]], Mapping[str, type]]:
        if self.study.budgets:
            return flat_budgets(self.budget_rows), BUDGET_COLUMNS
        if self.sizes:
            return flat_sizes(self.study, self.runs), SIZE_COLUMNS
        return flat_rows(self.rows, published=published()), ROW_COLUMNS

    def _size_sheet(self) -> Sheet:
        names, found = size_lines(self.study, self.runs)
        groups = [Group(problem_title(problem), with_names(lines)) for problem, lines in found.items()]
        return with_problems([Column(name) for name in ("Algorithm", *names)], groups)
