"""Mixing: groups of variables are copied from other members of a population into one, and kept if it gets no worse."""

from __future__ import annotations

import numpy as np

from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.draws import draw_below
from daedal.kernels.jobs import FREE, MIX, Jobs, Memory, Words, place_of

TRIALS, UNION = 0, 1
"""Stages of a mixing."""


@njit(**EXACT)
def start_mixing(jobs: Jobs, slot: int, member: int, at: int) -> None:
    """Begin to mix a member of the population, whose row is at a place."""
    jobs.kind[slot], jobs.stage[slot], jobs.done[slot] = MIX, TRIALS, 0
    jobs.member[slot], jobs.at[slot], jobs.waiting[slot] = member, at, 0


@njit(**EXACT)
def go_on_mixing(
    memory: Memory, jobs: Jobs, slot: int, donors: Words, masks: Words, width: int, state: Words, row: Words
) -> None:
    """Take the values that a mixing waited for, and ask for the next rows; at its end the slot is free.

    donors (members, words) is the population as it was when the generation began, masks (groups, words) the groups, in
    the order in which they are tried; up to `width` of them, none overlapping the others, are tried at once. Of those
    that make the row no worse all are taken together, if that is no worse than the best of them alone.
    row (words,) is for use here.
    """
    if jobs.stage[slot] == UNION:
        union = jobs.asked[slot, 0]
        jobs.at[slot] = union if memory.values[union] >= memory.values[jobs.top[slot]] else jobs.top[slot]
        jobs.stage[slot] = TRIALS
    elif take_trials(memory, jobs, slot, row):
        return
    _ask_trials(memory, jobs, slot, donors, masks, width, state, row)
    if jobs.waiting[slot] == 0:
        jobs.kind[slot] = FREE


@njit(**EXACT)
def take_trials(memory: Memory, jobs: Jobs, slot: int, row: Words) -> bool:
    """Take the values of trials; give whether their union has to be asked for first."""
    at = jobs.at[slot]
    before, good, top = memory.values[at], 0, at
    row[:] = memory.keys[at]
    for k in range(jobs.waiting[slot]):
        place = jobs.asked[slot, k]
        if memory.values[place] >= before:
            good += 1
            for w in range(row.size):
                row[w] ^= memory.keys[place, w] ^ memory.keys[at, w]
            if good == 1 or memory.values[place] > memory.values[top]:
                top = place
    jobs.at[slot] = jobs.top[slot] = top
    if good < 2:
        return False
    jobs.asked[slot, 0], jobs.waiting[slot], jobs.stage[slot] = place_of(memory, row, top), 1, UNION
    return True


@njit(**EXACT)
def _ask_trials(
    memory: Memory, jobs: Jobs, slot: int, donors: Words, masks: Words, width: int, state: Words, row: Words
) -> None:
    at, count = jobs.at[slot], 0
    taken = np.zeros(row.size, np.uint64)
    while count < width and jobs.done[slot] < len(masks):
        mask = masks[jobs.done[slot]]
        if overlap(mask, taken):
            break
        donor = pick_donor(memory.keys[at], donors, mask, state)
        jobs.done[slot] += 1
        if donor < 0:
            continue
        for w in range(row.size):
            row[w] = memory.keys[at, w] ^ ((memory.keys[at, w] ^ donors[donor, w]) & mask[w])
            taken[w] |= mask[w]
        jobs.asked[slot, count] = place_of(memory, row, at)
        count += 1
    jobs.waiting[slot] = count


@njit(**EXACT)
def overlap(mask: Words, other: Words) -> bool:
    """Whether two sets of variables have some in common."""
    for w in range(mask.size):
        if mask[w] & other[w] != 0:
            return True
    return False


@njit(**EXACT)
def pick_donor(x: Words, donors: Words, mask: Words, state: Words) -> int:
    """Give a random one of the donors that differ from x within the mask, -1 if none does."""
    differing = 0
    for d in range(len(donors)):
        differing += differs(x, donors[d], mask)
    if differing == 0:
        return -1
    left = draw_below(state, differing)
    for d in range(len(donors)):
        if differs(x, donors[d], mask):
            if left == 0:
                return d
            left -= 1
    return -1


@njit(**EXACT)
def differs(x: Words, donor: Words, mask: Words) -> bool:
    """Whether two rows differ within the mask."""
    for w in range(x.size):
        if (x[w] ^ donor[w]) & mask[w] != 0:
            return True
    return False
