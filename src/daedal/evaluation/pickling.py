"""How functions travel to other processes and machines."""

from __future__ import annotations

import importlib
import pickle
import sys
from contextlib import suppress
from typing import Any


def pack(thing: object, what: str) -> bytes:
    """Turn a function or another object into bytes for another process; refuse what cannot be sent.

    Lambdas, closures and functions of the main script travel by value, which takes cloudpickle; anything that can be
    imported there travels by name, and so does what is defined in the user's files that were loaded here: they are
    loaded there first.
    """
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        cloudpickle = None
    try:
        packed = (pickle if cloudpickle is None else cloudpickle).dumps(thing)
        return pickle.dumps((_loaded_files(), packed))
    except Exception as error:
        hint = (
            'pip install "daedal[parallel]" lets lambdas and closures travel'
            if cloudpickle is None
            else "does it hold an open file, a lock or a connection? Open it inside the function"
        )
        raise TypeError(
            f"{what} cannot be sent to another process ({type(error).__name__}: {error}); {hint}"
        ) from error


def unpack(data: bytes) -> Any:
    """Turn what `pack` made into the object again. Only for bytes that this program itself has sent."""
    files, packed = pickle.loads(data)
    if files:
        from daedal.settings.plugins import load_file  # slow to load, and most functions need no file

        for file in files:
            with suppress(ValueError):  # it may not be there, nor be needed; what needs it will say so
                load_file(file)
    return pickle.loads(packed)


def _loaded_files() -> list[str]:
    """Return the user's files that were loaded in this process."""
    plugins = sys.modules.get("daedal.settings.plugins")
    return [] if plugins is None else list(plugins.loaded_files())
