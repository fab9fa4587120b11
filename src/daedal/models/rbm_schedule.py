"""How the training of a Boltzmann machine slows down and ends: by what it still gains in reconstruction error."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """When to do what; the names and defaults are those of `RBM`."""

    smoothing: float = 0.6
    min_gain: float = 0.01
    momentum_below: float = 0.1
    rate_below: float = 0.05
    stop_below: float = 0.01
    low_error: float = 0.01
    rise: float = 0.02
    min_epochs: int = 30
    min_updates: int = 2000


@dataclass
class Schedule:
    """The smoothed errors so far, and what they say.

    Where the description of the authors' program leaves a point open, this is the reading that came nearest to its
    reference run (trap k=4, n=20, P=2000: 12,000 evaluations and 86 epochs a generation; here about as many and 100):
    the first error is measured before training, so that the total gain is all that training has brought; a quarter of
    the measurements is rounded down to whole ones, and r is not used before there is one; the late momentum applies
    while r is low; the learning rate is halved again at every measurement with a low r. Each error is that of another
    random quarter of the rows, with reconstructed bits drawn: their probabilities, which are less noisy, lead to 300
    epochs and to fewer evaluations than the reference has.

    Attributes
    ----------
    thresholds
        When to do what.
    smoothed
        s after each measurement.
    late
        Whether the late momentum applies.
    halvings
        How often the learning rate has been halved.
    stop
        Whether training is over.

    Examples
    --------
    >>> schedule = Schedule(Thresholds(smoothing=0.0))
    >>> for error in (0.50, 0.30, 0.22, 0.20, 0.19):
    ...     schedule.add(error, epoch=0, updates=0)
    >>> round(schedule.late_gain(), 3), schedule.late, schedule.halvings, schedule.stop
    (0.032, True, 1, False)
    """

    thresholds: Thresholds
    smoothed: list[float] = field(default_factory=list)
    late: bool = False
    halvings: int = 0
    stop: bool = False

    def add(self, error: float, *, epoch: int, updates: int) -> None:
        """Add one measurement, made after so many epochs and updates."""
        t = self.thresholds
        last = self.smoothed[-1] if self.smoothed else error
        level = t.smoothing * last + (1 - t.smoothing) * error
        self.smoothed.append(level)
        r = self.late_gain()
        if self.smoothed[0] - level > t.min_gain * self.smoothed[0]:
            self.late = r < t.momentum_below
            self.halvings += r < t.rate_below
            self.stop = self.stop or r < t.stop_below
        worse = r == 0 and level > (1 + t.rise) * min(self.smoothed)
        if level < t.low_error or (worse and updates >= t.min_updates and epoch >= t.min_epochs):
            self.stop = True

    def late_gain(self) -> float:
        """Give r: the share of all gain that the last quarter of training brought, within 0..1.

        0 where there was no gain at all, and 1 as long as a quarter is less than one measurement.
        """
        steps = len(self.smoothed) - 1
        quarter = steps // 4
        if quarter == 0:
            return 1.0
        first, end = self.smoothed[0], self.smoothed[-1]
        if first <= end:
            return 0.0
        return min(max((self.smoothed[steps - quarter] - end) / (first - end), 0.0), 1.0)
