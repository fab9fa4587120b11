"""The table of a study as the paper prints it: as Markdown, as LaTeX, and flat for other programs."""

from __future__ import annotations

from daedal.studies.tables.budgets import budget_latex, budget_markdown
from daedal.studies.tables.content import problem_title
from daedal.studies.tables.flat import BUDGET_COLUMNS, ROW_COLUMNS, SIZE_COLUMNS, flat_budgets, flat_rows, flat_sizes
from daedal.studies.tables.latex import latex
from daedal.studies.tables.markdown import markdown, sizes_markdown

__all__ = [
    "BUDGET_COLUMNS",
    "ROW_COLUMNS",
    "SIZE_COLUMNS",
    "budget_latex",
    "budget_markdown",
    "flat_budgets",
    "flat_rows",
    "flat_sizes",
    "latex",
    "markdown",
    "problem_title",
    "sizes_markdown",
]
