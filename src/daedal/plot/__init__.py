"""Figures of runs and studies: each function returns a `Figure`, which shows itself in notebooks and can be saved."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
