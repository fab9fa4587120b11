"""Climbs by single flips, one at a time, side by side: each flips next what promises most, by the gains remembered."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.counting import WORD
from daedal.kernels.draws import draw_unit
from daedal.kernels.gains import FIELD_COUNT, FIELDS, UNTRIED, Gains, appraise, learn_gain
from daedal.kernels.jobs import Floats, Integers, Memory, Words, gain_over, place_of
from daedal.types import INFEASIBLE, Bits

FREE, START, PROBE, LOOK = 0, 1, 2, 3
"""Stages: nothing to do; waits for the value of its first row; of a flip; of a row that it does not climb from."""

_LEAST = 1e-3  # of a root mean square field: what a flip has to be worth
_TINY = 1e-300  # where nothing is worth anything, any flip
_ONE = np.uint64(1)


class Climbers(NamedTuple):
    """Climbs, one a slot; all arrays begin with the number of slots."""

    stage: Integers
    at: Integers  # the place of the row it stands on
    asked: Integers  # the place of the row it waits for
    flipped: Integers  # the variable in which they differ
    failed: Integers  # calls since the last improvement
    rows: Bits  # the row it stands on, shape (slots, n)
    tested: Bits  # which flips were tried from there, shape (slots, n)
    worth: Floats  # what flips promise, shape (slots, n)


@njit(**EXACT)
def choose_flip(worth: Floats, tested: Bits, least: float, draws: Words) -> int:
    """Give the variable with the largest worth, each times a random number from 0 to 1; -1 if that is too little."""
    chosen, largest = -1, -1.0
    for i in range(worth.size):
        if tested[i] == 0:
            value = (worth[i] + _TINY) * draw_unit(draws)
            if value > largest:
                chosen, largest = i, value
    return chosen if largest >= least else -1


@njit(**EXACT)
def go_on_flipping(memory: Memory, gains: Gains, climbers: Climbers, slot: int, draws: Words, row: Words) -> bool:
    """Go on with a climb as far as known rows lead; tell whether it waits for a value, or has ended.

    There has to be room for one more row in the memory; row (words,) is for use here.
    """
    n = climbers.rows.shape[1]
    while climbers.asked[slot] < memory.counts[1]:
        if climbers.stage[slot] == PROBE:
            _take_flip(memory, gains, climbers, slot)
        else:
            climbers.at[slot] = climbers.asked[slot]
            if climbers.stage[slot] == LOOK:
                climbers.stage[slot] = FREE
                return False
            climbers.stage[slot] = PROBE
            _stand(memory, gains, climbers, slot)
        least = _LEAST * math.sqrt(gains.sums[FIELDS] / max(1.0, gains.sums[FIELD_COUNT]))
        i = choose_flip(climbers.worth[slot], climbers.tested[slot], least, draws)
        if i < 0 or climbers.failed[slot] > n:
            climbers.stage[slot] = FREE
            return False
        row[:] = memory.keys[climbers.at[slot]]
        row[i // WORD] ^= _ONE << np.uint64(i % WORD)
        climbers.flipped[slot] = i
        climbers.asked[slot] = place_of(memory, row, climbers.at[slot])
        climbers.failed[slot] += climbers.asked[slot] >= memory.counts[1]
    return True


@njit(**EXACT)
def _stand(memory: Memory, gains: Gains, climbers: Climbers, slot: int) -> None:
    """Begin to try flips from the row of the climb's place."""
    row = climbers.rows[slot]
    _read_row(memory, climbers, slot)
    climbers.tested[slot, :] = 0
    climbers.failed[slot] = 0
    gains.tried[row.size] += row.size // 2  # where only the number of flips counts: as if half had been made
    _appraise(memory, gains, climbers, slot)


@njit(**EXACT)
def _appraise(memory: Memory, gains: Gains, climbers: Climbers, slot: int) -> None:
    """Say what flips promise; of a row that violates constraints nothing is known, and any may help."""
    if -np.inf < memory.values[climbers.at[slot]] <= INFEASIBLE:
        climbers.worth[slot, :] = UNTRIED
    else:
        appraise(gains, climbers.rows[slot], climbers.worth[slot])


@njit(**EXACT)
def _read_row(memory: Memory, climbers: Climbers, slot: int) -> None:
    row, key = climbers.rows[slot], memory.keys[climbers.at[slot]]
    for i in range(row.size):
        row[i] = (key[i // WORD] >> np.uint64(i % WORD)) & _ONE


@njit(**EXACT)
def _take_flip(memory: Memory, gains: Gains, climbers: Climbers, slot: int) -> None:
    """Learn from the value of a flip, and make it if it is an improvement."""
    row, i = climbers.rows[slot], climbers.flipped[slot]
    value, before = memory.values[climbers.asked[slot]], memory.values[climbers.at[slot]]
    if before > INFEASIBLE:
        learn_gain(gains, i, row, gain_over(value, before))
    if value > before:
        climbers.at[slot] = climbers.asked[slot]
        if memory.code.kinds.size:  # other bits may have given way
            _read_row(memory, climbers, slot)
        else:
            row[i] ^= 1
        climbers.failed[slot] = 0
        climbers.tested[slot, :] = 0
        gains.tried[row.size] += 1
        _appraise(memory, gains, climbers, slot)
    climbers.tested[slot, i] = 1


@njit(**EXACT)
def add_unseen(memory: Memory, row: Words, most: int) -> int:
    """Give the place of the first new row from one of one word on, counted up and, below most, around; -1 for none."""
    for _ in range(most):
        count = memory.counts[0]
        place = place_of(memory, row, -1)
        if memory.counts[0] > count:
            return int(place)
        row[0] = (row[0] + _ONE) % np.uint64(most)
    return -1
