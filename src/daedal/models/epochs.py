"""Training in epochs, with a pause wherever errors are to be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

WORDS_AT_A_TIME = 2**22
"""Random words drawn for one call of a kernel, 8 MB: enough epochs to hide the call, few enough to stay small."""


def checked_epochs(
    train: Callable[[int], None], *, check_every: int, max_epochs: int, words_an_epoch: int
) -> Iterator[int]:
    """Train, and give the number of epochs so far wherever errors are to be measured: the last time at max_epochs.

    Parameters
    ----------
    train
        Trains for so many epochs.
    words_an_epoch
        Random words that an epoch takes; no call of `train` takes more than WORDS_AT_A_TIME, unless one epoch does.

    Examples
    --------
    >>> list(checked_epochs(lambda epochs: None, check_every=5, max_epochs=12, words_an_epoch=1))
    [5, 10, 12]
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
