"""Objectives by name: a problem of daedal, a function in a Python file, or a program."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from daedal.evaluation.caller import Objective
from daedal.objectives.bound import AnyObjective
from daedal.objectives.program import Program
from daedal.problems.registry import canonical_problem, file_settings, find_problem, problem_file
from daedal.settings.plugins import file_digest, is_file_spec, load, send_by_value


@dataclass(frozen=True)
class FileFunction:
    """The function that "path/to/file.py:function" names. Another process loads the file itself."""

    spec: str
    identity: str | None = None
    """Identity that the file must have, see `identity`. Default: any."""

    @property
    def label(self) -> str:
        """Name in messages and results."""
        return self.spec

    def __call__(self, x: NDArray[Any]) -> Any:
        """Call the function."""
        return loaded(self.spec, self.identity)(x)


def spec_parts(spec: str) -> tuple[str, str, str]:
    """Return the kind of an objective (program, file or problem), its Python file, and its function or command."""
    if spec.startswith("cmd:"):
        return "program", "", spec.removeprefix("cmd:")
    path, _, name = spec.rpartition(":")
    return ("file", path, name) if is_file_spec(spec) else ("problem", "", "")


def _parts(spec: str) -> tuple[str, str | None, str]:
    """Return a text in three parts, with the path of its file, if it has one, in the middle."""
    kind, path, name = spec_parts(spec)
    if kind == "file":
        return "", path, f":{name}"
    if kind == "program":
        return spec, None, ""
    if spec.endswith(".py"):
        return "", spec, ""  # without a function, for which its reader has an error
    named, file = problem_file(spec)
    return (spec, None, "") if file is None else (f"{named}:", file, spec.removeprefix(f"{named}:{file}"))


def file_of(spec: str) -> str | None:
    """Return the file that a text names, with a function, an algorithm or the data of a problem; None without."""
    try:
        return _parts(spec)[1]
    except ValueError:  # it names nothing, for which its reader has an error
        return None


def read_objective(spec: str, n: int | None, *, persistent: bool = False) -> Objective | str:
    """Return the function in a Python file or the program ("cmd:...") that a text names, or the text of a problem."""
    kind, path, name = spec_parts(spec)
    if persistent and kind != "program":
        raise ValueError(f'--persistent is for programs, as in "cmd:./score", got {spec!r}')
    if kind == "problem":
        if spec.endswith(".py"):
            raise ValueError(f"no function is named in {spec!r}; add it after the file, as in {spec}:f")
        find_problem(spec)
        return spec
    if n is None:
        what = "a program" if kind == "program" else "a function in a Python file"
        raise ValueError(f"{what} needs --n, the number of its variables, got {spec!r} alone")
    if kind == "program":
        return Program(name, persistent=persistent)
    spec = f"{Path(path).absolute()}:{name}"  # now, because the file may change the folder when it is loaded
    loaded(spec)  # raises here if other processes could not load it
    return FileFunction(spec)


@cache
def loaded(spec: str, expected: str | None = None) -> Objective:
    """Return the function that "path/to/file.py:function" names, as the file was at the first call.

    A file that has another identity than the expected one is refused.
    """
    _, path, name = spec_parts(spec)
    if expected is not None and Path(path).is_file() and identity(spec) != expected:
        raise ValueError(f"{path} has changed since the study was read; run the study again")
    function = load(spec)
    if not callable(function):
        raise ValueError(f"expected a function {name!r} in {path}, but it is not a function")
    objective: Objective = function
    return objective


def by_value(objective: AnyObjective) -> AnyObjective:
    """Return an objective that other machines can use, which may not have its file: the function itself."""
    if not isinstance(objective, FileFunction):
        return objective
    function = loaded(objective.spec, objective.identity)
    send_by_value(function)
    return function


def located(spec: str, folder: Path | None) -> str:
    """Return a text with the path of its file, if it names one, relative to a folder."""
    before, path, after = _parts(spec)
    return spec if path is None or folder is None else f"{before}{folder / path}{after}"


def without_folder(spec: str) -> str:
    """Return a text without the folder of its file: "nk:some/file.nk" becomes "nk:file.nk"; commands are unchanged."""
    if spec.startswith("cmd:"):
        return spec
    names_function = spec.rpartition(":")[0].endswith(".py")
    kind, colon, rest = ("", "", spec) if names_function else spec.partition(":")
    return kind + colon + re.split(r"[/\\]", rest)[-1]  # neither a parameter nor a function has a slash


def identity(spec: str) -> str:
    """Return the identity of an objective: equal for all spellings, and for all places of a file with one content.

    That of a program is its command with the content of the files that the command names.
    """
    before, path, after = _parts(spec)
    if spec.startswith("cmd:"):
        return " ".join([spec, *map(file_digest, _files_of(spec.removeprefix("cmd:")))])
    if path is None:
        return canonical_problem(spec)
    return f"{before}{file_digest(path)}{file_settings(spec) if spec_parts(spec)[0] == 'problem' else after}"


def _files_of(command: str) -> list[str]:
    """Return the files among the arguments of a command: a script, its data; not those found through PATH."""
    words = [part for word in shlex.split(command) for part in (word, word.partition("=")[2])]
    return [word for word in words if os.path.isfile(word) and os.access(word, os.R_OK)]
