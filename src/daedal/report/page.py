"""A page: sections of text and figures, and the HTML file that they become."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import TypeAlias

from daedal.plot.figure import Bars, Cells, Figure, Panel
from daedal.plot.svg import draw_panel, swatch
from daedal.report.markup import escaped
from daedal.storage.files import Kind, check_place, replace_file
from daedal.types import Json

REPORT = Kind("a report", re.compile(rb"<!DOCTYPE html>\n<!-- A report, written by daedal\. -->"))
"""How a file with a page is recognized."""

_NARROW = 370  # pixels for which panels are drawn on a phone
_WIDE = (1030, 500, 335)  # and on a larger screen, for one, two, or more of them
_SQUARE = 680

Part: TypeAlias = str | Figure
"""A part of a section: HTML, or a figure."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a title; links lead to its name."""

    name: str
    title: str
    parts: Sequence[Part]

    def markup(self) -> str:
        """Return the section as HTML."""
        inner = "".join(part if isinstance(part, str) else figure_markup(part) for part in self.parts)
        return f'<section id="{self.name}"><h2>{escaped(self.title)}</h2>{inner}</section>'


@dataclass(frozen=True, kw_only=True)
class Page:
    """A whole page: its title as plain text, its head as HTML, and its sections."""

    title: str
    head: str
    sections: Sequence[Section] = field(default_factory=tuple)

    def body(self) -> str:
        """Return the HTML that stands in the body of the page."""
        links = "".join(f'<a href="#{one.name}">{escaped(one.title)}</a>' for one in self.sections)
        return f"<header>{self.head}</header><nav>{links}</nav>" + "".join(one.markup() for one in self.sections)


def figure_markup(figure: Figure) -> str:
    """Return a figure as HTML: its legend, and each panel as SVG, once for large screens and once for phones."""
    legend = figure.legend()
    series = list(legend) if len(legend) > 1 else []
    items = "".join(
        f'<button type="button" data-series="{k}" aria-pressed="true">'
        f'<svg width="28" height="12" aria-hidden="true">{swatch(legend[name])}</svg>{escaped(name, most=60)}</button>'
        for k, name in enumerate(series)
    )
    panels = "".join(_panel_markup(panel, len(figure.panels), series) for panel in figure.panels)
    return (
        f'<figure data-figure="{escaped(figure.name)}">'
        + (f'<div class="legend">{items}</div>' if items else "")
        + f'<div class="panels of{min(3, len(figure.panels))}">{panels}</div></figure>'
    )


def _panel_markup(panel: Panel, beside: int, series: Sequence[str]) -> str:
    wide = _SQUARE if panel.is_square and beside == 1 else _WIDE[min(beside, len(_WIDE)) - 1]
    widths = {"wide": wide, "narrow": _NARROW} if wide > 1.2 * _NARROW else {"": wide}
    label = escaped(panel.title or " over ".join(filter(None, (panel.y.title, panel.x.title))) or "heat map")
    drawn = ""
    for kind, width in widths.items():
        markup, height, box = draw_panel(panel, width, series)
        place = f"{box.left:.1f} {box.top:.1f} {box.right:.1f} {box.bottom:.1f}"
        size = f'viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
        drawn += f'<svg class="{kind}" {size} data-box="{place}" role="img" aria-label="{label}">{markup}</svg>'
    readout = escaped(json.dumps(_readout(panel, series), separators=(",", ":")))
    return f'<div class="panel" data-readout="{readout}">{drawn}</div>'


def _readout(panel: Panel, series: Sequence[str]) -> Json:
    """Return what a panel says about a place under the mouse: see page.js."""
    if any(isinstance(mark, Cells) for mark in panel.marks):
        return {"cells": True, "x": list(panel.x.names), "y": list(panel.y.names), "across": panel.x.title}
    is_lying = any(isinstance(mark, Bars) and mark.is_lying for mark in panel.marks)
    along, across = (panel.y, panel.x) if is_lying else (panel.x, panel.y)
    lines: list[Json] = []
    for mark in panel.marks:
        assert not isinstance(mark, Cells)
        known: dict[str, Json] = {"name": mark.name or across.title, "color": mark.color}
        known["series"] = series.index(mark.name) if mark.name in series else None
        if isinstance(mark, Bars):
            base = mark.base or [0.0] * len(mark.at)
            known |= {"x": numbers(mark.at), "y": numbers(b - a for a, b in zip(base, mark.ends, strict=True))}
        else:
            known |= {"x": numbers(mark.x), "y": numbers(mark.y), "step": mark.is_step}
            known |= {"low": numbers(mark.low), "high": numbers(mark.high)} if mark.low else {}
        lines.append(known)
    axis: dict[str, Json] = {
        "title": along.title,
        "log": along.is_log,
        "flipped": along.is_flipped,
        "names": list(along.names),
    }
    return {"lying": is_lying, "axis": {**axis, "ends": numbers((along.low, along.high))}, "lines": lines}


def numbers(values: Iterable[float]) -> list[Json]:
    """Return numbers for JSON, to seven digits: null if one is not finite, and no -0."""
    return [float(f"{value:.7g}") + 0.0 if math.isfinite(value) else None for value in values]


def render(page: Page, *, version: str | None = None) -> str:
    """Return a page as one HTML file; with a version, it asks its server for later ones."""
    return Template(_text("template.html")).substitute(
        title=escaped(page.title),
        policy=policy(watch=version is not None),
        style=_text("style.css"),
        version=escaped(version or ""),
        body=page.body(),
        script=_text("page.js"),
    )


def write_page(path: str | os.PathLike[str], make: Callable[[], Page]) -> None:
    """Write a page to a file. A report that exists is replaced, any other file is left alone."""
    check_place(path, REPORT)  # before the work of making the page
    text = render(make()).encode()
    replace_file(path, lambda file: file.write(text), kind=REPORT)


@cache
def policy(*, watch: bool) -> str:
    """Return what the page may do: run its script and use its style, which are known by their hashes, and no more."""
    script, style = map(_digest, ("page.js", "style.css"))
    connect = "'self'" if watch else "'none'"
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def _digest(name: str) -> str:
    return base64.b64encode(hashlib.sha256(_text(name).encode()).digest()).decode()


@cache
def _text(name: str) -> str:
    return files("daedal.report").joinpath(name).read_text(encoding="utf-8").strip("\n")
