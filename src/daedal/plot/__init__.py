"""Pictures of runs and studies, with Matplotlib; each function gives the Axes that it has drawn on."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
