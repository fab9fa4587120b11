"""A curve in one line of text."""

from __future__ import annotations

import math

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.-=+*%#"


class Sparkline:
    """The course of a value, of whatever length, in memory that does not grow.

    Parameters
    ----------
    points
        Values that are kept, about, and at most twice as many: of a longer course, every second one, and so on.

    Examples
    --------
    >>> curve = Sparkline()
    >>> for value in (1, 2, 4, 8, 8):
    ...     curve.add(value)
    >>> curve.text(20)
    '▁▂▄██'
    """

    def __init__(self, points: int = 128) -> None:
        self.points = points
        self._kept: list[float] = []
        self._last = math.nan
        self._every = 1  # so many values there are for each that is kept
        self._left = 1  # values to come until one is kept

    def add(self, value: float) -> None:
        """Take the next value."""
        self._last = value
        self._left -= 1
        if self._left:
            return
        kept = [*self._kept, value]
        if len(kept) >= 2 * self.points:
            kept = kept[1::2]
            self._every *= 2
        self._kept = kept  # another list: a display may be at the one before, in its own thread
        self._left = self._every

    def text(self, width: int, *, ascii_only: bool = False) -> str:
        """Draw it in so many columns at most, from the lowest value to the highest; blank where it is not finite."""
        kept = self._kept
        values = [*kept, self._last] if self._left < self._every else kept
        if len(values) > width > 0:
            values = [values[(place + 1) * len(values) // width - 1] for place in range(width)]
        finite = [value for value in values if math.isfinite(value)]
        if not finite or width < 1:
            return ""
        signs, low = _ASCII if ascii_only else _BLOCKS, min(finite)
        span = max(finite) - low
        return "".join(_sign(value, low, span, signs) for value in values)


def _sign(value: float, low: float, span: float, signs: str) -> str:
    if not math.isfinite(value):
        return " "
    share = (value - low) / span if 0 < span < math.inf else 0.0
    return signs[min(int(share * len(signs)), len(signs) - 1)]
