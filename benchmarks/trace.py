"""Which files one run passes through: those of daedal in which a function runs, after everything is loaded.

    python benchmarks/trace.py [daedal's own words, such as: solve trap:k=5,n=50 --workers 2]

Only this process is watched, not the workers. What runs while a module is loaded does not count, nor do compiled
kernels beyond the Python functions that call them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import daedal
from daedal.cli import main

HOME = Path(daedal.__file__).parent
WORDS = (
    "solve",
    "trap:k=5,n=50",
    "-a",
    "dae",
    "--workers",
    "2",
    "--popsize",
    "200",
    "--max-generations",
    "3",
    "--json",
)


def own_file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(HOME)) if path.is_relative_to(HOME) else None


def files_of(words: list[str]) -> list[str]:
    """Give the files in the order in which they are first passed."""
    passed: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        name = own_file(frame)
        if event != "call" or name is None or name in passed:
            return
        above: FrameType | None = frame
        while above is not None:
            if above.f_code.co_name == "<module>" and own_file(above) is not None:
                return  # while it is loaded
            above = above.f_back
        passed[name] = None

    sys.argv = ["daedal", *words]
    sys.setprofile(watch)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return list(passed)


def show() -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = sys.argv[1:] or [*WORDS, "--run", f"{folder}/run.db"]
        files = files_of(words)
    rooms = Counter(name.partition("/")[0].removesuffix(".py") for name in files)
    for name in files:
        print(name, file=sys.stderr)
    print(f"{len(files)} files: {', '.join(f'{room} {count}' for room, count in rooms.most_common())}", file=sys.stderr)


if __name__ == "__main__":
    show()
