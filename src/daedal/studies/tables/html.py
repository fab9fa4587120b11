"""Tables as HTML; everything in them is text, whatever a name says."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby

from daedal.settings.texts import printable
from daedal.studies.tables.content import LEFT, Cell
from daedal.studies.tables.sheets import Sheet

_LOOKS = {"dim": "opacity:.65", "yellow": "color:#a06000", "bold": "font-weight:600"}
_CELL = "padding:2px 9px;white-space:nowrap"


def sheet_html(sheet: Sheet, legend: Sequence[str]) -> str:
    """Write a sheet with a column of problems as a table, and its legend below."""
    rule = "border-top:1px solid #8886;"
    lines = [_overs(sheet)] if any(column.over for column in sheet.columns) else []
    lines.append("".join(_cell("th", Cell(text=one.title), one.title in LEFT) for one in sheet.columns))
    body = [f"<tr>{line}</tr>" for line in lines]
    left = [column.title in LEFT for column in sheet.columns]
    for group in sheet.groups:
        for number, line in enumerate(group.lines):
            cells = "".join(_cell("td", cell, on_left) for cell, on_left in zip(line, left, strict=True))
            body.append(f'<tr style="{"" if number else rule}">{cells}</tr>')
    notes = "".join(f'<div style="opacity:.7;font-size:.85em">{escaped(sentence)}</div>' for sentence in legend)
    table = f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{"".join(body)}</table>'
    return f'<div style="overflow-x:auto">{table}</div>{notes}'


def escaped(text: str) -> str:
    """Write a text of a user so that a browser shows it, and obeys nothing in it."""
    return html.escape(printable(text))


def _overs(sheet: Sheet) -> str:
    """Give the line above the titles, each text of it across its columns."""
    parts = []
    for over, across in groupby(sheet.columns, key=lambda column: column.over):
        parts.append(f'<th colspan="{len(list(across))}" style="{_CELL};text-align:center">{escaped(over)}</th>')
    return "".join(parts)


def _cell(tag: str, cell: Cell, on_left: bool) -> str:
    text = f"<b>{escaped(cell.text)}*</b>" if cell.star else escaped(cell.text)
    sd = f" ± {escaped(cell.sd)}" if cell.sd else ""
    look = _LOOKS.get(cell.style, "")
    return f'<{tag} style="{_CELL};text-align:{"left" if on_left else "right"};{look}">{text}{sd}</{tag}>'
