"""Problems: functions of n bits, to be maximized, that state their optimum where it is known."""

from daedal.settings.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
