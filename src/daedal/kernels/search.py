"""Jobs side by side: each goes on as far as the rows that are known let it, and free slots take the next job."""

from __future__ import annotations

import numpy as np

from daedal.kernels.climbing import go_on_climbing, start_climb
from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.donors import Sources, go_on_choosing
from daedal.kernels.jobs import FREE, Integers, Jobs, Memory, Words, is_answered
from daedal.kernels.mixing import go_on_mixing, start_mixing


@njit(**EXACT)
def climb_all(
    memory: Memory, jobs: Jobs, slots: int, starts: Words, ends: Integers, progress: Integers, pace: Integers
) -> None:
    """Climb from each of the starts, shape (climbs, words), in so many slots at once.

    ends (climbs,) gets the places where they end; progress (2,) is how many have begun, and how many have ended.
    """
    row = np.empty(starts.shape[1], np.uint64)
    for slot in range(len(jobs.kind)):
        while True:
            if jobs.kind[slot] == FREE:
                if slot >= slots or progress[0] == len(starts):
                    break
                jobs.member[slot] = progress[0]
                start_climb(memory, jobs, slot, starts[progress[0]])
                progress[0] += 1
            if not is_answered(memory, jobs, slot):
                break
            go_on_climbing(memory, jobs, slot, pace, row)
            if jobs.kind[slot] == FREE:
                ends[jobs.member[slot]] = jobs.at[slot]
                progress[1] += 1


@njit(**EXACT)
def mix_all(
    memory: Memory,
    jobs: Jobs,
    slots: int,
    queue: Integers,
    population: Integers,
    progress: Integers,
    donors: Words,
    masks: Words,
    width: int,
    state: Words,
    sources: Sources | None = None,
) -> None:
    """Mix each member of a population, shape (members,) of places, in the order of the queue.

    A member's place becomes that of its row after mixing. Donors are members, or come from all sources where there are
    some.
    """
    row = np.empty(donors.shape[1], np.uint64)
    for slot in range(len(jobs.kind)):
        while True:
            if jobs.kind[slot] == FREE:
                if slot >= slots or progress[0] == len(queue):
                    break
                member = queue[progress[0]]
                start_mixing(jobs, slot, member, population[member])
                progress[0] += 1
            if not is_answered(memory, jobs, slot):
                break
            if sources is None:  # Numba compiles one of the two
                go_on_mixing(memory, jobs, slot, donors, masks, width, state, row)
            else:
                go_on_choosing(memory, jobs, slot, donors, masks, width, state, row, sources)
            if jobs.kind[slot] == FREE:
                population[jobs.member[slot]] = jobs.at[slot]
                progress[1] += 1
