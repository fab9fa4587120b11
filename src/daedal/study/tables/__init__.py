"""The table of a study as the paper prints it: as Markdown, as LaTeX, and flat for other programs."""

from __future__ import annotations

from daedal.study.tables.content import problem_title
from daedal.study.tables.flat import ROW_COLUMNS, SIZE_COLUMNS, flat_rows, flat_sizes
from daedal.study.tables.latex import latex
from daedal.study.tables.markdown import markdown, sizes_markdown

__all__ = [
    "ROW_COLUMNS",
    "SIZE_COLUMNS",
    "flat_rows",
    "flat_sizes",
    "latex",
    "markdown",
    "problem_title",
    "sizes_markdown",
]
