"""Numba functions on plain arrays: no classes, no randomness of their own, no allocation in loops.

Numba is slow to load: after `from daedal import kernels`, it is loaded when a module of kernels is first used.
"""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
