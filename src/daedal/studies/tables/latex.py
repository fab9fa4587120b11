"""Tables as LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from daedal.settings.checks import printable
from daedal.studies.analysis import Row
from daedal.studies.plan import LEVELS
from daedal.studies.published import PublishedTable
from daedal.studies.rank_tests import Test
from daedal.studies.tables.content import LEFT, NONE, OPEN, OTHER, Cell, of_rows
from daedal.studies.tables.legend import legend_of
from daedal.studies.tables.sheets import Group, Sheet, side_by_side

_LATEX: dict[str, str] = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "_&%#{}$"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # this and the next two come out as other signs in LaTeX's old encoding
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # or a name that begins with it would be an argument of the rule above it
    "]": "{]}",
    NONE: r"\textendash{}",
    OPEN: r"\dots{}",
    OTHER: r"\dag{}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
}
_ACCENTS = {chr(number) for number in (*range(0x300, 0x305), 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x327)}
_LETTERS = "ßæøœłıÆØŒŁ"
_LINES_OF_A_PAGE = 60
_HINT = r"% Written by daedal. \input it in a document with \usepackage{booktabs,graphicx}."


def latex(
    rows: Sequence[Row], *, published: PublishedTable | None = None, test: Test = "signed-rank", correct: bool = False
) -> str:
    r"""Write the table as LaTeX to be \input: one table*, or several where it is longer than a page.

    The paper's numbers are shown with those of the same problem and algorithm; `test` and `correct` say how the stars
    were found, for the legend.
    """
    published = of_rows(rows, published)
    caption = _escaped(" ".join(legend_of(rows, published, test, correct)))
    parts = [_HINT]
    for number, page in enumerate(_pages(side_by_side(rows, published).groups)):
        parts.append(_latex_page(page, "Continued." if number else caption))
    return "\n".join(parts) + "\n"


def _pages(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Spread problems over pages."""
    page: list[Group] = []
    for group in groups:
        if page and sum(len(one.lines) for one in (*page, group)) > _LINES_OF_A_PAGE:
            yield page
            page = []
        page.append(group)
    yield page


def _latex_page(groups: Sequence[Group], caption: str) -> str:
    across = 5 * len(LEVELS)  # a popsize, and two numbers of two columns each
    ends = range(7, 3 + across, 5)
    numbers = [False, False, *[False, True, True] * len(LEVELS)]
    titles = " & ".join(["popsize", *(rf"\multicolumn{{2}}{{c}}{{{name}}}" for name in ("evaluations", "CPU s"))])
    heading = [
        "& " + "".join(rf"& \multicolumn{{5}}{{c}}{{$\geq$ {level}\,\% of runs solved}} " for level in LEVELS) + r"\\",
        "".join(rf"\cmidrule(lr){{{end - 4}-{end}}}" for end in ends),
        " & ".join(["Problem", "Algorithm", *[titles] * len(LEVELS)]) + r" \\",
    ]
    return _latex_table(f"ll{'rr@{}lr@{}l' * len(LEVELS)}", heading, groups, numbers, caption)


def sheet_latex(sheet: Sheet, legend: Sequence[str]) -> str:
    r"""Write a sheet with a column of problems as LaTeX to be \input, with its legend as caption."""
    cells = zip(*(line for group in sheet.groups for line in group.lines), strict=True)
    numbers = [any(cell.sd for cell in column) for column in cells] or [False] * len(sheet.columns)
    widths = zip(sheet.columns, numbers, strict=True)
    layout = "".join("l" if column.title in LEFT else "r@{}l" if two else "r" for column, two in widths)
    titles = [
        rf"\multicolumn{{2}}{{c}}{{{_escaped(column.title)}}}" if two else _escaped(column.title)
        for column, two in zip(sheet.columns, numbers, strict=True)
    ]
    heading = [" & ".join(titles) + r" \\"]
    parts = [_HINT]
    for number, page in enumerate(_pages(sheet.groups)):
        caption = "Continued." if number else _escaped(" ".join(legend))
        parts.append(_latex_table(layout, heading, page, numbers, caption))
    return "\n".join(parts) + "\n"


def _latex_table(
    layout: str, heading: Sequence[str], groups: Sequence[Group], numbers: Sequence[bool], caption: str
) -> str:
    """Put a table together; columns of numbers, see `_latex_cells`, are two in the layout."""
    body = [[" & ".join(map(_latex_cells, line, numbers)) + r" \\" for line in group.lines] for group in groups]
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\scriptsize\setlength{\tabcolsep}{2.5pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            *heading,
            *(line for lines in body for line in (r"\midrule", *lines)),
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{caption}}}",
            r"\end{table*}",
        ]
    )


def _latex_cells(cell: Cell, numbers: bool) -> str:
    """Write a cell; numbers take two columns, so that they line up at the sign between them."""
    text = _escaped(cell.text + "*" * cell.star)
    text = rf"\textbf{{{text}}}" if cell.star else text
    text = rf"\textit{{{text}}}" if text and cell.style == "dim" else text
    sd = rf"\,$\pm${_escaped(cell.sd)}" if cell.sd else ""
    return f"{text} & {sd}" if numbers else text


def _escaped(text: str) -> str:
    escaped = "".join(_LATEX.get(sign) or _known(sign) for sign in unicodedata.normalize("NFC", printable(text)))
    return re.sub("-(?=-)", "-{}", escaped)  # or two would become a dash


def _known(sign: str) -> str:
    """Give a sign that LaTeX knows without further packages: ASCII, Latin letters with accents, or else its number."""
    apart = unicodedata.normalize("NFD", sign)
    is_latin = apart[0].isascii() and {*apart[1:]} <= _ACCENTS
    if is_latin or sign in _LETTERS:
        return sign
    return rf"\texttt{{U+{ord(sign):04X}}}"
