"""Options that several commands share, and the files and texts that they name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from daedal.run.initial import Initial
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


def read_initial(path: Path | None, space: Space | None) -> Initial | None:
    """Read the file of `--initial`: lines of 0/1 or, in a space, JSON objects."""
    if path is None:
        return None
    return read_rows(path) if space is None else _read_values(path)


def _read_values(path: Path) -> Initial:
    """Read one JSON object per line with the values by name; all of them may have a fitness, or none."""
    import numpy as np

    from daedal.spaces.space import FITNESS
    from daedal.storage.inputs import read_text_input

    listed = []
    for number, line in enumerate(read_text_input(path, "JSON objects, one a line").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number} is not a JSON object: {error}") from None
        if not isinstance(value, dict):
            raise ValueError(f"{path}, line {number} is not a JSON object, got {line:.60}")
        listed.append(value)
    known = [value.pop(FITNESS) for value in listed if FITNESS in value]
    if not listed:
        raise ValueError(f"{path} holds no values; write one JSON object per line")
    if len(known) not in (0, len(listed)):
        raise ValueError(f"{path} has a {FITNESS} in {len(known)} of {len(listed)} lines; give all of them or none")
    return (listed, np.array(known, dtype=object)) if known else listed


def read_rows(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | NDArray[np.uint8]:
    """Read one candidate of 0/1 per line; all of them may be followed by a value, or none. Lines with # are comments.

    Returns
    -------
    array or tuple
        The candidates, shape (rows, n), and their values, shape (rows,), if there are any.
    """
    import numpy as np  # here, because help does not need it

    from daedal.storage.inputs import read_text_input
    from daedal.types import from_text

    lines = [line.split() for line in read_text_input(path, "lines of 0/1").splitlines()]
    words = [line for line in lines if line and not line[0].startswith("#")]
    shapes = {(len(line), len(line[0])) for line in words}
    if len(shapes) != 1 or next(iter(shapes))[0] > 2:
        raise ValueError(f"{path} must have lines of the same number of 0/1, all followed by a value or none")
    rows = np.array([from_text(line[0]) for line in words])
    if len(words[0]) == 1:
        return rows
    try:
        return rows, np.array([float(line[1]) for line in words])
    except ValueError as error:
        raise ValueError(f"{path} must have a number after each candidate: {error}") from error
