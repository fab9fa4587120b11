"""Feature selection for scikit-learn: `pip install "daedal[sklearn]"`."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
