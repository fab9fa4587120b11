"""Random words inside kernels."""

from __future__ import annotations

import numpy as np
import pytest
from search_twins import SplitMix

from daedal.kernels.draws import draw_below, draw_row, draw_word


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 0xDEADBEEF12345678])
def test_words_are_those_of_splitmix64(seed: int) -> None:
    state, twin = np.array([seed], np.uint64), SplitMix(seed)
    for _ in range(100):
        assert int(draw_word(state)) == twin.word()
        assert int(state[0]) == twin.state


def test_the_first_words_are_the_published_ones() -> None:
    state = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(draw_word(state)) for _ in published] == published


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
def test_numbers_below_a_bound_are_uniform(most: int) -> None:
    state, draws = np.array([5], np.uint64), 20_000
    counts = np.bincount([draw_below(state, most) for _ in range(draws)], minlength=most)
    assert len(counts) == most
    expected = draws / most
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < most + 5 * (2 * most) ** 0.5  # five standard deviations


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_rows_have_n_uniform_bits_and_nothing_behind(n: int) -> None:
    state, words = np.array([9], np.uint64), -(-n // 64)
    ones = np.zeros(64 * words)
    for _ in range(400):
        row = np.empty(words, np.uint64)
        draw_row(state, n, row)
        ones += np.unpackbits(row.view(np.uint8), bitorder="little")
    assert not ones[n:].any()
    assert np.abs(ones[:n] - 200).max() < 5 * 10  # standard deviation 10
