"""Streams of random numbers, the words taken from them, and the check of a seed."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.rng import Stream, check_seed, draw_below, draw_unit, draw_word, stream, words16, words32


def test_the_numbers_of_the_purposes_never_change() -> None:
    pinned = {"MASK": 0, "START": 1, "SELECT": 2, "FIT": 3, "SAMPLE": 4, "SHUFFLE": 5}
    pinned |= {"REPLACE": 6, "SEARCH": 7}
    assert pinned.items() <= {s.name: s.value for s in Stream}.items()
    assert len({s.value for s in Stream}) == len(Stream)


def test_a_stream_is_a_child_of_its_seed() -> None:
    child = np.random.SeedSequence(12, spawn_key=(3, 45))
    expected = np.random.Generator(np.random.SFC64(child)).random(9)
    assert stream(12, Stream.FIT, 45).random(9).tolist() == expected.tolist()


def test_every_seed_purpose_and_generation_has_its_own_stream() -> None:
    drawn = [stream(s, p, g).integers(2**63) for s, p, g in itertools.product(range(4), Stream, range(5))]
    assert len(set(drawn)) == len(drawn)


def test_another_process_draws_the_same() -> None:
    code = "from daedal.rng import *; print(stream(7, Stream.SAMPLE, 3).integers(2**63, size=3).tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(stream(7, Stream.SAMPLE, 3).integers(2**63, size=3).tolist())


@pytest.mark.parametrize(("words", "bits"), [(words16, 16), (words32, 32)])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 1001])
def test_words_are_the_pieces_of_the_raw_ones(words, bits: int, count: int) -> None:
    pieces = 64 // bits
    raw = stream(1, Stream.FIT).bit_generator.random_raw(-(-count // pieces))
    got = words(stream(1, Stream.FIT), count)
    assert got.dtype == np.dtype(f"uint{bits}")
    assert count <= got.size < count + pieces
    # Lowest piece first, as a little-endian machine has them.
    assert got.tolist() == [(int(word) >> (bits * k)) & (2**bits - 1) for word in raw for k in range(pieces)]


@pytest.mark.parametrize(("words", "bits"), [(words16, 16), (words32, 32)])
def test_words_are_uniform_in_their_high_and_low_bytes(words, bits: int) -> None:
    drawn = words(stream(5, Stream.FIT), 400_000)
    for byte in (drawn >> (bits - 8), drawn & 255):
        assert chisquare(np.bincount(byte.astype(np.int64), minlength=256)).pvalue > 1e-3


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**100, np.int64(3), np.uint8(9)])
def test_whole_numbers_are_seeds(seed: int) -> None:
    checked = check_seed(seed)
    assert checked == seed
    assert type(checked) is int
    assert stream(checked, Stream.MASK).random() == stream(int(seed), Stream.MASK).random()


def test_no_seed_means_a_fresh_one() -> None:
    seeds = {check_seed(None) for _ in range(20)}
    assert len(seeds) == 20
    assert all(0 <= seed < 2**32 for seed in seeds)


@pytest.mark.parametrize("seed", [-1, 1.0, 1.5, "7", True, False, np.float64(2), float("nan"), [1]])
def test_anything_else_is_refused_by_name(seed: object) -> None:
    with pytest.raises(ValueError, match="seed=") as refusal:
        check_seed(seed)  # type: ignore[arg-type]
    assert repr(seed) in str(refusal.value)


# Words drawn by kernels


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 0xDEADBEEF12345678])
def test_words_are_those_of_splitmix64(seed: int) -> None:
    state, expected = np.array([seed], np.uint64), seed
    for _ in range(100):
        expected = (expected + 0x9E3779B97F4A7C15) % 2**64
        word = (expected ^ (expected >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        assert int(draw_word(state)) == word ^ (word >> 31)


def test_the_first_words_are_the_published_ones() -> None:
    state = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(draw_word(state)) for _ in published] == published


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
def test_numbers_below_a_bound_are_uniform(most: int) -> None:
    state, draws = np.array([5], np.uint64), 20_000
    counts = np.bincount([draw_below(state, most) for _ in range(draws)], minlength=most)
    assert len(counts) == most
    if most > 1:
        assert chisquare(counts).pvalue > 1e-4


def test_numbers_of_the_unit_interval_are_uniform() -> None:
    state = np.array([5], np.uint64)
    drawn = np.array([draw_unit(state) for _ in range(20_000)])
    assert 0 <= drawn.min() < drawn.max() < 1
    assert chisquare(np.histogram(drawn, bins=50, range=(0, 1))[0]).pvalue > 1e-4
