"""The last generations of a run as a table that fits its terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

_FIRST = ("generation", "evaluations", "best", "seconds", "mean")
"""Columns in the order of what a narrow terminal should rather have; all others come behind these."""

_GAP = 2


def generation_table(rows: Sequence[Mapping[str, str]], width: int) -> Text:
    """Lay out rows of cells in as many whole columns as fit: no name is cut, and no number; the seconds come last."""
    names = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: name == "seconds")
    widths = {name: max(cell_len(name), *(cell_len(row.get(name, "")) for row in rows)) for name in names}
    shown = _fitting(widths, width)
    lines = [Text(_line({name: name for name in shown}, shown), style="dim")]
    lines += [Text(_line(row, shown)) for row in rows]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _fitting(widths: Mapping[str, int], width: int) -> dict[str, int]:
    """Choose the columns for which there is room, at least one."""
    wanted = sorted(widths, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    chosen, left = set(wanted[:1]), width - widths[wanted[0]]
    for name in wanted[1:]:
        if widths[name] + _GAP <= left:
            chosen.add(name)
            left -= widths[name] + _GAP
    return {name: size for name, size in widths.items() if name in chosen}


def _line(row: Mapping[str, str], shown: Mapping[str, int]) -> str:
    cells = [(row.get(name, ""), size) for name, size in shown.items()]
    return (" " * _GAP).join(" " * (size - cell_len(cell)) + cell for cell, size in cells)
