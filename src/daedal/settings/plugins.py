"""Plugins: values in users' Python files, "path/to/file.py:NAME", and entry points of installed packages."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from daedal.settings.checks import describe_error

T = TypeVar("T")

_modules: dict[str, str] = {}
"""Loaded files by the names of their modules: other processes have to load them, too."""

_run: set[str] = set()
"""Files that were loaded in this process, including those whose code was sent to others."""

_OURS = Path(__file__).parents[1]
_LARGEST_FILE = 2**26


def is_file_spec(text: str) -> bool:
    """Whether a text is of the form "path/to/file.py:NAME"."""
    path, colon, name = text.rpartition(":")
    return bool(colon and name) and path.endswith(".py")


def load(spec: str) -> Any:
    """Return the value that "path/to/file.py:NAME" names; the file is run once."""
    path, _, name = spec.rpartition(":")
    module = load_file(path)
    try:
        return getattr(module, name)
    except AttributeError:
        raise ValueError(f"there is no {name!r} in {path}") from None
    except Exception as error:  # its own __getattr__
        raise ValueError(f"{path} could not be asked for {name!r}: {describe_error(error)}") from error


def load_file(path: str) -> ModuleType:
    """Run a Python file as a module, once, with its folder at the end of `sys.path`."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"no such file: {path}; name a Python file")
    if file.stat().st_size > _LARGEST_FILE:
        raise ValueError(f"{path} is too large for a Python file ({file.stat().st_size:,} bytes)")
    return _loaded(file.absolute(), file_digest(path))


@cache
def _loaded(path: Path, digest: str) -> ModuleType:
    """Run a file, once for each content, which the digest stands for."""
    # Not its own name: a file may well be called random.py, and two files alike.
    name = f"daedal_file_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    folder = os.path.realpath(path.parent)  # not resolve, which raises RuntimeError for links in a circle
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module  # so that what the file defines can find its own module
    try:
        specification.loader.exec_module(module)
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:
        del sys.modules[name]
        raise ValueError(f"{path} could not be run: {describe_error(error)}") from error
    _modules[name] = str(path)
    _run.add(str(path))
    return module


def place_in_file(error: BaseException) -> str | None:
    """Return the line of a loaded file that raised an exception or called what raised it; None if there is none.

    An exception from daedal's own code does not count, even if such a file called it: it may be daedal's defect.
    """
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file in _run:
            place = f"{file}, line {line}"
        elif Path(file).is_relative_to(_OURS):
            place = None
    return place


def loaded_files() -> list[str]:
    """Return the loaded files; other processes load them before they receive what these define."""
    return list(_modules.values())


def send_by_value(thing: object) -> None:
    """Pickle what a loaded file defines as a copy of its code, for machines that may not have the file."""
    name = getattr(thing, "__module__", "")
    if _modules.pop(name, None) is not None:
        importlib.import_module("cloudpickle").register_pickle_by_value(sys.modules[name])


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file's content."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_line(thing: object) -> str:
    """Return the first line of a docstring, which describes a user's object in a list."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


@cache
def entry_point_names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages have registered in a group."""
    return tuple(sorted({one.name for one in entry_points(group=group)}))


def entry_point(group: str, name: str, read: Callable[[Any], T]) -> T:
    """Load what an installed package has registered under a name; raise ValueError if `read` fails."""
    found = next(one for one in entry_points(group=group) if one.name == name)
    try:
        return read(found.load())
    except (Exception, SystemExit) as error:
        package = found.dist.name if found.dist else found.module
        why = f"{describe_error(error)}; fix or remove the package"
        raise ValueError(f"{name!r} of the package {package} cannot be used: {why}") from error


def register_entry_points(group: str, register: Callable[[str], object]) -> None:
    """Register all names of a group; one that cannot be used causes a warning and leaves the others usable."""
    for name in entry_point_names(group):
        try:
            register(name)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=3)
