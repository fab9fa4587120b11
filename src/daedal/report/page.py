"""A page: sections of text and figures, and the one HTML file that they become."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import TypeAlias

from daedal.report.markup import escaped
from daedal.settings.lazy import missing_extra
from daedal.storage.kinds import Kind
from daedal.types import Json

REPORT = Kind("a report", re.compile(rb"<!DOCTYPE html>\n<!-- A report, written by daedal\. -->"))
"""What a page is known by in a file."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of Plotly, by a name of its own on the page; `caption` is HTML."""

    name: str
    data: Sequence[dict[str, Json]]
    layout: dict[str, Json]
    caption: str = ""

    def markup(self) -> str:
        """Give the place that the figure is drawn in."""
        caption = f"<figcaption>{self.caption}</figcaption>" if self.caption else ""
        kind = ' class="square"' if "meta" in self.layout else ""
        return f'<figure{kind}>{caption}<div class="plot" data-figure="{escaped(self.name)}"></div></figure>'


@dataclass(frozen=True)
class Row:
    """Figures that stand side by side, where there is room."""

    figures: Sequence[Figure]

    def markup(self) -> str:
        """Give their places."""
        return f'<div class="row">{"".join(one.markup() for one in self.figures)}</div>'


Part: TypeAlias = str | Figure | Row
"""What a section is made of; a text is HTML."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a title; its name is what links lead to."""

    name: str
    title: str
    parts: Sequence[Part]

    def markup(self) -> str:
        """Give the section as HTML."""
        inner = "".join(part if isinstance(part, str) else part.markup() for part in self.parts)
        return f'<section id="{self.name}"><h2>{escaped(self.title)}</h2>{inner}</section>'

    def figures(self) -> Iterator[Figure]:
        """Give all its figures."""
        for part in self.parts:
            if isinstance(part, Figure):
                yield part
            elif isinstance(part, Row):
                yield from part.figures


@dataclass(frozen=True, kw_only=True)
class Page:
    """All of a page: its title, plain text, what stands in its head, HTML, and its sections."""

    title: str
    head: str
    sections: Sequence[Section] = field(default_factory=tuple)

    def body(self) -> str:
        """Give what is to be read, as HTML."""
        links = "".join(f'<a href="#{one.name}">{escaped(one.title)}</a>' for one in self.sections)
        return f"<header>{self.head}</header><nav>{links}</nav>" + "".join(one.markup() for one in self.sections)

    def figures(self) -> dict[str, Json]:
        """Give what is to be drawn, by name."""
        return {
            one.name: {"data": list(one.data), "layout": one.layout}
            for section in self.sections
            for one in section.figures()
        }


def check_plotly() -> None:
    """Refuse to begin where Plotly is missing, and say how to install it."""
    _plotly()


def render(page: Page, *, version: str | None = None) -> str:
    """Give a page as one HTML file; with a version, it asks its server for later ones."""
    scripts = [_plotly(), _text("page.js")]
    style = _text("style.css")
    return Template(_text("template.html")).substitute(
        title=escaped(page.title),
        policy=policy(watch=version is not None),
        style=style,
        body=page.body(),
        data=embedded({"version": version, "figures": page.figures()}),
        plotly=scripts[0],
        script=scripts[1],
    )


def embedded(value: Json) -> str:
    r"""Give JSON that can stand inside an HTML element: no sign of it ends the element, or begins another.

    Examples
    --------
    >>> embedded(["</script>"])
    '["\\u003c/script>"]'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", r"\u003c")


@cache
def policy(*, watch: bool) -> str:
    """Say what the page may do: run its two scripts, which are known by their hashes, and speak to nobody else.

    Plotly writes rules of style of its own, so that styles cannot be known by theirs.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in (_plotly(), _text("page.js")))
    connect = "'self'" if watch else "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _plotly() -> str:
    try:
        offline = importlib.import_module("plotly.offline")
    except ImportError as error:
        raise missing_extra("a report needs Plotly", "report") from error
    return str(offline.get_plotlyjs()).replace("</script", r"<\/script").replace("\r\n", "\n")


@cache
def _text(name: str) -> str:
    return files("daedal.report").joinpath(name).read_text(encoding="utf-8").rstrip("\n")
