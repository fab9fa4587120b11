"""Draw the README's picture: what `daedal solve trap:k=5,n=50 --seed 1` shows at its end.

python docs/images/demo.py
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

import daedal
from daedal.cli.live_display import LiveDisplay
from daedal.cli.output import show
from daedal.limits import Limits
from daedal.run.view import RunProgress, RunView

PICTURE = Path(__file__).with_suffix(".svg")
WORDS = ["solve", "trap:k=5,n=50", "--seed", "1"]


def main() -> None:
    """Run it, show the end of it to a recording console, and keep that as SVG without a font from the network."""
    console = Console(record=True, width=84, file=StringIO(), force_terminal=True, highlight=False)
    result = daedal.maximize("trap:k=5,n=50", seed=1)
    progress = RunProgress(has_begun=True, seconds=0.0, evaluations=0, rows=0, answered=0, best=result.fitness)
    view = RunView(
        title=f"{result.algorithm} on trap:k=5,n=50, seed 1",
        goal=result.optimum,
        limits=Limits(),
        progress=lambda: progress,
    )
    command = " ".join(["daedal", *WORDS])
    console.print(f"$ {command}")
    with LiveDisplay(view, console=console, seconds=None) as display:
        for record in result.history:
            display.update(record)
    show(result, console, repeat=WORDS)
    svg = console.export_svg(title=command)
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
