"""What flips of single variables gain, remembered: from the last time each was tried, a guess for any row, with doubt.

With spins s = 2 x - 1, flipping variable i gains -2 s_i h_i, where the field h_i depends on the other variables. A
field is known where i was last flipped; elsewhere it has changed by 2 c_ij s_j, as far as one knows, for every variable
j that differs. The pairs c_ij are learned as gains are seen again: each change that was not expected is shared out
among the variables that differ, by their doubt (a Kalman filter that keeps the diagonal alone).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.jobs import Floats, Integers
from daedal.types import Bits

ERRORS, ERROR_COUNT, FIELDS, FIELD_COUNT, UNIT = 0, 1, 2, 3, 4
"""What `Gains.sums` holds: squared errors a pair, how many; squared fields, how many; the size of gains."""

UNTRIED = 1e200
"""What the flip of a variable is worth that was never tried: more than any other."""

_NEAR = 8  # variables that may differ, so that something is learned of pairs
_CONTEXT = 0.3  # doubt of a pair that was seen, as a share of its square: other variables may change it
_REST = 0.03  # and as a share of the doubt of one that was not seen
_PRIOR = 5.0  # gains seen, for which the first guess of the doubt counts
_LARGEST = 1e100  # whose square is still a number
_INFEASIBLE = -3.0  # the gain of what is infeasible, in root mean square gains


class Gains(NamedTuple):
    """Fields and pairs; at, pairs and doubts are empty where there are too many variables for tables of pairs."""

    fields: Floats  # shape (n,), in units of sums[UNIT]
    tried: Integers  # flips made before the last try, -1: never tried, and at the end all flips so far, shape (n + 1,)
    at: Bits  # the row of the last try, shape (n, n)
    pairs: Floats  # shape (n, n), symmetric
    doubts: Floats  # variances, -1 for pairs not seen, shape (n, n), symmetric
    sums: Floats  # shape (5,)


@njit(**EXACT)
def unseen_doubt(gains: Gains) -> float:
    """Give the variance of pairs that were not seen: at first that of a function in which all pairs count alike."""
    sums, n = gains.sums, gains.fields.size
    prior = sums[FIELDS] / max(1.0, sums[FIELD_COUNT]) / n
    return float((_PRIOR * prior + sums[ERRORS]) / (_PRIOR + sums[ERROR_COUNT]))


@njit(**EXACT)
def expected_improvement(mean: float, deviation: float) -> float:
    """Give the mean of what is positive of a normal variable."""
    if deviation <= 0.0:
        return max(mean, 0.0)
    ratio = mean / deviation
    if ratio < -6.0:
        return 0.0
    return deviation * math.exp(-0.5 * ratio * ratio) / math.sqrt(2 * math.pi) + 0.5 * mean * math.erfc(
        -ratio / math.sqrt(2.0)
    )


@njit(**EXACT)
def guess(gains: Gains, i: int, row: Bits, unseen: float) -> tuple[float, float, int]:
    """Give the field of a variable at a row, its variance, and how many variables differ from the last try."""
    field, variance, differing = gains.fields[i], 0.0, 0
    if gains.at.shape[0] == 0:
        n = gains.fields.size
        differing = min(gains.tried[n] - gains.tried[i], n // 2)
        return field, 4 * unseen * differing, differing
    for j in range(row.size):
        if gains.at[i, j] != row[j] and j != i:
            differing += 1
            field += 2 * gains.pairs[i, j] * (1.0 if row[j] else -1.0)
            doubt = gains.doubts[i, j]
            variance += 4 * (unseen if doubt < 0 else doubt)
    return field, variance, differing


@njit(**EXACT)
def appraise(gains: Gains, row: Bits, worth: Floats) -> None:
    """Write what flipping each variable of a row is expected to gain, losses not counted, to worth, shape (n,)."""
    unseen = unseen_doubt(gains)
    for i in range(row.size):
        if gains.tried[i] < 0:
            worth[i] = UNTRIED
        else:
            field, variance, _ = guess(gains, i, row, unseen)
            worth[i] = expected_improvement(-2 * field * (1.0 if row[i] else -1.0), 2 * math.sqrt(variance))


@njit(**EXACT)
def learn_gain(gains: Gains, i: int, row: Bits, gain: float) -> None:
    """Take what flipping a variable of a row gained."""
    sums, n = gains.sums, row.size
    is_finite = np.isfinite(gain)
    if sums[UNIT] == 0.0 and is_finite:
        sums[UNIT] = abs(gain)
    scale = math.sqrt(sums[FIELDS] / max(1.0, sums[FIELD_COUNT])) * 2
    size = gain / sums[UNIT] if is_finite and sums[UNIT] > 0 else 0.0 if is_finite else _INFEASIBLE * max(scale, 1e-9)
    field = -0.5 * min(max(size, -_LARGEST), _LARGEST) * (1.0 if row[i] else -1.0)
    if is_finite and gains.tried[i] < 0:
        sums[FIELDS] += field * field
        sums[FIELD_COUNT] += 1
    elif is_finite:
        _learn_pairs(gains, i, row, field)
    gains.fields[i] = field
    gains.tried[i] = gains.tried[n]
    if gains.at.shape[0]:
        gains.at[i, :] = row


@njit(**EXACT)
def _learn_pairs(gains: Gains, i: int, row: Bits, field: float) -> None:
    """Share the error of a guess out among the variables that differ."""
    unseen = unseen_doubt(gains)
    guessed, variance, differing = guess(gains, i, row, unseen)
    if differing == 0:
        return
    error = field - guessed
    gains.sums[ERRORS] += error * error / (4 * differing)
    gains.sums[ERROR_COUNT] += 1
    if gains.at.shape[0] == 0 or differing > _NEAR or variance <= 0.0:
        return
    for j in range(row.size):
        if gains.at[i, j] != row[j] and j != i:
            doubt = gains.doubts[i, j]
            doubt = unseen if doubt < 0 else doubt
            share = 4 * doubt / variance
            pair = gains.pairs[i, j] + 0.5 * (1.0 if row[j] else -1.0) * share * error
            doubt = max(doubt * (1 - share), _CONTEXT * pair * pair + _REST * unseen)
            gains.pairs[i, j] = gains.pairs[j, i] = pair
            gains.doubts[i, j] = gains.doubts[j, i] = doubt
