"""Optimize the flags of a program: store a table so that gzip compresses it well.

    python examples/gzip_flags.py               # needs gzip

The objective is a program, this file with --program. It reads one JSON object per line, writes the table's columns in
that order, compresses them with gzip, and prints the number of bytes. A program in any language works the same way.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys

import numpy as np

import daedal

SPACE = daedal.Space(
    level=daedal.Integer(1, 9),
    rsyncable=daedal.Flag(),
    layout=daedal.Choice("rows", "columns"),
    separator=daedal.Choice("\t", ",", " "),
    order=daedal.Permutation(["city", "year", "price", "country"]),
)


def table() -> dict[str, list[str]]:
    """Return a table of 400 rows in which the city determines the country and roughly the price."""
    rng = np.random.default_rng(1)
    city = np.sort(rng.integers(0, 12, 400))
    price = 10 * city + rng.integers(0, 4, 400)
    columns = {"city": city, "country": city // 4, "year": rng.integers(2010, 2020, 400), "price": price}
    return {name: [str(value) for value in column] for name, column in columns.items()}


def size(level: int, rsyncable: bool, layout: str, separator: str, order: list[str]) -> int:
    """Return the size of the compressed table in bytes."""
    columns = [table()[name] for name in order]
    lines = columns if layout == "columns" else list(zip(*columns, strict=True))
    text = "\n".join(separator.join(line) for line in lines)
    flags = [f"-{level}", "-n", *(["--rsyncable"] if rsyncable else [])]
    return len(subprocess.run(["gzip", *flags], input=text.encode(), capture_output=True, check=True).stdout)


def main() -> None:
    """Minimize the size."""
    if shutil.which("gzip") is None:
        sys.exit("this example needs gzip")
    program = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} --program"
    order = ["year", "price", "city", "country"]
    first = {"level": 6, "rsyncable": False, "layout": "rows", "separator": ",", "order": order}
    with daedal.Program(program, persistent=True, timeout=60) as gzip:
        result = daedal.minimize(gzip, SPACE, max_evaluations=150, initial=first, seed=1)
    print(f"first:     {size(**first):6,} bytes  {first}")
    print(f"best:      {result.fitness:6,.0f} bytes  {result.best}")


if __name__ == "__main__":
    if "--program" in sys.argv:
        for line in sys.stdin:
            print(size(**json.loads(line)), flush=True)
    else:
        main()
