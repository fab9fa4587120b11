"""Shuffling and corruption against slow, obvious twins that are given the same words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernels_helpers import draw_bits, draw_words, limit_of, pad, slow_corrupt, slow_shuffle

from daedal.kernels import noise
from daedal.kernels.dae import make_workspace
from daedal.kernels.products import padded
from daedal.kernels.tiles import LANES


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_shuffle(size: int) -> None:
    order, words = np.arange(size), draw_words(size, 32)
    noise.shuffle(order, words)
    assert order.tolist() == slow_shuffle(list(range(size)), words.tolist())
    assert sorted(order.tolist()) == list(range(size))


def test_shuffle_reaches_every_order_by_equally_many_words() -> None:
    # Of the 2^32 words, those from j/(i+1) to (j+1)/(i+1) of them choose j. First and last of each range, all ranges:
    seen: dict[str, set[tuple[int, ...]]] = {"first": set(), "last": set()}
    for js in itertools.product(range(2), range(3), range(4)):
        first = [0] + [-(-j * 2**32 // (i + 1)) for i, j in enumerate(js, start=1)]
        last = [0] + [-(-(j + 1) * 2**32 // (i + 1)) - 1 for i, j in enumerate(js, start=1)]
        for name, words in (("first", first), ("last", last)):
            order = np.arange(4)
            noise.shuffle(order, np.array(words, dtype=np.uint32))
            seen[name].add(tuple(order.tolist()))
    assert len(seen["first"]) == len(seen["last"]) == 24


@pytest.mark.parametrize("corruption", [0.0, 0.05, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 20, 64, 300])
def test_bits_and_values_are_corrupted_where_the_word_is_below_the_limit(n: int, corruption: float) -> None:
    words, limits = draw_words(11 * n + LANES), make_workspace(n, 3, 1, corruption).limits
    x, order = draw_bits(30, n), np.random.default_rng(0).permutation(30)[:11]
    z = np.random.default_rng(3).random((11, n), dtype=np.float32)
    of_bits = np.zeros((11, padded(n)), dtype=np.float32)
    of_bits[:, :n] = 7
    of_values = of_bits.copy()
    noise.corrupt_bits(pad(x), order, words, n, limits, of_bits)
    noise.corrupt_values(pad(z, np.float32), words, n, limits, of_values)
    for out, rows in ((of_bits, x[order]), (of_values, z)):
        assert out[:, :n].tolist() == slow_corrupt(rows, words, limit_of(corruption)).tolist()
        assert not out[:, n:].any()


@pytest.mark.parametrize("corruption", [0.0, 1e-4, 0.05, 0.1, 1 / 3, 0.5, 0.999, 1.0])
def test_of_all_words_the_right_share_corrupts_and_half_of_it_to_one(corruption: float) -> None:
    words = np.arange(2**16, dtype=np.uint16)
    limits = make_workspace(8, 3, 1, corruption).limits
    out = np.zeros((2, 2**13, 8), dtype=np.float32)
    for bit in (0, 1):
        noise.corrupt_bits(np.full((2**13, 8), bit, dtype=np.uint8), np.arange(2**13), words, 8, limits, out[bit])
    to_one, to_zero = int(out[0].sum()), int((1 - out[1]).sum())
    assert to_one == to_zero
    assert abs((to_one + to_zero) / 2**16 - corruption) <= 2**-16


@pytest.mark.parametrize("n", [1, 9, 20])
def test_masking_puts_one_half_where_the_word_is_below_the_limit(n: int) -> None:
    words, limits = draw_words(11 * n + LANES), make_workspace(n, 3, 1, 0.3).limits
    x, z = draw_bits(11, n), np.random.default_rng(3).random((11, n), dtype=np.float32)
    masked = words[: 11 * n].reshape(11, n) < limit_of(0.3)
    for rows, kernel in ((x, noise.corrupt_some_bits), (z, noise.corrupt_some_values)):
        out = np.zeros((11, padded(n)), dtype=np.float32)
        order = (np.arange(11),) if kernel is noise.corrupt_some_bits else ()
        kernel(pad(rows, rows.dtype.type), *order, words, n, limits, noise.noise_shape(masking=True), out)
        assert (out[:, :n] == np.where(masked, np.float32(0.5), rows)).all()
        assert not out[:, n:].any()


@pytest.mark.parametrize("length", [1, 2, 5, 12, 40])
def test_blocks_along_a_path(length: int) -> None:
    """An entry is corrupted where one of the `length` entries that end with it, in a ring, begins a block."""
    n, rows, path = 12, 40, np.random.default_rng(0).permutation(12)
    shape = noise.noise_shape(path=path, corruption=0.4, length=length)
    words = draw_words(rows * n + LANES)
    begins = (words[: rows * n].reshape(rows, n) < shape.first)[:, path]
    expected = np.zeros((rows, n), dtype=bool)
    for back in range(min(length, n)):
        expected[:, path] |= np.roll(begins, back, axis=1)
    x, out = draw_bits(rows, n), np.zeros((rows, padded(n)), dtype=np.float32)
    fair = words[: rows * n].reshape(rows, n) % 2
    noise.corrupt_some_bits(pad(x), np.arange(rows), words, n, make_workspace(n, 3, 1, 0.4).limits, shape, out)
    assert (out[:, :n] == np.where(expected, fair, x)).all()


@pytest.mark.parametrize("corruption", [0.0, 0.05, 0.5, 1.0])
def test_blocks_corrupt_as_many_entries(corruption: float) -> None:
    n, rows = 20, 5000
    shape = noise.noise_shape(path=np.arange(n), corruption=corruption, length=4)
    words, x = draw_words(rows * n + LANES), np.zeros((rows, padded(n)), dtype=np.uint8)
    out = np.zeros(x.shape, dtype=np.float32)
    noise.corrupt_some_bits(x, np.arange(rows), words, n, make_workspace(n, 3, 1, corruption).limits, shape, out)
    deviation = np.sqrt(4 * corruption / 2 * (1 - corruption / 2) / (rows * n))  # blocks of 4 count as one
    assert abs(out[:, :n].mean() - corruption / 2) <= 4 * deviation + 2**-15
