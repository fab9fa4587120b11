"""Objectives that a text names: a problem of daedal, a function in a Python file, or a program."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from daedal.evaluation.caller import Objective
from daedal.objectives.program import Program
from daedal.problems import Problem
from daedal.problems.registry import canonical_problem, find_problem, problem_file


@dataclass(frozen=True)
class FileFunction:
    """The function that "path/to/file.py:function" names; another process loads it for itself.

    Examples
    --------
    >>> FileFunction("score.py:f").label
    'score.py:f'
    """

    spec: str
    identity: str | None = None
    """What the file has to be, where that matters: see `identity`."""

    @property
    def label(self) -> str:
        """What to call it."""
        return self.spec

    def __call__(self, x: NDArray[Any]) -> Any:
        """Call the function."""
        return loaded(self.spec, self.identity)(x)


def located(spec: str, folder: Path | None) -> str:
    """Give a text with the path of its file, where it names one, seen from a folder.

    Examples
    --------
    >>> located("score.py:f", Path("/work")), located("trap:k=5,n=50", Path("/work"))
    ('/work/score.py:f', 'trap:k=5,n=50')
    """
    before, path, after = _parts(spec)
    return spec if path is None or folder is None else f"{before}{folder / path}{after}"


def without_folder(spec: str) -> str:
    """Leave out where a file lies; a command stays as it is.

    Examples
    --------
    >>> without_folder("nk:some/file.nk"), without_folder("some/file.py:function"), without_folder("trap:k=5,n=50")
    ('nk:file.nk', 'file.py:function', 'trap:k=5,n=50')
    """
    if spec.startswith("cmd:"):
        return spec
    path, _, function = spec.rpartition(":")
    if path.endswith(".py"):
        return f"{_last(path)}:{function}"
    kind, colon, rest = spec.partition(":")
    return f"{kind}{colon}{_last(rest)}"  # no parameter has a slash


def _last(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def identity(spec: str) -> str:
    """Say which objective a text names: the same for each way to write it, and by content, not place, for a file.

    Of a program it is the command, and what is in the files that the command names.

    Examples
    --------
    >>> identity("trap:n=50, k=5")
    'trap:k=5,n=50'
    """
    before, path, after = _parts(spec)
    if spec.startswith("cmd:"):
        return " ".join([spec, *map(_digest, _files_of(spec.removeprefix("cmd:")))])
    return canonical_problem(spec) if path is None else f"{before}{_digest(Path(path))}{after}"


def _files_of(command: str) -> list[Path]:
    """Give the files among the words of a command: a script, its data; not what is found through PATH."""
    words = [part for word in shlex.split(command) for part in (word, word.partition("=")[2])]
    return [Path(word) for word in words if os.path.isfile(word) and os.access(word, os.R_OK)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parts(spec: str) -> tuple[str, str | None, str]:
    """Take the path of a file, if there is one, out of a text."""
    kind, path, name = spec_parts(spec)
    if kind == "file":
        return "", path, f":{name}"
    if kind == "program":
        return spec, None, ""
    if spec.endswith(".py"):
        return "", spec, ""  # without a function, which whoever loads it will say
    named, file = problem_file(spec)
    return (f"{named}:", file, "") if file is not None else (spec, None, "")


def read_objective(spec: str, n: int | None, *, persistent: bool = False) -> Objective | str:
    """Give what a text names: a function in a Python file, a program ("cmd:..."), or else a problem's own name.

    Examples
    --------
    >>> read_objective("hiff:n=64", None)
    'hiff:n=64'
    """
    kind, path, name = spec_parts(spec)
    if kind == "problem":
        if spec.endswith(".py"):
            raise ValueError(f"expected the function to maximise behind the file, as in {spec}:f, got {spec!r}")
        if persistent:
            raise ValueError(f'expected --persistent with a program, as in "cmd:./score", got {spec!r}')
        find_problem(spec)
        return spec
    if n is None:
        what = "a program" if kind == "program" else "a function in a Python file"
        raise ValueError(f"expected --n, the number of variables, for {what}, got {spec!r} alone")
    if kind == "program":
        return Program(name, persistent=persistent)
    if persistent:
        raise ValueError(f'expected --persistent with a program, as in "cmd:./score", got {spec!r}')
    loaded(spec)  # refuses here what cannot be loaded elsewhere
    return FileFunction(f"{Path(path).absolute()}:{name}" if path else spec)


def travelling(objective: Objective | Problem | str) -> Objective | Problem | str:
    """Give an objective that other machines can use: the function of a file itself, as they may not have the file."""
    if not isinstance(objective, FileFunction):
        return objective
    function = loaded(objective.spec, objective.identity)
    module = sys.modules.get(getattr(function, "__module__", ""))
    if module is not None:
        importlib.import_module("cloudpickle").register_pickle_by_value(module)
    return function


def spec_parts(spec: str) -> tuple[str, str, str]:
    """Take a text apart: its kind (program, file or problem), the path of a Python file, the function or command.

    Examples
    --------
    >>> spec_parts("cmd:./score --fast"), spec_parts("score.py:f")
    (('program', '', './score --fast'), ('file', 'score.py', 'f'))
    """
    if spec.startswith("cmd:"):
        return "program", "", spec.removeprefix("cmd:")
    path, colon, name = spec.rpartition(":")
    return ("file", path, name) if colon and path.endswith(".py") else ("problem", "", "")


@cache
def loaded(spec: str, expected: str | None = None) -> Objective:
    """Give the function that "path/to/file.py:function" names, as the file was when it was first asked for.

    `expected` is what its identity should be, where a change of the file in the meantime has to be noticed.
    """
    _, path, name = spec_parts(spec)
    if expected is not None and Path(path).is_file() and identity(spec) != expected:
        raise ValueError(f"{path} has changed since the study was read; run the study again")
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
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module  # so that what the file defines can find its own module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} could not be run: {type(error).__name__}: {error}") from error
    return module
