"""Numba functions on plain arrays: no classes, no randomness of their own, no allocation in loops.

Numba is slow to load: after `from daedal import kernels`, it is loaded when a module of kernels is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedal.settings.lazy import lazy_names

if TYPE_CHECKING:
    from daedal.kernels import bayesnet as bayesnet
    from daedal.kernels import bayesnet_tables as bayesnet_tables
    from daedal.kernels import compilation as compilation
    from daedal.kernels import counting as counting
    from daedal.kernels import dae as dae
    from daedal.kernels import dae_training as dae_training
    from daedal.kernels import ecga as ecga
    from daedal.kernels import elimination as elimination
    from daedal.kernels import landscapes as landscapes
    from daedal.kernels import logistic as logistic
    from daedal.kernels import noise as noise
    from daedal.kernels import numba_cache as numba_cache
    from daedal.kernels import products as products
    from daedal.kernels import rbm as rbm
    from daedal.kernels import replacement as replacement
    from daedal.kernels import rowtable as rowtable
    from daedal.kernels import threads as threads
    from daedal.kernels import tiles as tiles
    from daedal.kernels import tree as tree
else:
    _MODULES = (
        "bayesnet", "bayesnet_tables", "compilation", "counting", "dae", "dae_training", "ecga", "elimination",
        "landscapes", "logistic", "noise", "numba_cache", "products", "rbm", "replacement", "rowtable", "threads",
        "tiles", "tree",
    )  # fmt: skip
    __all__, __getattr__, __dir__ = lazy_names(__name__, {name: f"{__name__}.{name}" for name in _MODULES})
