"""Draw the README's picture: what `daedal solve trap:k=5,n=50 --seed 1` shows at its end.

python docs/images/demo.py
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

import daedal
from daedal.cli.live_table import LiveTable
from daedal.cli.solve import show

PICTURE = Path(__file__).with_suffix(".svg")
COMMAND = "daedal solve trap:k=5,n=50 --seed 1"


def main() -> None:
    """Run it, show the end of it to a recording console, and keep that as SVG without a font from the network."""
    console = Console(record=True, width=84, file=StringIO(), force_terminal=True)
    result = daedal.maximize("trap:k=5,n=50", seed=1)
    table = LiveTable(f"{result.algorithm} on trap:k=5,n=50, seed 1", goal=50.0)
    rows = [table.cells(record, record.cpu_seconds) for record in result.history]
    console.print(f"$ {COMMAND}\n{table.heading()}", highlight=False)
    console.print(table.table(rows[-12:]))
    show(result, console)
    svg = console.export_svg(title=COMMAND)
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
