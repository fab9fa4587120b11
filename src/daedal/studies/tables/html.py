"""Tables as HTML; everything in them is text, whatever a name says."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby

from daedal.settings.checks import printable
from daedal.studies.tables.content import LEFT, Cell
from daedal.studies.tables.sheets import Sheet

_STYLE = (
    ".daedal-study table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".daedal-study .scroll{overflow:auto;max-height:32em}"
    ".daedal-study th,.daedal-study td{padding:2px 9px;text-align:left;white-space:nowrap}"
    ".daedal-study tbody{border-top:1px solid #8886}"
    ".daedal-study .number{text-align:right}.daedal-study th[scope=colgroup]{text-align:center}"
    ".daedal-study .soft{opacity:.7}.daedal-study .bad{color:#a06000}.daedal-study .strong{font-weight:600}"
    ".daedal-study p{margin:2px 9px;font-size:.85em}"
)
_KINDS = {"bold": "strong", "dim": "soft", "yellow": "bad"}


def sheet_markup(sheet: Sheet) -> str:
    """Write a sheet as a table, one body for each problem; titles stand above their group where it wants that."""
    left = [column.title in LEFT for column in sheet.columns]
    over = ""
    if any(column.over for column in sheet.columns):
        spans = [(name, len(list(of_name))) for name, of_name in groupby(sheet.columns, key=lambda column: column.over)]
        over = "".join(f'<th colspan="{count}" scope="colgroup">{escaped(name)}</th>' for name, count in spans)
    titles = "".join(
        f"<th scope=col{_class('' if names else 'number')}>{escaped(column.title)}</th>"
        for column, names in zip(sheet.columns, left, strict=True)
    )
    head = f"<thead>{f'<tr>{over}</tr>' if over else ''}<tr>{titles}</tr></thead>"
    bodies = []
    for group in sheet.groups:
        lines = [
            "".join(_cell(cell, is_name) for cell, is_name in zip(line, left, strict=True)) for line in group.lines
        ]
        title = " ".join(filter(None, group.title))
        above = f'<tr><th colspan="{len(left)}" scope="rowgroup">{escaped(title)}</th></tr>' if sheet.headed else ""
        bodies.append(f"<tbody>{above}{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody>")
    return f'<div class="scroll" tabindex="0"><table class="study">{head}{"".join(bodies)}</table></div>'


def _cell(cell: Cell, is_name: bool) -> str:
    text = f"<strong>{escaped(cell.text)}</strong>*" if cell.star else escaped(cell.text)
    text += f" <small>± {escaped(cell.sd)}</small>" if cell.sd else ""
    kinds = [*([] if is_name else ["number"]), *([_KINDS[cell.style]] if cell.style in _KINDS else [])]
    return f"<td{_class(' '.join(kinds))}>{text}</td>"


def _class(kinds: str) -> str:
    return f' class="{kinds}"' if kinds else ""


def sheet_html(sheet: Sheet, legend: Sequence[str]) -> str:
    """Write a sheet as a table that needs no other page's style, and its legend below."""
    notes = "".join(f'<p class="soft">{escaped(sentence)}</p>' for sentence in legend)
    return f'<div class="daedal-study"><style>{_STYLE}</style>{sheet_markup(sheet)}{notes}</div>'


def escaped(text: str) -> str:
    """Write a text of a user so that a browser shows it, and obeys nothing in it."""
    return html.escape(printable(text))
