"""`daedal instance`: write a problem instance to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from daedal.problems import NK, write_nk
from daedal.settings.texts import visible

app = typer.Typer(help="Write a problem instance to a file.")


@app.callback()
def _group() -> None:
    """Write a problem instance to a file."""


@app.command()
def nk(
    n: Annotated[int, typer.Option("--n", help="Number of variables.")],
    k: Annotated[int, typer.Option("--k", help="Other variables that each table looks at.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same instance.")] = 0,
) -> None:
    """Write a random NK landscape, with its exact optimum where that can be computed."""
    landscape = NK.random(n, k, seed)
    write_nk(landscape, output)
    known = "unknown: too large to compute" if landscape.optimum is None else f"{landscape.optimum:.10g}"
    Console(stderr=True, highlight=False).print(
        f"{visible(str(output))}: nk n={n} k={k} seed={seed}, optimum {known}", markup=False
    )
