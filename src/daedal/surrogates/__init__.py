"""Surrogates: models of the objective, fitted to values, whose maxima are candidates worth evaluating."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
