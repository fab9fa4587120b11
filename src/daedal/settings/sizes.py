"""Checks of the whole numbers that problems are made from."""

from __future__ import annotations

from numbers import Integral


def check_whole(problem: str, name: str, value: int, *, least: int) -> None:
    """Refuse anything but a whole number of at least `least`.

    Examples
    --------
    >>> check_whole("onemax", "n", 0, least=1)
    Traceback (most recent call last):
    ...
    ValueError: onemax needs n to be a whole number of at least 1, got n=0
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{problem} needs {name} to be a whole number of at least {least}, got {name}={value!r}")
