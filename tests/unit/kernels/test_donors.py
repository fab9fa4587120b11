"""Donors from a network and from a function, against slow twins, and how often each source is taken."""

from __future__ import annotations

import itertools

import kernels_helpers as twin
import numpy as np
import pytest
from search_twins import SplitMix

from daedal.kernels import dae, donors
from daedal.kernels.noise import noise_shape
from daedal.kernels.tiles import LANES
from daedal.models.walsh_equations import Sets
from daedal.models.walsh_function import WalshFunction
from daedal.optimizers.donor_population import _function
from daedal.optimizers.row_memory import pack, unpack

N = 70


def network_of(net: twin.Net, steps: int, flips: np.ndarray) -> donors.Network:
    n, m = net.encoder.shape
    words = -(-(steps * n + LANES) // 4) * 4
    rows = (np.zeros((1, n), np.uint8) for _ in range(3))
    start, clamped, out = rows
    return donors.Network(
        (twin.to_parameters(net),), (n, m), (dae.make_workspace(n, m, 1, 0.1),), noise_shape(), steps, flips, start,
        clamped, np.zeros(words, np.uint16), np.zeros(n + n % 2, np.uint32), out,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_what_the_network_says_is_its_draw_given_the_rest(seed: int) -> None:
    """The same words, one after the other: bits of the group, noise, draws."""
    rng = np.random.default_rng(seed)
    net, steps, flips = twin.draw_net(N, 9, tied=True), 3, rng.integers(0, 2, N, dtype=np.uint8)
    x, group = rng.integers(0, 2, N, dtype=np.uint8), rng.integers(0, 2, N, dtype=np.uint8)
    state, row = np.array([seed], np.uint64), np.empty(2, np.uint64)
    network = network_of(net, steps, flips)
    donors.ask_network(pack(x[None])[0], pack(group[None])[0], network, state, row)
    words = SplitMix(seed)
    start = np.array([words.word() >> 63 if inside else bit for inside, bit in zip(group, x ^ flips, strict=True)])
    noise = np.array([words.word() for _ in range(network.noise.size // 4)], np.uint64).view(np.uint16)
    draws = np.array([words.word() for _ in range(network.draws.size // 2)], np.uint64).view(np.uint32)[:N]
    z = twin.slow_sample_given(net, start[None], 1 - group[None], noise, steps, twin.limit_of(0.1))[0]
    assert np.abs(draws / 2**32 - z).min() > 1e-6, "another seed: a draw is too close to call"
    expected = np.where(group == 1, (draws / 2**32 < z) ^ flips, x)
    assert np.array_equal(unpack(row[None], N)[0], expected)
    assert state[0] == words.state


def function_of_pairs(n: int, seed: int) -> WalshFunction:
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    members = np.full((len(pairs) + n, 5), -1)
    members[: len(pairs), :2], members[len(pairs) :, 0] = pairs, np.arange(n)
    terms = Sets(members, (members >= 0).sum(axis=1))
    return WalshFunction(n=n, constant=0.0, terms=terms, coefficients=rng.normal(size=len(members)), r2=1.0, price=0.0)


def test_what_the_function_says_is_a_local_maximum_given_the_rest() -> None:
    function = function_of_pairs(12, 3)
    rng, found = np.random.default_rng(1), set()
    group = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1], np.uint8)
    x, state, row = rng.integers(0, 2, 12, dtype=np.uint8), np.array([5], np.uint64), np.empty(1, np.uint64)
    for _ in range(40):
        donors.ask_function(pack(x[None])[0], pack(group[None])[0], _function(function, 12), state, row)
        drawn = unpack(row[None], 12)[0]
        assert np.array_equal(drawn[group == 0], x[group == 0])
        flipped = drawn ^ np.eye(12, dtype=np.uint8)[group == 1]
        assert (function.predict(flipped) <= function.predict(drawn[None])).all()
        found.add(drawn.tobytes())
    assert len(found) > 1  # from other random bits, other maxima


def shares(usable: list[bool], tried: list[float], better: list[float]) -> list[float]:
    out = np.full(3, 9.0)
    donors.set_shares(np.array(usable), np.array(tried), np.array(better), out)
    return out.tolist()


def test_sources_are_taken_by_their_success_and_never_not_at_all() -> None:
    assert shares([True] * 3, [0, 0, 0], [0, 0, 0]) == pytest.approx([1 / 3] * 3)
    population, network, function = shares([True] * 3, [100, 100, 100], [20, 0, 40])
    assert network == pytest.approx(donors.LEAST, abs=0.002)
    assert function > 3 * population > 0.3
    assert population + network + function == pytest.approx(1)
    assert shares([True, False, True], [100, 0, 100], [10, 0, 10]) == pytest.approx([0.5, 0, 0.5])
    assert shares([True, False, False], [100, 0, 0], [0, 0, 0]) == pytest.approx([1, 0, 0])
