"""The options that several commands share, and how their words are read."""

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

Problem: TypeAlias = Annotated[
    str,
    typer.Argument(help='A problem ("trap:k=5,n=50", see `daedal list`), "path/to/file.py:function" or "cmd:PROGRAM".'),
]
Algorithm: TypeAlias = Annotated[
    str, typer.Option("--algorithm", "-a", help='See `daedal list`, or "path/to/file.py:NAME" for one of your own.')
]
Popsize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="P|auto",
        help="Population size; chosen from n and --max-evaluations if not given; auto: doubled again and again.",
    ),
]
Variables: TypeAlias = Annotated[
    int | None, typer.Option("--n", help="Number of variables, for file.py:function and cmd:PROGRAM.")
]
SpaceFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--space",
        metavar="FILE",
        callback=lambda path: absolute(path),
        help="A TOML file with the variables by name, in place of --n: flags, integers, choices, orders, subsets.",
    ),
]
MaxEvaluations: TypeAlias = Annotated[
    int | None, typer.Option(help="Call the objective for no more rows than this in a run.")
]
MaxGenerations: TypeAlias = Annotated[int | None, typer.Option(help="Run no more generations than this.")]
Patience: TypeAlias = Annotated[int | None, typer.Option(help="Stop after this many generations without progress.")]
MaxSeconds: TypeAlias = Annotated[float | None, typer.Option(help="Stop after this many seconds on the clock.")]
Target: TypeAlias = Annotated[float | None, typer.Option(help="Stop when this fitness is reached.")]
Minimize: TypeAlias = Annotated[bool, typer.Option("--minimize", help="Look for the smallest value.")]
ByRow: TypeAlias = Annotated[bool, typer.Option("--by-row", help="The function takes one row, not a batch.")]
Violations: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--violations", help="The objective returns or prints the violations of its constraints after its value."
    ),
]
Shuffle: TypeAlias = Annotated[bool, typer.Option(help="Put a named problem's variables in a random order.")]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of the algorithm, such as popsize=200; `daedal list ALGORITHM` says what there is and "
        "what it means. Repeat it for others.",
    ),
]
Known: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        callback=lambda path: absolute(path),
        help="Earlier evaluations, which are then free: another run's file, or a CSV file with a column fitness.",
    ),
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
DaskTimeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="Without a sign of Dask's scheduler or its workers, it is lost.")
]
Noisy: TypeAlias = Annotated[
    bool, typer.Option("--noisy", help="Values differ from call to call: choose the best by means of several.")
]
Repeats: TypeAlias = Annotated[
    int | None, typer.Option(metavar="R", help="Measure the best so often at least; implies --noisy.")
]


def absolute(path: Path | None) -> Path | None:
    """Make a path absolute while the folder is the one that the user sees: a file that is loaded may change it."""
    return path if path is None or str(path) == "-" else path.absolute()


def _pairs(words: list[str]) -> dict[str, str]:
    """Read the words of `--set`."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise ValueError(f"expected --set key=value, as in --set corruption=0.05, got {word!r}")
        key = key.strip().replace("-", "_")
        if key in found:
            raise ValueError(f"expected --set {key} once, got it twice")
        found[key] = value.strip()
    return found


def settings_of(words: list[str] | None, popsize: str | None) -> dict[str, str]:
    """Give what `--set` and `--popsize` set."""
    found = _pairs(words or [])
    if popsize is not None:
        if "popsize" in found:
            raise ValueError("expected --popsize or --set popsize=P, got both")
        found["popsize"] = popsize
    return found


def space_of(path: Path | None, n: int | None) -> Space | None:
    """Read the file of `--space`, which takes the place of `--n`."""
    if path is None:
        return None
    if n is not None:
        raise ValueError(f"expected --n or --space, got both, --n {n} and --space {path}")
    from daedal.spaces.space import read_space

    return read_space(path)


def read_initial(path: Path | None, space: Space | None) -> Initial | None:
    """Read the file of `--initial`: rows of 0/1, or, in a space, one JSON object a line."""
    if path is None:
        return None
    return read_rows(path) if space is None else _read_values(path)


def _read_values(path: Path) -> Initial:
    """Read values by name, one JSON object a line, all with a fitness, or none of them."""
    import numpy as np

    from daedal.spaces.space import FITNESS
    from daedal.storage.inputs import read_text_input

    listed = []
    for number, line in enumerate(read_text_input(path, "JSON objects, one a line").splitlines(), start=1):
        try:
            value = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected one JSON object a line in {path}, line {number}: {error}") from None
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"expected one JSON object a line in {path}, got {line:.60} in line {number}")
        listed += [] if value is None else [value]
    known = [value.pop(FITNESS) for value in listed if FITNESS in value]
    if not listed or len(known) not in (0, len(listed)):
        raise ValueError(f"expected some values in {path}, all with a {FITNESS}, or none, got {len(known)}")
    return (listed, np.array(known, dtype=object)) if known else listed


def read_rows(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | NDArray[np.uint8]:
    """Read rows of 0/1, one a line, all with a value behind them, or none; lines that begin with # are comments."""
    import numpy as np  # here, because help has no use for it

    from daedal.storage.inputs import read_text_input
    from daedal.types import from_text

    text = read_text_input(path, "lines of 0/1")
    lines = [line.split() for line in text.splitlines()]
    words = [line for line in lines if line and not line[0].startswith("#")]
    widths = {(len(line), len(line[0])) for line in words}
    if len(widths) != 1 or next(iter(widths))[0] > 2:
        raise ValueError(f"expected lines of as many 0/1 each in {path}, all with one value behind them or none")
    rows = np.array([from_text(line[0]) for line in words])
    if len(words[0]) == 1:
        return rows
    try:
        return rows, np.array([float(line[1]) for line in words])
    except ValueError as error:
        raise ValueError(f"expected a number behind each row in {path}: {error}") from error
