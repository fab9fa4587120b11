"""Black-box optimization over discrete and mixed variables."""

from importlib import import_module

from daedal.settings.lazy import lazy_names

__all__, _load, __dir__ = lazy_names(__name__)
__all__ += ["__version__"]


def __getattr__(name: str) -> object:
    return _version() if name == "__version__" else _load(name)


def _version() -> str:
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version("daedal"))
    except metadata.PackageNotFoundError:  # it is run from its sources, or the path is empty
        return "unknown"
