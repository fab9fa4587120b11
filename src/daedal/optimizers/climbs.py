"""Climbs by single flips side by side, with the gains that they remember together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.optimizers.row_memory import RowMemory
from daedal.types import State, StateError, words_of

MOST_PAIRED = 256
"""Variables up to which gains are remembered with tables of pairs."""

_STAGES = 4


class Climbs:
    """Climbs over one memory of rows.

    Parameters
    ----------
    n
        Number of variables.
    slots
        How many climbs there are.
    paired
        Whether to learn of pairs of variables; None: where there are at most MOST_PAIRED variables.

    Attributes
    ----------
    climbers, gains
        What kernels take.
    """

    def __init__(self, n: int, slots: int, *, paired: bool | None = None) -> None:
        self.n = n
        side = n if (n <= MOST_PAIRED if paired is None else paired) else 0
        self.gains = kernels.gains.Gains(
            fields=np.zeros(n),
            tried=np.append(np.full(n, -1), 0),
            at=np.zeros((side, side), np.uint8),
            pairs=np.zeros((side, side)),
            doubts=np.full((side, side), -1.0),
            sums=np.zeros(5),
        )
        self.climbers = kernels.flipping.Climbers(
            stage=np.zeros(slots, np.int64),
            at=np.zeros(slots, np.int64),
            asked=np.zeros(slots, np.int64),
            flipped=np.zeros(slots, np.int64),
            failed=np.zeros(slots, np.int64),
            rows=np.zeros((slots, n), np.uint8),
            tested=np.zeros((slots, n), np.uint8),
            worth=np.zeros((slots, n)),
        )
        self._draws = np.zeros(1, np.uint64)
        self._row = np.empty(words_of(n), np.uint64)
        self._go_on = kernels.flipping.go_on_flipping

    def seed(self, word: int) -> None:
        """Set where random numbers begin: any 64-bit word."""
        self._draws[0] = word

    def is_free(self, slot: int) -> bool:
        """Whether a slot has nothing to do."""
        return bool(self.climbers.stage[slot] == kernels.flipping.FREE)

    def start(self, slot: int, place: int, *, climb: bool) -> None:
        """Begin at the place of a row; without climbing, only its value is waited for."""
        self.climbers.stage[slot] = kernels.flipping.START if climb else kernels.flipping.LOOK
        self.climbers.asked[slot] = place

    def go_on(self, memory: RowMemory, slot: int) -> bool:
        """Go on as far as known rows lead, and ask for one more; tell whether the slot waits, or is free.

        There has to be room for it in the memory.
        """
        waits: bool = self._go_on(memory.table, self.gains, self.climbers, slot, self._draws, self._row)
        return waits

    def place(self, slot: int) -> int:
        """Give the place of the row where a slot stands."""
        return int(self.climbers.at[slot])

    def state(self) -> State:
        """Give all arrays."""
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        return State(arrays=arrays, fields={})

    def restore(self, state: State, places: int) -> None:
        """Take what another one gave, over a memory of so many places; refuse what is none."""
        for name, own in self._arrays().items():
            array = state.array(name)
            if array.shape != own.shape or array.dtype != own.dtype or not _is_sound(array):
                raise StateError(f"expected {name} of shape={own.shape}, got dtype={array.dtype}, shape={array.shape}")
            own[...] = array
        who = self.climbers
        ends = {"stage": _STAGES, "at": max(1, places), "asked": max(1, places), "flipped": self.n}
        if not all(((array := getattr(who, name)) >= 0).all() and (array < end).all() for name, end in ends.items()):
            raise StateError("expected climbs that stand on known rows, got others")

    def _arrays(self) -> dict[str, NDArray[Any]]:
        gains = {f"gains.{name}": array for name, array in self.gains._asdict().items()}
        return {**gains, **self.climbers._asdict(), "draws": self._draws}


def _is_sound(array: NDArray[Any]) -> bool:
    """Whether bits are bits, and numbers are finite."""
    return bool((array <= 1).all() if array.dtype == np.uint8 else np.isfinite(array).all())
