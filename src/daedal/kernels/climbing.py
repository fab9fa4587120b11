"""One pass of hill climbing by gains: flip each variable once, then merge the flips that gain, the best first.

All flips are probed from the same row, so they can be evaluated at once. Flips that gain are then made together, in
chunks, as long as their gains add up; where they do not, one by one.
"""

from __future__ import annotations

import numpy as np

from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.counting import WORD
from daedal.kernels.jobs import CLIMB, FREE, Integers, Jobs, Memory, Words, gain_over, place_of
from daedal.types import INFEASIBLE

START, PROBE, MERGE = 0, 1, 2
"""Stages of a climb."""

SAME = 1e-6
"""Share of the largest gain by which gains may miss their sum."""

LEAST = 1e-9
"""Share of the largest change below which a gain is one of rounding."""

PROVEN = 4
"""So many single merges in a row whose gains added up, and two are tried together again."""

_ONE = np.uint64(1)


@njit(**EXACT)
def start_climb(memory: Memory, jobs: Jobs, slot: int, row: Words) -> None:
    """Begin a climb from a packed row."""
    jobs.kind[slot], jobs.stage[slot], jobs.done[slot] = CLIMB, START, 0
    jobs.asked[slot, 0], jobs.waiting[slot] = place_of(memory, row, -1), 1


@njit(**EXACT)
def go_on_climbing(memory: Memory, jobs: Jobs, slot: int, pace: Integers, row: Words) -> None:
    """Take the values that a climb waited for, and ask for the next rows; at its end the slot is free.

    pace (2,) is how many gains are merged together, and how often in a row single ones added up: all climbs share it.
    row (words,) is for use here.
    """
    stage = jobs.stage[slot]
    if stage == START:
        jobs.at[slot] = jobs.top[slot] = jobs.asked[slot, 0]
        jobs.stage[slot] = PROBE
        _ask_probes(memory, jobs, slot, row)
        return
    if stage == PROBE:
        _take_probes(memory, jobs, slot)
        if jobs.done[slot] < jobs.gains.shape[1]:
            _ask_probes(memory, jobs, slot, row)
            return
        if memory.values[jobs.at[slot]] <= INFEASIBLE and _is_comparable(memory, jobs, slot):
            jobs.at[slot], jobs.done[slot] = jobs.top[slot], 0  # beside what is infeasible, gains cannot be compared
            _ask_probes(memory, jobs, slot, row)
            return
        _rank_gains(jobs, slot, memory.code.units)
        jobs.at[slot], jobs.stage[slot] = jobs.top[slot], MERGE
    else:
        _take_merge(memory, jobs, slot, pace)
    if jobs.done[slot] < jobs.improvers[slot]:
        _ask_merge(memory, jobs, slot, pace, row)
    else:
        jobs.kind[slot] = FREE


@njit(**EXACT)
def _is_comparable(memory: Memory, jobs: Jobs, slot: int) -> bool:
    """Whether gains from the best row of the last ones asked for say more than those from where the climb stands."""
    top = memory.values[jobs.top[slot]]
    return bool(top > INFEASIBLE or (top > -np.inf and memory.values[jobs.at[slot]] == -np.inf))


@njit(**EXACT)
def _ask_probes(memory: Memory, jobs: Jobs, slot: int, row: Words) -> None:
    at, done = jobs.at[slot], jobs.done[slot]
    count = min(jobs.asked.shape[1], jobs.gains.shape[1] - done)
    row[:] = memory.keys[at]
    for k in range(count):
        word, bit = (done + k) // WORD, _ONE << np.uint64((done + k) % WORD)
        row[word] ^= bit
        jobs.asked[slot, k] = place_of(memory, row, at)
        row[word] ^= bit
    jobs.waiting[slot] = count


@njit(**EXACT)
def _take_probes(memory: Memory, jobs: Jobs, slot: int) -> None:
    before, done = memory.values[jobs.at[slot]], jobs.done[slot]
    for k in range(jobs.waiting[slot]):
        place = jobs.asked[slot, k]
        jobs.gains[slot, done + k] = gain_over(memory.values[place], before)
        if memory.values[place] > memory.values[jobs.top[slot]]:
            jobs.top[slot] = place
    jobs.done[slot] = done + jobs.waiting[slot]


@njit(**EXACT)
def _rank_gains(jobs: Jobs, slot: int, units: Integers) -> None:
    """Put the variables that gain in order, the largest gain first; of those of one unit, only the first."""
    gains = jobs.gains[slot]
    largest = 0.0
    for i in range(gains.size):
        if np.isfinite(gains[i]):
            largest = max(largest, abs(gains[i]))
    jobs.tolerance[slot] = SAME * largest
    jobs.order[slot] = np.argsort(-gains, kind="mergesort")
    count = 0
    while count < gains.size and gains[jobs.order[slot, count]] > LEAST * largest:
        count += 1
    if units.size:
        count = _first_of_units(jobs.order[slot, :count], units)
    jobs.improvers[slot], jobs.done[slot] = count, 1  # the best is where the climb goes on from
    if count == 0:
        jobs.top[slot] = jobs.at[slot]


@njit(**EXACT)
def _first_of_units(order: Integers, units: Integers) -> int:
    """Move the first variable of each unit to the front, in their order; give how many there are."""
    seen, count = np.zeros(units.size, np.bool_), 0
    for k in range(order.size):
        unit = units[order[k]]
        if not seen[unit]:
            seen[unit] = True
            order[count] = order[k]
            count += 1
    return count


@njit(**EXACT)
def _ask_merge(memory: Memory, jobs: Jobs, slot: int, pace: Integers, row: Words) -> None:
    chunk = min(pace[0], jobs.improvers[slot] - jobs.done[slot])
    row[:] = memory.keys[jobs.at[slot]]
    for k in range(jobs.done[slot], jobs.done[slot] + chunk):
        i = jobs.order[slot, k]
        row[i // WORD] ^= _ONE << np.uint64(i % WORD)
    jobs.chunk[slot] = chunk
    jobs.asked[slot, 0], jobs.waiting[slot] = place_of(memory, row, jobs.at[slot]), 1


@njit(**EXACT)
def _take_merge(memory: Memory, jobs: Jobs, slot: int, pace: Integers) -> None:
    place, chunk, done = jobs.asked[slot, 0], jobs.chunk[slot], jobs.done[slot]
    value, before = memory.values[place], memory.values[jobs.at[slot]]
    expected = before
    for k in range(done, done + chunk):
        expected += jobs.gains[slot, jobs.order[slot, k]]
    tolerance = jobs.tolerance[slot]
    if chunk == 1:
        if value >= before:
            jobs.at[slot] = place
        jobs.done[slot] = done + 1
        pace[1] = pace[1] + 1 if abs(value - expected) <= tolerance else 0
        if pace[0] == 1 and pace[1] >= PROVEN:
            pace[0], pace[1] = 2, 0
    elif value >= expected - tolerance:
        jobs.at[slot], jobs.done[slot] = place, done + chunk
        pace[0] = max(pace[0], min(2 * chunk, jobs.gains.shape[1]))
    else:
        pace[0] = max(1, min(pace[0], chunk // 2))
