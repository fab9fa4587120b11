"""Training in epochs: how long, in which pieces, and when it pauses."""

from __future__ import annotations

import pytest

from daedal.models.training import WORDS_AT_A_TIME, checked_epochs


@pytest.mark.parametrize(
    ("check_every", "max_epochs", "checks"),
    [(5, 12, [5, 10, 12]), (5, 10, [5, 10]), (7, 3, [3]), (1, 3, [1, 2, 3]), (2, 1, [1])],
)
@pytest.mark.parametrize("words_an_epoch", [1, WORDS_AT_A_TIME // 2, WORDS_AT_A_TIME, 10 * WORDS_AT_A_TIME])
def test_pauses_at_every_check_after_so_many_epochs(
    check_every: int, max_epochs: int, checks: list[int], words_an_epoch: int
) -> None:
    trained: list[int] = []
    epochs = checked_epochs(
        trained.append, check_every=check_every, max_epochs=max_epochs, words_an_epoch=words_an_epoch
    )
    assert not trained, "not before it is asked for"
    for expected, epoch in zip(checks, epochs, strict=True):
        assert epoch == expected == sum(trained)
    assert max(trained) * words_an_epoch <= max(WORDS_AT_A_TIME, words_an_epoch)


def test_training_may_be_broken_off() -> None:
    trained: list[int] = []
    for epoch in checked_epochs(trained.append, check_every=2, max_epochs=100, words_an_epoch=1):
        if epoch == 6:
            break
    assert sum(trained) == 6
