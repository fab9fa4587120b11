"""Ways to go on after a climb, and how calls are shared out among them."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.optimizers.arms import ARMS, Arm, Shares, exchange, kick, restart
from daedal.types import StateError

RNG_SEED = 3


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60, 200])
def test_kicks_flip_a_fifteenth_to_a_fifth(n: int) -> None:
    rng, x = np.random.default_rng(RNG_SEED), np.zeros(n, np.uint8)
    sizes = {int(kick(x, rng).sum()) for _ in range(500)}
    assert sizes == set(range(min(n, max(2, n // 15)), min(n, max(3, n // 5)) + 1))
    assert not x.any()


def test_exchanges_keep_the_number_of_ones_three_times_of_four() -> None:
    rng, x = np.random.default_rng(RNG_SEED), np.repeat([0, 1], [30, 10]).astype(np.uint8)
    changed = [exchange(x, rng) != x for _ in range(4000)]
    two = [(change[:30].sum(), change[30:].sum()) == (1, 1) for change in changed]
    assert np.mean(two) == pytest.approx(0.75, abs=0.02)
    assert {int(change.sum()) for change in changed} >= {2, 3, 4}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_exchanges_of_equal_bits_flip_any(n: int) -> None:
    rng = np.random.default_rng(RNG_SEED)
    for x in (np.zeros(n, np.uint8), np.ones(n, np.uint8)):
        assert all((exchange(x, rng) != x).sum() in range(min(n, 2), n + 1) for _ in range(50))


def test_restarts_are_uniform() -> None:
    rng, x = np.random.default_rng(RNG_SEED), np.ones(3, np.uint8)
    counts = np.bincount([int(restart(x, rng) @ (1, 2, 4)) for _ in range(8000)], minlength=8)
    assert ((counts - 1000) ** 2 / 1000).sum() < 24.3  # chi-square, 7 degrees of freedom, p = 0.001


def run(shares: Shares, gain: dict[int, float], calls: int = 20_000) -> list[float]:
    """Give the share of the calls of each arm, where a call of an arm gains so much."""
    made = np.zeros(len(shares.arms))
    for _ in range(calls):
        arm = shares.choose(np.inf)[0]
        made[arm] += 1
        shares.count_call(arm)
        shares.credit(arm, gain.get(arm, 0.0))
    return [float(share) for share in made / calls]


def test_shares_are_those_of_the_arms_where_nothing_is_gained() -> None:
    assert run(Shares(ARMS, 20), {}) == pytest.approx([arm.share for arm in ARMS], abs=0.01)


def test_who_alone_gains_gets_most_and_no_arm_nothing() -> None:
    *others, last = run(Shares(ARMS, 20), {2: 1.0})
    assert last == pytest.approx(0.7 + 0.3 * 0.2, abs=0.01)
    assert others == pytest.approx([0.3 * 0.4] * 2, abs=0.01)


def test_near_the_end_no_climb_begins() -> None:
    shares = Shares(ARMS, 60)
    assert [ARMS[k].name for k in shares.choose(0.2)] == ["exchange"]
    assert {ARMS[k].name for k in shares.choose(0.5)} == {"exchange", "kick"}
    assert len(shares.choose(1.0)) == 3


def test_the_state_of_other_arms_is_refused() -> None:
    with pytest.raises(StateError, match="2 arms"):
        Shares(ARMS[:2], 10).restore(Shares(ARMS, 10).state())


def test_infinite_gains_do_not_count() -> None:
    shares = Shares((Arm(name="a", start=kick, share=0.5), Arm(name="b", start=restart, share=0.5)), 10)
    shares.credit(0, np.inf)
    assert shares.state().arrays["gains"].tolist() == [0.0, 0.0]
