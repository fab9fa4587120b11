"""LABS: merit factors of a slow twin, and the best sequences that are known."""

from __future__ import annotations

import numpy as np
import pytest
from all_rows import all_rows

from daedal.problems import LABS

ENERGIES = dict(
    enumerate(
        [
            1, 1, 2, 2, 7, 3, 8, 12, 13, 5, 10, 6, 19, 15, 24, 32, 25, 29, 26, 26, 39, 47, 36, 36, 45, 37, 50, 62, 59,
            67, 64, 64, 65, 73, 82, 86, 87, 99, 108, 108, 101, 109, 122, 118, 131, 135, 140, 136, 153, 153, 166, 170,
            175, 171, 192, 188, 197, 205, 218, 226, 235, 207, 208, 240, 257,
        ],
        start=2,
    )
)  # fmt: skip
"""The lowest energies that Packebusch and Mertens list, by the number of bits."""


def energy(row: list[int]) -> int:
    signs = [2 * bit - 1 for bit in row]
    return sum(sum(a * b for a, b in zip(signs, signs[lag:], strict=False)) ** 2 for lag in range(1, len(row)))


@pytest.mark.parametrize("n", [2, 3, 7, 10])
def test_every_row_has_the_merit_factor_of_a_slow_twin_and_the_best_is_the_optimum(n: int) -> None:
    x = all_rows(n)
    values = LABS(n=n).evaluate(x)
    assert values.tolist() == [n * n / (2 * energy(row)) for row in x.tolist()]
    assert values.max() == LABS(n=n).optimum
    assert LABS(n=n).evaluate(x * np.uint8(7)).tolist() == values.tolist()


@pytest.mark.parametrize("n", ENERGIES)
def test_the_best_sequence_has_the_published_energy(n: int) -> None:
    problem = LABS(n=n)
    assert problem.solution is not None
    assert len(problem.solution) == n
    assert energy(problem.solution.tolist()) == ENERGIES[n]
    assert problem.optimum == n * n / (2 * ENERGIES[n])


def test_beyond_66_nobody_knows() -> None:
    assert max(ENERGIES) == 66
    assert LABS(n=67).optimum is None
    assert LABS(n=67).solution is None
