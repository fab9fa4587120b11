"""Writers of tables: Markdown, LaTeX and HTML for readers, CSV, JSON and Parquet for programs."""

from __future__ import annotations

import csv
import html
import importlib
import io
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from daedal.settings.checks import printable, storable, visible
from daedal.settings.lazy import missing_extra
from daedal.settings.parameters import unknown

NONE, OPEN, UNKNOWN, OTHER = "\N{EN DASH}", "…", "n/a", "†"
"""Signs in tables, which their legends explain."""

LEFT = ("Problem", "Algorithm")
"""Titles of the columns that are aligned to the left."""


# ------------------------------------------------------------ tables for readers


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A text, or a mean and its deviation, which a column aligns at the sign between them."""

    text: str = ""
    sd: str = ""
    star: bool = False
    style: str = ""


EMPTY = Cell()


class Heading(NamedTuple):
    """The title of a column, and how easily narrow terminals do without it; 0: never."""

    title: str
    spare: int = 0


class Group(NamedTuple):
    """The lines of one problem, and its title: the name, and what it is."""

    title: tuple[str, str]
    lines: list[list[Cell]]

    def titled(self) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the lines, the first one with the title."""
        yield from zip([" ".join(filter(None, self.title)), *[""] * len(self.lines)], self.lines, strict=False)


class Sheet(NamedTuple):
    """A table for readers, and sentences that explain it."""

    columns: list[Heading]
    groups: list[Group]
    legend: Sequence[str] = ()


def markdown(sheet: Sheet) -> str:
    """Return a table as Markdown."""
    titles = ["Problem", *(column.title for column in sheet.columns)]
    lines = [titles, [":--" if title in LEFT else "--:" for title in titles]]
    for group in sheet.groups:
        lines += [[_marked_down(title), *map(_markdown_cell, line)] for title, line in group.titled()]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return table + "\n" + "\n\n".join(map(_marked_down, sheet.legend)) + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = rf"**{cell.text}**\*" if cell.star else _marked_down(cell.text)
    return f"{text} ± {_marked_down(cell.sd)}" if cell.sd else text


def _marked_down(text: str) -> str:
    """Put a backslash before what Markdown would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", printable(text))


_STYLE = (
    ".daedal-study table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".daedal-study .scroll{overflow:auto;max-height:32em}"
    ".daedal-study th,.daedal-study td{padding:2px 9px;text-align:left;white-space:nowrap}"
    ".daedal-study tbody{border-top:1px solid #8886}.daedal-study .number{text-align:right}"
    ".daedal-study .soft{opacity:.7}.daedal-study .bad{color:#a06000}"
    ".daedal-study p{margin:2px 9px;font-size:.85em}"
)
_CLASSES = {"dim": "soft", "yellow": "bad"}


def to_html(sheet: Sheet) -> str:
    """Return a table as HTML with its legend. Names in it are shown and never obeyed."""
    notes = "".join(f'<p class="soft">{escaped(sentence)}</p>' for sentence in sheet.legend)
    return f'<div class="daedal-study"><style>{_STYLE}</style>{markup(sheet)}{notes}</div>'


def markup(sheet: Sheet) -> str:
    """Return a table as HTML, without its legend and style."""
    left = [column.title in LEFT for column in sheet.columns]
    titles = [
        f"<th scope=col{'' if is_left else ' class=number'}>{escaped(column.title)}</th>"
        for column, is_left in zip(sheet.columns, left, strict=True)
    ]
    bodies = []
    for group in sheet.groups:
        title = escaped(" ".join(filter(None, group.title)))
        lines = ["".join(map(_html_cell, line, left)) for line in group.lines]
        head = f'<tr><th colspan="{len(left)}" scope="rowgroup">{title}</th></tr>'
        bodies.append(f"<tbody>{head}{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>")
    table = f'<table class="study"><thead><tr>{"".join(titles)}</tr></thead>{"".join(bodies)}</table>'
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _html_cell(cell: Cell, is_left: bool) -> str:
    text = f"<strong>{escaped(cell.text)}</strong>*" if cell.star else escaped(cell.text)
    text += f" <small>± {escaped(cell.sd)}</small>" if cell.sd else ""
    classes = " ".join([*([] if is_left else ["number"]), *filter(None, [_CLASSES.get(cell.style)])])
    return f'<td class="{classes}">{text}</td>'


def escaped(text: str) -> str:
    """Write a text of a user so that a browser shows it, and obeys nothing in it."""
    return html.escape(printable(text))


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


def latex(sheet: Sheet) -> str:
    r"""Return a table as LaTeX to be \input."""
    cells = [line for group in sheet.groups for line in group.lines]
    columns = [(one.title, any(line[place].sd for line in cells)) for place, one in enumerate(sheet.columns)]
    titles = [rf"\multicolumn{{2}}{{c}}{{{_escaped(title)}}}" if two else _escaped(title) for title, two in columns]
    layout = "".join("r@{}l" if two else "l" if title in LEFT else "r" for title, two in columns)
    body = []
    for group in sheet.groups:
        body.append(r"\midrule")
        for title, line in group.titled():
            written = (_latex_cell(cell, two) for cell, (_, two) in zip(line, columns, strict=True))
            body.append(" & ".join([_escaped(title), *written]) + r" \\")
    return "\n".join(
        [
            r"% Written by daedal. \input it in a document with \usepackage{booktabs,longtable}.",
            r"{\scriptsize\setlength{\tabcolsep}{2.5pt}",
            rf"\begin{{longtable}}{{l{layout}}}",
            rf"\caption{{{_escaped(' '.join(sheet.legend))}}}\\",
            r"\toprule",
            " & ".join(["Problem", *titles]) + r" \\",
            r"\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}}",
            "",
        ]
    )


def _latex_cell(cell: Cell, wide: bool) -> str:
    """Write a cell; a mean and its deviation take two columns, so that they are aligned at the sign between them."""
    text = _escaped(cell.text + "*" * cell.star)
    text = rf"\textbf{{{text}}}" if cell.star else rf"\textit{{{text}}}" if text and cell.style == "dim" else text
    sd = rf"\,$\pm${_escaped(cell.sd)}" if cell.sd else ""
    return f"{text} & {sd}" if wide else text


def _escaped(text: str) -> str:
    """Escape what LaTeX obeys; a letter that it may not know without further packages becomes its number."""
    letters = unicodedata.normalize("NFC", printable(text))
    return re.sub("-(?=-)", "-{}", "".join(map(_letter, letters)))  # or two would become a dash


def _letter(one: str) -> str:
    is_known = one.isascii() or ("À" <= one <= "ÿ" and unicodedata.decomposition(one))  # a letter with an accent
    return _LATEX.get(one) or (one if is_known else rf"\texttt{{U+{ord(one):04X}}}")


# ------------------------------------------------------------ files for programs

FORMATS = ("csv", "json", "parquet")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # and the wide ones, which some spreadsheets know
_ARROW = {bool: "bool_", int: "int64", float: "float64", str: "string"}


def export(rows: Iterable[Mapping[str, Any]], form: str, columns: Mapping[str, type]) -> Iterator[bytes]:
    r"""Yield rows piece by piece in a format: csv, json (one array) or parquet.

    The columns have names and types (bool, int, float or str) that do not depend on the rows. Any value may be None.

    Examples
    --------
    >>> b"".join(export([{"seed": 1, "best": 2.5}], "csv", {"seed": int, "best": float}))
    b'seed,best\r\n1,2.5\r\n'
    """
    writers = {"csv": _csv, "json": _json, "parquet": _parquet}
    if form not in writers:
        raise ValueError(unknown("format", form, FORMATS))
    return writers[form](rows, columns)


def _csv(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    def line(cells: Iterable[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        return text.getvalue().encode()

    yield line(columns)
    for row in rows:
        yield line(map(_csv_cell, row.values()))


def _csv_cell(value: Any) -> Any:
    """Keep a text from being obeyed: by a terminal, or by a spreadsheet, which computes what begins like a formula."""
    if not isinstance(value, str):
        return value
    text = "\n".join(map(visible, value.split("\n")))  # a cell may have several lines
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _json(rows: Iterable[Mapping[str, Any]], _: Mapping[str, type]) -> Iterator[bytes]:
    """Write one array, one row per line; infinity and nan, which JSON does not have, become null."""
    yield b"["
    for index, row in enumerate(rows):
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        yield (b",\n" if index else b"\n") + json.dumps(finite, allow_nan=False).encode()
    yield b"\n]\n"


def _parquet(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise missing_extra("Parquet needs pyarrow", "parquet") from error
    buffer = io.BytesIO()
    schema = arrow.schema([(name, getattr(arrow, _ARROW[kind])()) for name, kind in columns.items()])
    encodable = [
        {name: storable(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    parquet.write_table(arrow.Table.from_pylist(encodable, schema=schema), buffer)
    yield buffer.getvalue()
