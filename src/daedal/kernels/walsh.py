"""The equations of a sparse Walsh function: which sets stand in which equations, and how they go with a residual.

An equation is a row x with a set d of flipped variables. A set C stands in it where |C and d| is odd, with the sign
chi_C(x) = (-1)^(ones of x in C). The column of a set lists its equations in four parts, each ascending: those for
training with sign +1 and with sign -1, and those held out with +1 and with -1. `bounds`, shape (sets, 5), says where
the parts begin and where the last one ends, so that no sign has to be looked up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.counting import count_bits
from daedal.kernels.lasso import column_total

_Floats = NDArray[np.float64]
_Singles = NDArray[np.float32]
_Integers = NDArray[np.int64]
_Entries = NDArray[np.uint32]
_Words = NDArray[np.uint64]
_u = np.uint64


@njit(inline="always", **OPTIONS)
def _list_bits(word: int, first: int, entries: _Entries, place: int) -> int:
    """Write the places of the ones of a word, counted from `first`, to entries from `place` on; where they end."""
    left = _u(word)
    while left != _u(0):
        entries[place] = first + count_bits(~left & (left - _u(1)))  # zeros below the lowest one
        left &= left - _u(1)
        place += 1
    return place


@njit(**OPTIONS)
def count_entries(
    sets: _Integers, orders: _Integers, flips: _Words, rest: _Words, bits: _Words, train: int, bounds: _Integers
) -> int:
    """Set bounds for the columns of sets, shape (sets, most), one after the other; returns where the last one ends.

    flips and bits (n, words) have d and x of all equations, of which the first `train` words are for training. rest
    (words,) is added to each set's parity: zeros for equations of differences, ones where every set stands in every
    equation.
    """
    end = 0
    for c in range(sets.shape[0]):
        bounds[c] = 0
        for word in range(rest.size):
            parity, sign = rest[word], _u(0)
            for a in range(orders[c]):
                parity ^= flips[sets[c, a], word]
                sign ^= bits[sets[c, a], word]
            part = 0 if word < train else 2
            negative = count_bits(parity & sign)
            bounds[c, part + 1] += count_bits(parity) - negative
            bounds[c, part + 2] += negative
        bounds[c, 0] = end
        for part in range(4):
            end += bounds[c, part + 1]
            bounds[c, part + 1] = end
    return end


@njit(**OPTIONS)
def fill_entries(
    sets: _Integers, orders: _Integers, flips: _Words, rest: _Words, bits: _Words, train: int, bounds: _Integers,
    entries: _Entries,
) -> None:  # fmt: skip
    """Write the columns that `count_entries` has counted."""
    for c in range(sets.shape[0]):
        plus, minus = bounds[c, 0], bounds[c, 1]
        for word in range(rest.size):
            if word == train:
                plus, minus = bounds[c, 2], bounds[c, 3]
            parity, sign = rest[word], _u(0)
            for a in range(orders[c]):
                parity ^= flips[sets[c, a], word]
            if parity == _u(0):
                continue
            for a in range(orders[c]):
                sign ^= bits[sets[c, a], word]
            plus = _list_bits(parity & ~sign, 64 * word, entries, plus)
            minus = _list_bits(parity & sign, 64 * word, entries, minus)


@njit(**OPTIONS)
def screen(
    sets: _Integers, flips: _Words, rest: _Words, bits: _Words, train: int, residual: _Floats, least: int, out: _Singles
) -> None:
    """Set out[c] to |sum of sign times residual| / sqrt(entries) of each set, all of one order, in training equations.

    It is 0 where the entries are fewer than `least`. No column is built: most sets are looked at once, and dropped.
    """
    order = sets.shape[1]
    for c in range(sets.shape[0]):
        total, count = 0.0, 0
        for word in range(train):
            parity, sign = rest[word], _u(0)
            for a in range(order):
                parity ^= flips[sets[c, a], word]
            if parity == _u(0):
                continue
            for a in range(order):
                sign ^= bits[sets[c, a], word]
            while parity != _u(0):
                bit = count_bits(~parity & (parity - _u(1)))
                value = residual[64 * word + bit]
                total += -value if (sign >> _u(bit)) & _u(1) else value
                count += 1
                parity &= parity - _u(1)
        out[c] = abs(total) / np.sqrt(count) if count >= least else 0.0


@njit(**OPTIONS)
def copy_columns(bounds: _Integers, entries: _Entries, new_bounds: _Integers, new_entries: _Entries) -> None:
    """Copy columns, whose bounds are given, one after the other to new entries, and set their new bounds."""
    end = 0
    for c in range(bounds.shape[0]):
        start = bounds[c, 0]
        for part in range(5):
            new_bounds[c, part] = bounds[c, part] - start + end
        for k in range(start, bounds[c, 4]):
            new_entries[end + k - start] = entries[k]
        end = new_bounds[c, 4]


@njit(**OPTIONS)
def correlate(bounds: _Integers, entries: _Entries, residual: _Floats, out: _Singles) -> None:
    """Set out[c] to the sum of sign times residual over the training equations of column c."""
    for c in range(bounds.shape[0]):
        out[c] = column_total(residual, entries, bounds[c])


@njit(**OPTIONS)
def correlate_pairs(
    flip_starts: _Integers, flipped: _Integers, signs: _Singles, still: _Singles, residual: _Floats, train: int,
    singles: _Singles, half: _Singles,
) -> None:  # fmt: skip
    """Correlate the residual with all single variables and all pairs of them.

    Pair (i, j) stands where d has one of both; `half`, shape (n, n), gets the part where it has i: the correlation
    of a pair is half[i, j] + half[j, i]. flip_starts and flipped have the variables of each d; signs and still,
    shape (equations, n), are (-1)^x, the second with zeros where d is.
    """
    singles[:] = 0
    half[:] = 0
    for e in range(train):
        quiet = still[e]
        for k in range(flip_starts[e], flip_starts[e + 1]):
            i = flipped[k]
            factor = np.float32(residual[e]) * signs[e, i]
            singles[i] += factor
            row = half[i]
            for j in range(quiet.size):
                row[j] += factor * quiet[j]


@njit(**OPTIONS)
def pair_prices(singles: _Singles, half: _Singles, least: int, prices: _Singles) -> None:
    """Turn counts, laid out as the correlations are, into prices, shape (n, n): 1 / sqrt(count), 0 below `least`."""
    n = singles.size
    for i in range(n):
        for j in range(i + 1):
            count = singles[i] if i == j else half[i, j] + half[j, i]
            prices[i, j] = prices[j, i] = np.float32(1.0) / np.sqrt(count) if count >= least else np.float32(0.0)


@njit(**OPTIONS)
def strong_pairs(
    singles: _Singles, half: _Singles, prices: _Singles, active: NDArray[np.bool_], limit: float,
    found: _Integers, strengths: _Singles,
) -> int:  # fmt: skip
    """Find the singles (i, i) and pairs (i, j) with |correlation| * price > limit that are not active yet.

    active (n, n) says which are. Returns how many were found: as i * n + j in found, with their strengths.
    """
    count, n = 0, singles.size
    for i in range(n):
        for j in range(i + 1):
            strength = abs(singles[i] if i == j else half[i, j] + half[j, i]) * prices[i, j]
            if strength > limit and not active[i, j]:
                found[count] = i * n + j
                strengths[count] = strength
                count += 1
    return count


@njit(**OPTIONS)
def join_sets(members: _Integers, owners: _Integers, others: _Integers, group_starts: _Integers, keys: _Words) -> None:
    """Join any two sets of a group, which share all members but one, to a larger set, in keys.

    Set owners[a] of members, shape (sets, order), is in a group, and others[a] is what it does not share. A key has the
    members of a joined set, ascending, in 12 bits each.
    """
    count, order = 0, members.shape[1]
    for g in range(group_starts.size - 1):
        for a in range(group_starts[g], group_starts[g + 1]):
            row = members[owners[a]]
            for b in range(group_starts[g], a):
                key, added, waiting = _u(0), others[b], True
                for q in range(order):
                    if waiting and added < row[q]:
                        key = (key << _u(12)) | _u(added)
                        waiting = False
                    key = (key << _u(12)) | _u(row[q])
                keys[count] = (key << _u(12)) | _u(added) if waiting else key
                count += 1
