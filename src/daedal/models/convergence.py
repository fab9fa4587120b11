"""When to end the training of an autoencoder: the paper's parameter control scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

Theta = TypeVar("Theta")
"""Parameters of whatever is trained."""


def half_width(measurements: int) -> int:
    """Give the half width of the moving average: it grows with the series."""
    if measurements >= 30:
        return 4
    return 3 if measurements >= 20 else 2


def smoothed(errors: Sequence[float], index: int, half: int) -> float:
    """Average errors over index - half ... index + half, with the first error repeated before the first."""
    window = [errors[max(i, 0)] for i in range(index - half, index + half + 1)]
    return sum(window) / len(window)


def late_gain(errors: Sequence[float]) -> float | None:
    """Give gamma: the share of all gain that the last third of the smoothed errors brought.

    None where there was no gain at all. The last half width of points has no full window and is not used.

    Examples
    --------
    >>> late_gain([8.0, 4.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    0.0
    """
    half = half_width(len(errors))
    last = len(errors) - 1 - half
    if last < 1:
        return 1.0  # too early to tell
    end = smoothed(errors, last, half)
    gain = smoothed(errors, 0, half) - end
    if gain <= 0:
        return None
    return (smoothed(errors, (2 * last) // 3, half) - end) / gain


def gap(train: Sequence[float], validation: Sequence[float]) -> float:
    """Give how far the validation error is above the training error, as a share of the latter, both smoothed."""
    half = half_width(len(train))
    last = max(len(train) - 1 - half, 0)
    level = smoothed(train, last, half) if len(train) > half else train[-1]
    other = smoothed(validation, last, half) if len(validation) > half else validation[-1]
    return (other - level) / level if level > 0 else 0.0


@dataclass
class TrainingErrors:
    """The errors measured so far.

    Attributes
    ----------
    gamma
        Training ends when the last third of it brought less than this share of the gain.
    overfitting
        Training ends when the validation error is above the training error by more than this share; None: never.
    """

    gamma: float
    overfitting: float | None
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    def add(self, train: float, validation: float | None) -> bool:
        """Add one measurement; tell whether it is the best so far, by the validation error where there is one."""
        self.train.append(train)
        if validation is not None:
            self.validation.append(validation)
        decisive = self.validation or self.train
        return decisive[-1] <= min(decisive)

    def converged(self) -> bool:
        """Whether to stop: no gain, too little of it late, or overfitting."""
        for errors in (self.train, self.validation):
            if errors:
                share = late_gain(errors)
                if share is None or share < self.gamma:
                    return True
        if self.overfitting is None or not self.validation:
            return False
        return gap(self.train, self.validation) > self.overfitting


def train_to_convergence(
    theta: Theta,
    epochs: Iterable[int],
    measure: Callable[[], tuple[float, float | None]],
    copy: Callable[[Theta], Theta],
    errors: TrainingErrors,
    *,
    min_epochs: int,
) -> tuple[Theta, int, float]:
    """Train until the errors say stop, and keep what was best (Algorithm 2).

    Parameters
    ----------
    theta
        What `epochs` trains in place.
    epochs
        Trains on, and gives the number of epochs so far wherever the errors are to be measured.
    measure
        Gives the training error and, where there is one, the validation error.
    copy
        Copies theta.
    errors
        Collects what was measured, and decides.
    min_epochs
        Training does not end before.

    Returns
    -------
    theta
        A copy made at the lowest error; theta itself where no error was a number.
    epochs
        How long it was trained.
    error
        The training error of that copy.
    """
    best, best_error, epoch = theta, float("inf"), 0
    for epoch in epochs:
        error, validation = measure()
        if errors.add(error, validation):
            best, best_error = copy(theta), error
        if epoch >= min_epochs and errors.converged():
            break
    return best, epoch, best_error
