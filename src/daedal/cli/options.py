"""Options that several commands share, and the files and texts that they name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from daedal.spaces.space import Space


def absolute(path: Path | None) -> Path | None:
    """Make a path absolute now, because the user's Python files may change the folder when they are loaded."""
    return path if path is None or str(path) == "-" else path.absolute()


def group(summary: str) -> typer.Typer:
    """Make an application for a command that has commands of its own."""
    return typer.Typer(help=summary, add_completion=False, rich_markup_mode=None)


Problem: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help='Problem ("trap:k=5,n=50", see `daedal list`), function ("path/to/file.py:NAME") or program '
        '("cmd:PROGRAM").',
    ),
]
Algorithm: TypeAlias = Annotated[
    str,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help='Algorithm (see `daedal list`), or "path/to/file.py:NAME" for your own.',
    ),
]
Popsize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="P",
        help='Population size, or "auto" for a series of populations, each twice as large as the one before. '
        "Default: derived from n and the maximum number of evaluations.",
    ),
]
Variables: TypeAlias = Annotated[
    int | None, typer.Option("--n", metavar="N", help="Number of bits, for a function or a program.")
]
SpaceFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--space",
        metavar="FILE",
        callback=absolute,
        help="TOML file with the variables by name: flags, integers, choices, orders, subsets. Replaces --n.",
    ),
]
MaxEvaluations: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Maximum number of evaluations.")]
MaxGenerations: TypeAlias = Annotated[int | None, typer.Option(metavar="N", help="Maximum number of generations.")]
Patience: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum number of generations without a better solution.")
]
MaxSeconds: TypeAlias = Annotated[float | None, typer.Option(metavar="SECONDS", help="Maximum wall-clock time.")]
Target: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="VALUE", help="Objective value at which to stop. Default: the optimum, if it is known."),
]
Minimize: TypeAlias = Annotated[bool, typer.Option("--minimize", help="Search for the smallest value.")]
ByRow: TypeAlias = Annotated[
    bool, typer.Option("--by-row", help="Call the function with one candidate at a time, instead of a batch.")
]
Violations: TypeAlias = Annotated[
    bool,
    typer.Option("--violations", help="Expect the violations of constraints after each objective value."),
]
Shuffle: TypeAlias = Annotated[bool, typer.Option(help="Put the variables of a named problem in random order.")]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Setting of the algorithm, such as popsize=200 (see `daedal list ALGORITHM`). Can be repeated.",
    ),
]
Known: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        callback=absolute,
        help="Earlier evaluations, which are then free: a run file, or a CSV file with a column named fitness.",
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result to standard output, as one JSON object.")
]
History: TypeAlias = Annotated[
    bool, typer.Option("--history", help="Add a record of each generation to the JSON object.")
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", help="Number of worker processes. Up to 16 do not change the result. Default: 1."),
]
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Evaluate with Dask: tcp://host:8786, or local:4 for four processes on this machine."
    ),
]
DaskTimeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="Time without contact after which Dask counts as lost.")
]
Persistent: TypeAlias = Annotated[
    bool, typer.Option("--persistent", help="Start the program once, instead of once per batch.")
]


def settings_of(words: list[str] | None, popsize: str | None) -> dict[str, str]:
    """Return the settings that `--set` and `--popsize` give, by name."""
    found: dict[str, str] = {}
    for word in words or []:
        key, _, value = (part.strip() for part in word.partition("="))
        if not key or not value:
            raise ValueError(f"--set needs KEY=VALUE, such as --set popsize=200, got {word!r}")
        key = key.replace("-", "_")
        if key in found:
            raise ValueError(f"--set {key} is given twice; remove one")
        found[key] = value
    if popsize is not None:
        if "popsize" in found:
            raise ValueError("--popsize and --set popsize cannot be combined; remove one")
        found["popsize"] = popsize
    return found


def space_of(path: Path | None, n: int | None) -> Space | None:
    """Read the file of `--space`."""
    if path is None:
        return None
    if n is not None:
        raise ValueError("--n and --space cannot be combined; the space determines the number of bits")
    from daedal.spaces.space import read_space

    return read_space(path)
