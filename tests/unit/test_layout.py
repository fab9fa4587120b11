"""The layers of the packages: which may import which, and what is not loaded before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import daedal

SOURCE = Path(daedal.__file__).parent
LAYERS = (
    ("compilation", "threads", "types"),
    ("rng", "settings"),
    ("limits",),
    ("archive", "storage"),
    ("spaces",),
    ("engine", "models", "problems", "surrogates"),
    ("evaluation", "searches"),
    ("objectives", "result"),
    ("run",),
    ("studies",),
    ("plot",),
    ("report",),
    ("cli",),
    ("optimize",),
    ("sklearn",),
)
"""From the bottom up: a package or module imports from those below it, and from itself."""

UPWARDS = {
    ("engine.py", "daedal.searches.algorithm"),  # the type of what a search shows of itself
    ("result/result.py", "daedal.report.page"),  # `result.report(...)` is where users look for it
    ("result/result.py", "daedal.report.run_page"),
}
"""Imports that point up all the same: for a type, or in a function that is called later."""

LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
FILES = sorted(path for path in SOURCE.rglob("*.py"))


def part_of(module: str) -> str:
    return module.removeprefix("daedal.").partition(".")[0]


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[str]:
    """Give what a file imports, anywhere in it: at the top, in a function, for types alone, or by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "daedal":
            yield from (f"daedal.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_every_part_has_its_place() -> None:
    parts = {path.stem for path in SOURCE.iterdir() if "__" not in path.name and path.name != "py.typed"}
    assert parts == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_imports_upwards(path: Path) -> None:
    part, place = part_of(module_of(path)), str(path.relative_to(SOURCE))
    if part not in LEVEL:  # the package itself, which gives every public name
        return
    for name in imported(path):
        if name.startswith("daedal.") and (other := part_of(name)) in LEVEL:
            below = LEVEL[other] < LEVEL[part] or other == part or (place, name) in UPWARDS
            assert below, f"{place} imports {name}"
        assert part == "cli" or not name.startswith("rich"), f"{place} imports {name}"


@pytest.mark.parametrize(
    ("code", "unloaded"),
    [
        ("import daedal", ("numpy", "rich", "sqlite3", "scipy", "numba")),
        ("import daedal.optimize, daedal.models, daedal.problems", ("rich", "sqlite3", "scipy", "numba")),
        ("import daedal.cli.app", ("numpy", "sqlite3", "scipy", "numba")),
        ("import daedal.evaluation.process_pool", ("rich", "sqlite3", "scipy", "numba")),
    ],
)
def test_what_is_not_needed_is_not_loaded(code: str, unloaded: tuple[str, ...]) -> None:
    """In a new process, because in this one all of it is there."""
    ask = f"{code}\nimport sys\nprint([name for name in {unloaded} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
