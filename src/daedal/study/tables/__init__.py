"""The table of a study as the paper prints it: as Markdown, as LaTeX, and flat for other programs."""

from __future__ import annotations

from daedal.study.tables.budgets import budget_latex, budget_markdown
from daedal.study.tables.content import problem_title
from daedal.study.tables.flat import BUDGET_COLUMNS, ROW_COLUMNS, SIZE_COLUMNS, flat_budgets, flat_rows, flat_sizes
from daedal.study.tables.latex import latex
from daedal.study.tables.markdown import markdown, sizes_markdown

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
