"""Training in epochs: pauses to measure errors, and the paper's parameter control scheme, which ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import TrainingCurve
from daedal.threads import one_blas_thread

Theta = TypeVar("Theta")  # Parameters of whatever is trained

WORDS_AT_A_TIME = 2**22
"""Random words drawn for one call of a kernel, 8 MB: enough epochs to hide the call, few enough to stay small."""


def checked_epochs(
    train: Callable[[int], None], *, check_every: int, max_epochs: int, words_an_epoch: int
) -> Iterator[int]:
    """Train, and give the number of epochs so far wherever errors are to be measured: the last time at max_epochs.

    `train` trains for so many epochs; no call of it takes more than WORDS_AT_A_TIME words, unless one epoch does.
    """
    at_a_time = max(1, WORDS_AT_A_TIME // words_an_epoch)
    epoch = 0
    while epoch < max_epochs:
        check = min(epoch + check_every, max_epochs)
        while epoch < check:
            count = min(at_a_time, check - epoch)
            train(count)
            epoch += count
        yield epoch


def curve_of(errors: Sequence[float], *, every: int, last: int, first: int | None = None) -> TrainingCurve:
    """Give errors with the epochs after which they were measured: every so many, and the last."""
    start, step = every if first is None else first, min(every, last)  # nobody can wait for longer than to the end
    epochs = np.minimum(min(start, last) + step * np.arange(len(errors)), last)
    return TrainingCurve(epochs.astype(np.int64), np.array(errors, dtype=np.float64))


def products_of(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give what passes from each input to each output of a hidden layer, shape (n, n), from weights of shape (n, m).

    Hidden units pass on a quarter at most; a pair has the stronger of its two directions.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # weights may be huge
        passed = np.abs(one @ other.T).astype(np.float64) / 4
    both: NDArray[np.float64] = np.maximum(passed, passed.T)
    np.fill_diagonal(both, 0.0)
    return np.nan_to_num(both, nan=0.0)  # finite, so that a checkpoint can have it


def half_width(measurements: int) -> int:
    """Give the half width of the moving average: it grows with the series."""
    return 2 + (measurements >= 20) + (measurements >= 30)


def smoothed(errors: Sequence[float], index: int, half: int) -> float:
    """Average errors over index - half ... index + half, with the first error repeated before the first."""
    window = [errors[max(i, 0)] for i in range(index - half, index + half + 1)]
    return sum(window) / len(window)


def late_gain(errors: Sequence[float]) -> float | None:
    """Give gamma: the share of all gain that the last third of the smoothed errors brought; None without any gain.

    The last half width of points has no full window and is not used.
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
    last = len(train) - 1 - half
    level, other = (smoothed(errors, last, half) if last >= 0 else errors[-1] for errors in (train, validation))
    return (other - level) / level if level > 0 else 0.0


@dataclass
class TrainingErrors:
    """The errors measured so far, and when they end training."""

    gamma: float  # when the last third of training brought less than this share of the gain
    overfitting: float | None  # when the validation error is above the training error by more than this share
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
        shares = [late_gain(errors) for errors in (self.train, self.validation) if errors]
        if any(share is None or share < self.gamma for share in shares):
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

    `epochs` trains theta in place, and gives the number of epochs so far wherever the errors are to be measured:
    that of training and, where there is one, of validation. Gives a copy of theta made at the lowest error, or theta
    itself where no error was a number; how many epochs it was trained; and the training error of that copy.
    """
    best, best_error, epoch = theta, float("inf"), 0
    for epoch in epochs:
        error, validation = measure()
        if errors.add(error, validation):
            best, best_error = copy(theta), error
        if epoch >= min_epochs and errors.converged():
            break
    return best, epoch, best_error
