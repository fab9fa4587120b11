"""Mixing whose donors have several sources: the population, an autoencoder, and a sparse model of the function.

The last two are asked what a group of variables should be, given the others as they are in the row that is mixed. The
source of each group is drawn: the more often its rows were better of late, the more often it is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.annealing import MOST_CLIMBS, flip_variable, start_terms
from daedal.kernels.clamped import sample_given
from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.counting import WORD, count_bits
from daedal.kernels.draws import draw_unit, draw_word
from daedal.kernels.jobs import FREE, Floats, Integers, Jobs, Memory, Words, place_of
from daedal.kernels.mixing import TRIALS, UNION, differs, overlap, pick_donor, take_trials
from daedal.kernels.network import Stack, Widths, Workspaces
from daedal.kernels.noise import NoiseShape

POPULATION, NETWORK, FUNCTION = 0, 1, 2
COUNT = 3
"""The sources, and how many there are."""

LEAST = 0.02
"""Share of the groups that each source has at least: it may get better."""

_OPTIMISM = 1.0, 4.0  # rows that were better, and rows, which a source is credited with before it has any
_DECAY = 1 - 1 / 256  # what is left of a row's weight when the next one has come

_Bytes = NDArray[np.uint8]
_ONE = np.uint64(1)


class Network(NamedTuple):
    """An autoencoder, and where one row is processed."""

    stack: Stack
    widths: Widths
    works: Workspaces  # of one row
    shape: NoiseShape
    steps: int  # rounds of corruption and reconstruction
    flips: _Bytes  # (n,): the network sees rows XORed with these, so that its bias towards ones helps nobody
    start: _Bytes  # (1, n)
    clamped: _Bytes  # (1, n)
    noise: NDArray[np.uint16]  # (steps * n + LANES,), rounded up to whole words
    draws: NDArray[np.uint32]  # (n,), rounded up to whole words
    out: _Bytes  # (1, n)


class Function(NamedTuple):
    """A sparse Walsh function as `daedal.kernels.annealing` has it, and where one row is processed."""

    sets: Integers  # (count, most)
    orders: Integers  # (count,)
    coefficients: Floats  # (count,)
    starts: Integers  # (n + 1,)
    members: Integers
    terms: Floats  # (count,)
    gains: Floats  # (n,)
    row: _Bytes  # (n,)


class Sources(NamedTuple):
    """Where donors come from, and how often what came from there was better."""

    network: Network
    function: Function
    usable: NDArray[np.bool_]  # (COUNT,)
    level: float  # what a row has to be better than, beside the row that was mixed, for its source to have credit
    tried: Floats  # rows that were evaluated, the older the less they count, (COUNT,)
    better: Floats  # those of them that were better, (COUNT,)
    asked: Integers  # the source of each row that a job waits for, -1: none to be credited; as `Jobs.asked`


@njit(**EXACT)
def set_shares(usable: NDArray[np.bool_], tried: Floats, better: Floats, shares: Floats) -> None:
    """Set how often each source is taken, all shape (COUNT,): as the square of its rate of success, but LEAST."""
    total, count = 0.0, 0
    for source in range(COUNT):
        rate = (better[source] + _OPTIMISM[0]) / (tried[source] + _OPTIMISM[1])
        shares[source] = rate * rate if usable[source] else 0.0
        total += shares[source]
        count += usable[source]
    for source in range(COUNT):
        if usable[source]:
            shares[source] = LEAST + (1.0 - count * LEAST) * shares[source] / total


@njit(**EXACT)
def go_on_choosing(
    memory: Memory, jobs: Jobs, slot: int, donors: Words, masks: Words, width: int, state: Words, row: Words,
    sources: Sources,
) -> None:  # fmt: skip
    """Go on as `daedal.kernels.mixing.go_on_mixing` does, with donors of all sources, which get their credit."""
    if jobs.stage[slot] == UNION:
        union = jobs.asked[slot, 0]
        jobs.at[slot] = union if memory.values[union] >= memory.values[jobs.top[slot]] else jobs.top[slot]
        jobs.stage[slot] = TRIALS
    else:
        _credit(memory, jobs, slot, sources)
        if take_trials(memory, jobs, slot, row):
            return
    _ask_trials(memory, jobs, slot, donors, masks, width, state, row, sources)
    if jobs.waiting[slot] == 0:
        jobs.kind[slot] = FREE


@njit(**EXACT)
def _credit(memory: Memory, jobs: Jobs, slot: int, sources: Sources) -> None:
    before = memory.values[jobs.at[slot]]
    for k in range(jobs.waiting[slot]):
        source = sources.asked[slot, k]
        if source >= 0:
            for other in range(COUNT):
                sources.tried[other] *= _DECAY
                sources.better[other] *= _DECAY
            sources.tried[source] += 1.0
            sources.better[source] += memory.values[jobs.asked[slot, k]] > max(before, sources.level)


@njit(**EXACT)
def _ask_trials(
    memory: Memory, jobs: Jobs, slot: int, donors: Words, masks: Words, width: int, state: Words, row: Words,
    sources: Sources,
) -> None:  # fmt: skip
    at, count = jobs.at[slot], 0
    taken, shares = np.zeros(row.size, np.uint64), np.empty(COUNT)
    while count < width and jobs.done[slot] < len(masks):
        mask = masks[jobs.done[slot]]
        if overlap(mask, taken):
            break
        jobs.done[slot] += 1
        set_shares(sources.usable, sources.tried, sources.better, shares)
        is_single = _size(mask) == 1  # all that there is to do is to flip it, wherever that comes from
        source = POPULATION if is_single else _draw_source(shares, state)
        if source == NETWORK:
            ask_network(memory.keys[at], mask, sources.network, state, row)
        elif source == FUNCTION:
            ask_function(memory.keys[at], mask, sources.function, state, row)
        if source == POPULATION or not differs(memory.keys[at], row, mask):
            source = POPULATION
            donor = pick_donor(memory.keys[at], donors, mask, state)
            if donor < 0:
                continue
            for w in range(row.size):
                row[w] = memory.keys[at, w] ^ ((memory.keys[at, w] ^ donors[donor, w]) & mask[w])
        for w in range(row.size):
            taken[w] |= mask[w]
        known = memory.counts[0]
        jobs.asked[slot, count] = place_of(memory, row, at)
        sources.asked[slot, count] = -1 if is_single or memory.counts[0] == known else source
        count += 1
    jobs.waiting[slot] = count


@njit(**EXACT)
def _size(mask: Words) -> int:
    size = 0
    for w in range(mask.size):
        size += count_bits(mask[w])
    return size


@njit(**EXACT)
def _draw_source(shares: Floats, state: Words) -> int:
    left, chosen = draw_unit(state), POPULATION
    for source in range(COUNT):
        if shares[source] > 0.0:
            chosen = source
            left -= shares[source]
            if left < 0.0:
                break
    return chosen


@njit(**EXACT)
def ask_network(x: Words, mask: Words, network: Network, state: Words, row: Words) -> None:
    """Set row, shape (words,), to x with what the network draws within the mask, given the rest of x.

    The chain begins at random bits: from those of x it would not get far in few steps.
    """
    n = network.start.shape[1]
    for i in range(n):
        inside = (mask[i // WORD] >> np.uint64(i % WORD)) & _ONE
        bit = (x[i // WORD] >> np.uint64(i % WORD)) & _ONE
        network.clamped[0, i] = _ONE - inside
        network.start[0, i] = (draw_word(state) >> np.uint64(63)) if inside else bit ^ np.uint64(network.flips[i])
    for k in range(0, network.noise.size, 4):
        word = draw_word(state)
        for part in range(4):
            network.noise[k + part] = (word >> np.uint64(16 * part)) & np.uint64(0xFFFF)
    for k in range(0, network.draws.size, 2):
        word = draw_word(state)
        network.draws[k], network.draws[k + 1] = word & np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    sample_given(
        network.start, network.clamped, network.noise, network.draws, network.steps, network.shape, 1.0,
        network.stack, network.widths, network.works, network.out,
    )  # fmt: skip
    for i in range(n):
        network.out[0, i] ^= network.flips[i]
    _put(network.out[0], x, mask, row)


@njit(**EXACT)
def ask_function(x: Words, mask: Words, function: Function, state: Words, row: Words) -> None:
    """Set row, shape (words,), to x with a local maximum of the function within the mask, given the rest of x.

    From random bits, those variables are flipped that gain, until none does.
    """
    n, bits = function.row.size, function.row
    for i in range(n):
        inside = (mask[i // WORD] >> np.uint64(i % WORD)) & _ONE
        bit = (x[i // WORD] >> np.uint64(i % WORD)) & _ONE
        bits[i] = (draw_word(state) >> np.uint64(63)) if inside else bit
    start_terms(bits, function.sets, function.orders, function.coefficients, function.terms, function.gains)
    tiny = 1e-12 * np.abs(function.coefficients).max()
    for _ in range(MOST_CLIMBS):
        moved = False
        for i in range(n):
            inside = (mask[i // WORD] >> np.uint64(i % WORD)) & _ONE
            if inside and function.gains[i] > tiny:
                flip_variable(
                    i, bits, function.sets, function.orders, function.starts, function.members, function.terms,
                    function.gains,
                )  # fmt: skip
                moved = True
        if not moved:
            break
    _put(bits, x, mask, row)


@njit(**EXACT)
def _put(bits: _Bytes, x: Words, mask: Words, row: Words) -> None:
    """Set row to x with these bits, shape (n,), within the mask."""
    for w in range(row.size):
        row[w] = x[w] & ~mask[w]
    for i in range(bits.size):
        row[i // WORD] |= mask[i // WORD] & (np.uint64(bits[i]) << np.uint64(i % WORD))
