"""Kinds of codes, by number: for kernels, and for those who should not load Numba to name them."""

ONE_HOT, BINARY, GRAY, SUBSET, PERMUTATION = 0, 1, 2, 3, 4
"""One bit for each value; a number; the same in Gray code; a bit for each member; the place of each item, a number."""
