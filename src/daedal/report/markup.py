"""HTML from unchecked texts: they are shown as they are, and never become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from daedal.plot.svg import escaped as escaped


def paragraph(text: object, *, kind: str = "") -> str:
    """Return a paragraph of plain text; `kind` is a class of the style sheet."""
    return f"<p{_kind(kind)}>{escaped(text)}</p>"


def bullets(texts: Iterable[object]) -> str:
    """Return a list of plain texts."""
    return f"<ul>{''.join(f'<li>{escaped(text)}</li>' for text in texts)}</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "") -> str:
    """Return a table that scrolls if it is wide; its cells are HTML already, its header is not."""
    head = "".join(f"<th scope=col>{escaped(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll" tabindex="0"><table{_kind(kind)}>{inner}</table></div>'


def named_values(pairs: Iterable[tuple[object, object]]) -> str:
    """Return a table of names and values, which are plain texts."""
    rows = "".join(f"<tr><th scope=row>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in pairs)
    return f'<div class="scroll" tabindex="0"><table class="names"><tbody>{rows}</tbody></table></div>'


def folded(name: str, summary: str, inner: str) -> str:
    """Return HTML that opens after a click; the page finds it by its name when it updates itself."""
    return f'<details data-name="{name}"><summary>{escaped(summary)}</summary>{inner}</details>'


def _kind(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
