"""All parts of the suite."""

from __future__ import annotations

import importlib
import pkgutil
import warnings

import commands
import disks
import files
import objectives
import pairs
import settings
import signals
from cases import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        commands.PART,
        settings.PART,
        files.PART,
        objectives.PART,
        signals.PART,
        disks.PART,
        pairs.PART,
    )
}


def load_everything() -> None:
    """Load in this process what a fork of it would have to load each time, kernels included."""
    import daedal

    for module in pkgutil.walk_packages(daedal.__path__, "daedal."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    "".encode("cp437")  # which zip files are read with where their names are no UTF-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in daedal.algorithms():
            daedal.maximize("trap:k=4,n=12", algorithm=name, seed=1, max_evaluations=150)
        daedal.maximize("nk:n=12,k=2,seed=1", algorithm="umda", seed=1, max_evaluations=150)
