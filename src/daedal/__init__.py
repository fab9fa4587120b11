"""daedal finds good bit strings for black-box functions."""

from importlib import import_module

from daedal.settings.lazy import lazy_names

__all__, _load, __dir__ = lazy_names(__name__)
__all__ += ["__version__"]


def __getattr__(name: str) -> object:
    return import_module("importlib.metadata").version("daedal") if name == "__version__" else _load(name)
