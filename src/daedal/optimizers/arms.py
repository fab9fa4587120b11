"""Arms of a search: where to go on from once a climb has ended, and how calls are shared out among these ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daedal.types import Bits, State, StateError

_MEMORY = 6.0
"""Calls, in multiples of n, after which what an arm has gained counts half."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A way to go on.

    Attributes
    ----------
    name
        What it is called.
    start
        Gives a row, shape (n,), from the incumbent, shape (n,), and random numbers; None: there is none just now.
    share
        Share of the calls, where no arm has gained more than others.
    climbs
        Whether single flips are tried from its rows; otherwise only the rows themselves.
    needs
        Calls that have to be left, in multiples of n, for it to be worth its while.
    """

    name: str
    start: Callable[[Bits, np.random.Generator], Bits | None]
    share: float
    climbs: bool = True
    needs: float = 0.0


def kick(x: Bits, rng: np.random.Generator) -> Bits:
    """Flip a fifteenth to a fifth of the variables, at least two."""
    n = len(x)
    least, most = min(n, max(2, n // 15)), min(n, max(3, n // 5))
    return flip(x, rng.permutation(n)[: rng.integers(least, most + 1)])


def restart(x: Bits, rng: np.random.Generator) -> Bits:
    """Give a random row."""
    return rng.integers(0, 2, len(x), dtype=np.uint8)


def exchange(x: Bits, rng: np.random.Generator) -> Bits:
    """Flip a one and a zero, so that as many are ones as before; with probability 1/4, some more variables, any ones.

    Where a capacity is used up, no single flip gains anything, but an exchange may.
    """
    n, size = len(x), 2
    while size < n and rng.random() < 0.25:
        size += 1
    ones = np.flatnonzero(x)
    if size > 2 or len(ones) in (0, n):
        return flip(x, rng.permutation(n)[:size])
    zeros = np.flatnonzero(x == 0)
    return flip(x, np.array([ones[rng.integers(len(ones))], zeros[rng.integers(len(zeros))]]))


def flip(x: Bits, variables: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Bits:
    """Give a row with some variables flipped."""
    row = x.copy()
    row[variables] ^= 1
    return row


ARMS = (
    Arm(name="kick", start=kick, share=0.4, needs=0.25),
    Arm(name="restart", start=restart, share=0.4, needs=1.0),
    Arm(name="exchange", start=exchange, share=0.2, climbs=False),
)
"""Those of iterated local search."""


class Shares:
    """Shares the calls out among arms: most of them in proportion to what each has gained of late.

    Parameters
    ----------
    arms
        The arms.
    n
        Number of variables.
    adaptive
        Share of the calls that goes by what arms have gained; the others go by `Arm.share`.
    """

    def __init__(self, arms: Sequence[Arm], n: int, adaptive: float = 0.7) -> None:
        self.arms = arms
        self.adaptive = adaptive
        self._decay = 0.5 ** (1 / (_MEMORY * n))
        # Arms that look at single rows begin: whether exchanges gain shows soon.
        self._calls = [n / 3 if arm.climbs else 0.0 for arm in arms]
        self._gains = [0.0 for _ in arms]

    def choose(self, left: float) -> list[int]:
        """Give the arms, the one first that is farthest behind its share; left: calls left, in multiples of n."""
        total = sum(self._gains)

        def used(k: int) -> float:
            fixed = self.arms[k].share
            share = (1 - self.adaptive) * fixed + self.adaptive * self._gains[k] / total if total > 0 else fixed
            return (self._calls[k] + 1) / max(share, 1e-9)

        return sorted((k for k, arm in enumerate(self.arms) if arm.needs <= left), key=used)

    def count_call(self, arm: int) -> None:
        """Count a call for an arm, or for none where it is below 0."""
        self._calls = [calls * self._decay for calls in self._calls]
        self._gains = [gain * self._decay for gain in self._gains]
        if arm >= 0:
            self._calls[arm] += 1.0

    def credit(self, arm: int, gain: float) -> None:
        """Take by how much an arm has improved the best value."""
        if arm >= 0 and np.isfinite(gain):
            self._gains[arm] += gain

    def state(self) -> State:
        """Give calls and gains."""
        return State(arrays={"calls": np.array(self._calls), "gains": np.array(self._gains)}, fields={})

    def restore(self, state: State) -> None:
        """Take what another one gave."""
        calls, gains = state.floats("calls"), state.floats("gains")
        if len(calls) != len(self.arms) or len(gains) != len(self.arms):
            raise StateError(f"expected calls and gains of {len(self.arms)} arms, got {len(calls)} and {len(gains)}")
        self._calls, self._gains = calls.tolist(), gains.tolist()
