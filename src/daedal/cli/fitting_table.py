"""A table that fits its terminal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

_GAP = 2


def fitting_table(
    rows: Sequence[Mapping[str, str]], width: int | None, *, wanted: Sequence[str] = (), left: Collection[str] = ()
) -> Text:
    """Lay out rows of cells in as many whole columns as there is room for: no name is cut, and no number.

    Parameters
    ----------
    rows
        Cells by column; some may be missing.
    width
        Columns of the terminal; None: as many as are needed.
    wanted
        Columns in the order of what a narrow terminal should rather have; all others come behind these, as they stand.
    left
        Columns that begin at the left; all others end at the right.

    Examples
    --------
    >>> rows = [{"name": "dae", "solved": "9", "seconds": "1.5"}, {"name": "umda", "solved": "10"}]
    >>> print(fitting_table(rows, 12, left=["name"]))
    name  solved
    dae        9
    umda      10
    """
    widths = _widths(rows)
    shown = widths if width is None else _fitting(widths, width, wanted)
    titles = Text(_line({name: name for name in shown}, shown, left), style="dim")
    lines = [titles, *(Text(_line(row, shown, left)) for row in rows)]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def left_out(rows: Sequence[Mapping[str, str]], width: int | None, *, wanted: Sequence[str] = ()) -> list[str]:
    """Give the columns for which `fitting_table` has no room.

    Examples
    --------
    >>> left_out([{"name": "dae", "solved": "9", "seconds": "1.5"}], 12)
    ['seconds']
    """
    widths = _widths(rows)
    shown = widths if width is None else _fitting(widths, width, wanted)
    return [name for name in widths if name not in shown]


def _widths(rows: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """Give the columns, and the room that each of them needs."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: max(cell_len(name), *(cell_len(row.get(name, "")) for row in rows)) for name in names}


def _fitting(widths: Mapping[str, int], width: int, wanted: Sequence[str]) -> dict[str, int]:
    """Choose the columns for which there is room, at least one."""
    ordered = sorted(widths, key=lambda name: wanted.index(name) if name in wanted else len(wanted))
    chosen, left = set(ordered[:1]), width - widths[ordered[0]]
    for name in ordered[1:]:
        if widths[name] + _GAP <= left:
            chosen.add(name)
            left -= widths[name] + _GAP
    return {name: size for name, size in widths.items() if name in chosen}


def _line(row: Mapping[str, str], shown: Mapping[str, int], left: Collection[str]) -> str:
    cells = []
    for name, size in shown.items():
        cell = row.get(name, "")
        blank = " " * (size - cell_len(cell))
        cells.append(cell + blank if name in left else blank + cell)
    return (" " * _GAP).join(cells).rstrip()
