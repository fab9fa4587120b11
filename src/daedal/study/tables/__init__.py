"""The table of a study as the paper prints it: on a terminal, as Markdown, as LaTeX, and flat for other programs."""

from __future__ import annotations

from daedal.study.tables.content import problem_title
from daedal.study.tables.flat import ROW_COLUMNS, SIZE_COLUMNS, flat_rows, flat_sizes
from daedal.study.tables.latex_form import latex, latex_document
from daedal.study.tables.markdown_form import markdown, sizes_markdown
from daedal.study.tables.terminal import rich_table, sizes_table

__all__ = [
    "ROW_COLUMNS",
    "SIZE_COLUMNS",
    "flat_rows",
    "flat_sizes",
    "latex",
    "latex_document",
    "markdown",
    "problem_title",
    "rich_table",
    "sizes_markdown",
    "sizes_table",
]
