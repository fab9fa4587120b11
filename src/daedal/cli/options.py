"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Problem: TypeAlias = Annotated[
    str,
    typer.Argument(help='A problem ("trap:k=5,n=50", see `daedal list`), "path/to/file.py:function" or "cmd:PROGRAM".'),
]
Algorithm: TypeAlias = Annotated[
    str, typer.Option("--algorithm", "-a", help='See `daedal list`, or "path/to/file.py:NAME" for one of your own.')
]
Popsize: TypeAlias = Annotated[
    int | None, typer.Option(help="Population size; chosen from n if not given. Short for --set popsize=P.")
]
Variables: TypeAlias = Annotated[
    int | None, typer.Option("--n", help="Number of variables, for file.py:function and cmd:PROGRAM.")
]
MaxEvaluations: TypeAlias = Annotated[int | None, typer.Option(help="Evaluate no more rows than this in a run.")]
MaxGenerations: TypeAlias = Annotated[int | None, typer.Option(help="Run no more generations than this.")]
Patience: TypeAlias = Annotated[int | None, typer.Option(help="Stop after this many generations without progress.")]
MaxSeconds: TypeAlias = Annotated[float | None, typer.Option(help="Stop after this many seconds on the clock.")]
Target: TypeAlias = Annotated[float | None, typer.Option(help="Stop when this fitness is reached.")]
Minimize: TypeAlias = Annotated[bool, typer.Option("--minimize", help="Look for the smallest value.")]
ByRow: TypeAlias = Annotated[bool, typer.Option("--by-row", help="The function takes one row, not a batch.")]
Shuffle: TypeAlias = Annotated[bool, typer.Option(help="Put a named problem's variables in a random order.")]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the algorithm; repeat it for others."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
History: TypeAlias = Annotated[bool, typer.Option("--history", help="With --json: add a record for each generation.")]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(help="Processes to evaluate with; the result does not depend on it.")
]
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Evaluate with Dask: tcp://host:8786, or local:4 for four processes here."),
]
Every: TypeAlias = Annotated[
    str, typer.Option(metavar="TIME|N", help="How often to write the checkpoint: 60s, or a number of generations.")
]
