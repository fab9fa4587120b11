"""HTML out of texts that nobody has checked: what is shown is data, and never markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from daedal.settings.checks import printable


def escaped(value: object) -> str:
    """Write a text in one line as HTML that shows it as it is.

    Examples
    --------
    >>> escaped("<b>&")
    '&lt;b&gt;&amp;'
    """
    return html.escape(printable(str(value)))


def drawn(value: object, most: int = 200) -> str:
    """Write a text for a figure: Plotly reads some markup, and knows few names of signs; long ones are cut.

    Examples
    --------
    >>> drawn('<b>"x"', most=4)
    '&lt;b&gt;…'
    """
    text = printable(str(value))
    return html.escape(text if len(text) <= most else f"{text[: most - 1]}…", quote=False)


def paragraph(text: object, *, kind: str = "") -> str:
    """Give a paragraph of plain text; `kind` is a class of the style sheet."""
    return f"<p{_kind(kind)}>{escaped(text)}</p>"


def bullets(texts: Iterable[object], *, kind: str = "") -> str:
    """Give a list of plain texts."""
    return f"<ul{_kind(kind)}>{''.join(f'<li>{escaped(text)}</li>' for text in texts)}</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "") -> str:
    """Give a table, which scrolls by itself where it is wide; the cells are HTML already, the header is not."""
    head = "".join(f"<th scope=col>{escaped(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f'<div class="scroll" tabindex="0"><table{_kind(kind)}>{top}<tbody>{body}</tbody></table></div>'


def named_values(values: Iterable[tuple[str, object]], *, kind: str = "names") -> str:
    """Give a table of two columns, names and values."""
    rows = "".join(f"<tr><th scope=row>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in values)
    return f'<div class="scroll" tabindex="0"><table{_kind(kind)}><tbody>{rows}</tbody></table></div>'


def folded(name: str, summary: str, inner: str) -> str:
    """Give HTML that is seen after a click; by its name the page knows again what was open."""
    return f'<details data-name="{name}"><summary>{escaped(summary)}</summary>{inner}</details>'


def _kind(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
