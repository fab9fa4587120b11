"""`daedal instance`: write a problem instance to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.help import HelpfulCommand, group_of_commands
from daedal.cli.output import say, shown
from daedal.problems import NK, write_nk
from daedal.problems.nk_file import NK_FILE
from daedal.storage.kinds import check_place

app = group_of_commands("Write a problem instance to a file.")


@app.callback()
def _group() -> None:
    """Write a problem instance to a file."""


@app.command(cls=HelpfulCommand)
def nk(
    n: Annotated[int, typer.Option("--n", help="Number of variables.")],
    k: Annotated[int, typer.Option("--k", help="Other variables that each table looks at.")],
    output: Annotated[Path, typer.Option("--output", "-o", callback=options.absolute, help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same instance.")] = 0,
) -> None:
    """Write a random NK landscape, with its exact optimum where that can be computed."""
    check_place(output, NK_FILE)  # before an optimum that may take a while
    landscape = NK.random(n, k, seed)
    write_nk(landscape, output)
    known = "unknown: too large to compute" if landscape.optimum is None else f"{landscape.optimum:.10g}"
    say(f"{shown(output)}: nk n={n} k={k} seed={seed}, optimum {known}")
