"""Numba functions on plain arrays: no classes, no randomness of their own, no allocation in loops."""

from daedal.kernels.numba_cache import discard_stale
from daedal.kernels.tiles import tiled_product

discard_stale(tiled_product)  # before any kernel is loaded
