"""Models of what good solutions have in common: each fits rows of bits and samples new ones."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
