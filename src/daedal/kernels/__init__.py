"""Numba functions on plain arrays: no classes, no randomness of their own, no allocation in loops."""
