"""JAX's modules, loaded when something of theirs is first used; where JAX is missing, that says how to install it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from daedal.settings.extras import missing_extra


class _LazyModule:
    """A module that is loaded with the first look at one of its names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(_loaded(self._name), attribute)


@cache
def _loaded(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise missing_extra("backend=jax needs JAX", "jax") from error


jax: Any = _LazyModule("jax")
jnp: Any = _LazyModule("jax.numpy")
lax: Any = _LazyModule("jax.lax")
