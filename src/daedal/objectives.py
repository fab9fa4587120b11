"""Objectives that a text names: a problem of daedal, or a function in a Python file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from daedal.bits import Bits, Fitness
from daedal.evaluation import Objective
from daedal.registry import canonical_problem, find_problem, problem_file


@dataclass(frozen=True)
class FileFunction:
    """The function that "path/to/file.py:function" names, as a problem that another process can load for itself."""

    spec: str
    n: int
    by_row: bool = False
    optimum: float | None = None

    def evaluate(self, x: Bits) -> Fitness:
        """Call the function with rows of int64, as `maximize` does."""
        function, rows = _function(self.spec, self.n), x.astype(np.int64)
        values: Fitness = np.array([function(row) for row in rows]) if self.by_row else function(rows)
        return values


@cache
def _function(spec: str, n: int) -> Objective:
    objective = load_objective(spec, n)
    assert not isinstance(objective, str)
    return objective


def located(spec: str, folder: Path | None) -> str:
    """Give a text with the path of its file, where it names one, seen from a folder.

    Examples
    --------
    >>> located("score.py:f", Path("/work")), located("trap:k=5,n=50", Path("/work"))
    ('/work/score.py:f', 'trap:k=5,n=50')
    """
    before, path, after = _parts(spec)
    return spec if path is None or folder is None else f"{before}{folder / path}{after}"


def identity(spec: str) -> str:
    """Say which objective a text names: the same for each way to write it, and by content, not place, for a file.

    Examples
    --------
    >>> identity("trap:n=50, k=5")
    'trap:k=5,n=50'
    """
    before, path, after = _parts(spec)
    if path is None:
        return canonical_problem(spec)
    return f"{before}{hashlib.sha256(Path(path).read_bytes()).hexdigest()}{after}"


def _parts(spec: str) -> tuple[str, str | None, str]:
    """Take the path of a file, if there is one, out of a text."""
    path, colon, name = spec.rpartition(":")
    if colon and path.endswith(".py"):
        return "", path, f":{name}"
    kind, file = problem_file(spec)
    return (f"{kind}:", file, "") if file is not None else (spec, None, "")


def sendable_objective(spec: str, n: int | None, *, by_row: bool = False) -> FileFunction | str:
    """Give what stands for the objective in another process; refuse here what cannot be loaded there."""
    if isinstance(load_objective(spec, n), str):
        find_problem(spec)
        return spec
    assert n is not None  # or it would have been refused
    return FileFunction(spec, n, by_row)


def load_objective(spec: str, n: int | None) -> Objective | str:
    """Give the function that "path/to/file.py:function" names; any other text is a problem's name and stays."""
    path, colon, name = spec.rpartition(":")
    if not (colon and path.endswith(".py")):
        if spec.endswith(".py"):
            raise ValueError(f"expected the function to maximise behind the file, as in {spec}:f, got {spec!r}")
        return spec
    if n is None:
        raise ValueError(f"expected --n, the number of variables, for a function in a Python file, got {spec!r} alone")
    function = getattr(_load(Path(path)), name, None)
    if not callable(function):
        known = "is not a function" if function is not None else "is not there"
        raise ValueError(f"expected a function {name!r} in {path}, but it {known}")
    objective: Objective = function
    return objective


def _load(path: Path) -> object:
    """Run a Python file as a module, with its own folder at the end of the path."""
    if not path.is_file():
        raise ValueError(f"expected a Python file at {path}, found none")
    name = f"daedal_objective_{path.stem}"  # a file may well be called random.py
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.path.append(str(path.parent.resolve()))
    sys.modules[name] = module  # so that what the file defines can find its own module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} could not be run: {type(error).__name__}: {error}") from error
    return module
