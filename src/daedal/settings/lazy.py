"""Names of a package that are loaded when they are first used (PEP 562), so that the package itself loads at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

Hooks: TypeAlias = tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]
"""`__all__`, `__getattr__` and `__dir__` of a package."""


def lazy_names(package: str, homes: Mapping[str, str]) -> Hooks:
    """Give `__all__`, `__getattr__` and `__dir__` for a package whose names are loaded when they are first used.

    Parameters
    ----------
    package
        The package, `__name__` in its own file.
    homes
        For each name the module that has it; the name of a module of the package's own has `package.name`.

    Examples
    --------
    A type checker cannot follow, so the names are imported for it alone::

        if TYPE_CHECKING:
            from daedal.models.dae import DAE as DAE
        else:
            __all__, __getattr__, __dir__ = lazy_names(__name__, {"DAE": "daedal.models.dae"})
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(homes[name])
        value = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next use is a plain lookup
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return list(homes), load, listed
