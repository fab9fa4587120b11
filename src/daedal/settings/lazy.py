"""What is loaded when it is first used: names of a package (PEP 562), and optional packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package whose names are in its stub, `__init__.pyi`.

    The stub is what type checkers read; it has a line `from module import name as name` for each of them.
    """
    module = sys.modules[package]
    with open(f"{module.__file__}i", encoding="utf-8") as stub:
        homes = {words[-1]: words[1] for line in stub if (words := line.split())[:1] == ["from"]}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)  # the next use is a plain lookup
        return value

    def listed() -> list[str]:
        return sorted({*vars(module), *module.__all__})

    return list(homes), load, listed


class MissingExtraError(ImportError, ValueError):
    """A package that is needed here is not installed.

    It is an ImportError, as everywhere in Python, and a ValueError, as every error that a user can fix.
    """


def missing_extra(need: str, extra: str) -> MissingExtraError:
    """Return the error for a need that an optional package would meet, with the line that installs it.

    Examples
    --------
    >>> print(missing_extra("a data frame needs pandas", "frame"))
    a data frame needs pandas: pip install "daedal[frame]"
    """
    return MissingExtraError(f'{need}: pip install "daedal[{extra}]"')
