"""Gains that are remembered, against what is exact: functions of pairs, and a slow twin of the filter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from daedal.kernels import gains as kernels
from daedal.optimizers.climbs import Climbs
from daedal.types import Bits


def spins(x: Bits) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return 2.0 * x - 1


class Quadratic:
    """A random function of single variables and pairs, with the gains of its flips."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.h = rng.normal(size=n)
        upper = np.triu(rng.normal(size=(n, n)), 1)
        self.c = upper + upper.T

    def gain(self, x: Bits, i: int) -> float:
        s = spins(x)
        return float(-2 * s[i] * (self.h[i] + self.c[i] @ s))


def test_a_gain_is_known_where_it_was_seen_and_has_the_other_sign_once_the_variable_is_flipped() -> None:
    f, memory = Quadratic(6, 1), Climbs(6, 1).gains
    x = np.array([0, 1, 1, 0, 1, 0], np.uint8)
    for i in range(6):
        kernels.learn_gain(memory, i, x, f.gain(x, i))
    unit = abs(f.gain(x, 0))
    worth = np.empty(6)
    kernels.appraise(memory, x, worth)
    assert worth * unit == pytest.approx([max(0.0, f.gain(x, i)) for i in range(6)])
    x[2] ^= 1
    field, variance, differing = kernels.guess(memory, 2, x, 1.0)
    assert (-2 * field * spins(x)[2] * unit, variance, differing) == (pytest.approx(f.gain(x, 2)), 0.0, 0)


def test_pairs_are_exact_once_each_was_seen_alone() -> None:
    """From a row and its neighbours, the gains at all 64 rows follow."""
    n = 6
    f, memory = Quadratic(n, 2), Climbs(n, 1).gains
    base = np.zeros(n, np.uint8)
    for i, j in itertools.permutations(range(n), 2):
        near = base.copy()
        near[j] = 1
        kernels.learn_gain(memory, i, base, f.gain(base, i))
        kernels.learn_gain(memory, i, near, f.gain(near, i))
    unit = memory.sums[kernels.UNIT]
    assert memory.pairs * unit == pytest.approx(f.c)
    for bits in itertools.product((0, 1), repeat=n):
        x = np.array(bits, np.uint8)
        for i in range(n):
            field, *_ = kernels.guess(memory, i, x, 1.0)
            assert -2 * field * spins(x)[i] * unit == pytest.approx(f.gain(x, i))


@pytest.mark.parametrize("seed", range(5))
def test_the_filter_agrees_with_its_slow_twin(seed: int) -> None:
    n, rng = 7, np.random.default_rng(seed)
    memory = Climbs(n, 1).gains
    x = rng.integers(0, 2, n, dtype=np.uint8)
    last: dict[int, tuple[Bits, float]] = {}
    c, doubt = np.zeros((n, n)), np.full((n, n), np.nan)
    errors, error_count, squares, unit = 0.0, 0, [], 0.0
    for _ in range(60):
        i, gain = int(rng.integers(n)), float(rng.normal())
        unit = unit or abs(gain)
        field = -gain / unit / 2 * spins(x)[i]
        if i in last:
            unseen = (5 * np.mean(squares) / n + errors) / (5 + error_count)
            s, before = spins(x), spins(last[i][0])
            differing = [j for j in range(n) if j != i and s[j] != before[j]]
            variances = {j: unseen if np.isnan(doubt[i, j]) else doubt[i, j] for j in differing}
            error = field - last[i][1] - sum(c[i, j] * (s[j] - before[j]) for j in differing)
            if differing:
                errors, error_count = errors + error**2 / 4 / len(differing), error_count + 1
            for j in differing:
                share = variances[j] / sum(variances.values())
                c[i, j] = c[j, i] = c[i, j] + share * error / (s[j] - before[j])
                doubt[i, j] = doubt[j, i] = max(variances[j] * (1 - share), 0.3 * c[i, j] ** 2 + 0.03 * unseen)
        else:
            squares.append(field**2)
        last[i] = x.copy(), field
        kernels.learn_gain(memory, i, x, gain)
        x[rng.integers(n)] ^= 1
    assert memory.pairs == pytest.approx(c, abs=1e-12)
    assert np.where(memory.doubts < 0, np.nan, memory.doubts) == pytest.approx(doubt, nan_ok=True)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (-1.0, 2.0), (3.0, 0.5), (-5.0, 1.0)])
def test_expected_improvement_is_the_mean_of_what_is_positive(mean: float, deviation: float) -> None:
    z, step = np.linspace(-12, 12, 240_001, retstep=True)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    integral = (np.maximum(0, mean + deviation * z) * density).sum() * step
    assert kernels.expected_improvement(mean, deviation) == pytest.approx(integral, rel=1e-6)
    assert kernels.expected_improvement(mean, 0.0) == max(mean, 0.0)


def test_what_is_infeasible_or_huge_leaves_numbers() -> None:
    memory, x = Climbs(4, 1).gains, np.zeros(4, np.uint8)
    for i, gain in enumerate((-np.inf, 0.0, 1e308, -1e-300)):
        kernels.learn_gain(memory, i, x, gain)
        kernels.learn_gain(memory, i, 1 - x, -gain if np.isfinite(gain) else gain)
    worth = np.empty(4)
    kernels.appraise(memory, x, worth)
    assert np.isfinite(worth).all()
    assert all(np.isfinite(array).all() for array in memory)


def test_without_tables_of_pairs_doubt_grows_with_the_flips() -> None:
    memory, x = Climbs(4, 1, paired=False).gains, np.zeros(4, np.uint8)
    assert memory.pairs.size == 0
    kernels.learn_gain(memory, 0, x, 1.0)
    assert kernels.guess(memory, 0, x, 1.0)[1:] == (0.0, 0)
    memory.tried[4] += 1
    assert kernels.guess(memory, 0, x, 1.0)[1:] == (4.0, 1)
