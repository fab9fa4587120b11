"""The house: who may import whom, and that files and functions stay small."""

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
    ("types",),
    ("rng", "settings"),
    ("limits",),
    ("kernels", "storage"),
    ("spaces",),
    ("models", "problems"),
    ("evaluation", "optimizers"),
    ("objectives", "result"),
    ("run",),
    ("studies",),
    ("plot", "report"),
    ("cli",),
    ("optimize",),
    ("sklearn",),
)
"""From the bottom up: a room imports from those below it, and from itself."""

UPWARDS = {("result/result.py", "daedal.report.source")}
"""Who reaches up all the same, when called and not when loaded: `result.report(...)` is where people look for it."""

LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(path for path in SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
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


def test_every_room_has_its_place() -> None:
    rooms = {path.stem for path in SOURCE.iterdir() if "__" not in path.name and path.name != "py.typed"}
    assert rooms == set(LEVEL)
    assert len(rooms) <= 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_imports_upwards(path: Path) -> None:
    room = room_of(module_of(path))
    if room not in LEVEL:  # the package itself, which gives every public name
        return
    for name in imported(path):
        if name.startswith("daedal.") and (other := room_of(name)) in LEVEL:
            below = LEVEL[other] < LEVEL[room] or other == room or (str(path.relative_to(SOURCE)), name) in UPWARDS
            assert below, f"{path.relative_to(SOURCE)} imports {name}"
        assert room in ("cli",) or not name.startswith("rich"), f"{path.relative_to(SOURCE)} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            lines = node.end_lineno - body_start(node) + 1
            assert lines <= 50, f"{node.name} has {lines} lines"


def body_start(node: ast.FunctionDef) -> int:
    """Give where a function's statements begin: neither its signature nor its docstring is what makes it long."""
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return (node.body[1] if is_docstring and len(node.body) > 1 else first).lineno


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
