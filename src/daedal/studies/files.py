"""The kinds of files that studies write, each known by how it begins: no other file is ever replaced."""

from __future__ import annotations

import re

from daedal.storage.kinds import Kind

WRITTEN_BY = {"written_by": "daedal"}
"""What a Parquet file has in its metadata."""

_RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}".encode()
_RULED = rb"(?=.{0,2000}Algorithm)(?:[^\n]*\n){1,2}(?:%s){10}" % _RULE  # one or two lines of titles above it

TABLES: dict[str, Kind] = {
    "rich": Kind("a table as text", re.compile(_RULED, re.DOTALL)),
    "markdown": Kind("a table in Markdown", re.compile(rb"\| Problem \| (?:Algorithm|budget) \| ")),
    "latex": Kind("a table in LaTeX", re.compile(rb"% Written by daedal\.")),
    "csv": Kind("a table as CSV", re.compile(rb"problem,(?:spec,algorithm|algorithm,preset),")),
    "json": Kind("a table as JSON", re.compile(rb'\[\s*(?:\]|\{"problem": "[^\n]*", "algorithm": ")')),
    "parquet": Kind("a table as Parquet", re.compile(rb"PAR1"), end=re.compile(rb"written_by.{1,8}daedal", re.DOTALL)),
}
"""By format."""

FIGURES: dict[str, Kind] = {
    "svg": Kind("a figure", re.compile(rb"<\?xml .{0,2000}<dc:title>daedal</dc:title>", re.DOTALL)),
    "png": Kind("a figure", re.compile(rb"\x89PNG.{0,200}Software\0daedal", re.DOTALL)),
}
"""By format."""
