"""What benchmarks/accelerator.py computes of an epoch, where it can be counted by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from accelerator_cost import GPU, LAUNCH_SECONDS, Work, work_of


def test_the_work_of_an_epoch_is_five_products_a_batch() -> None:
    one, many = (work_of(48, 20, 100, networks) for networks in (1, 3))
    products = 5 * (5 * 2 * 20 * 48 * 48)
    assert products < one.flops < 1.2 * products
    assert many.flops == pytest.approx(3 * one.flops, rel=0.02)
    weights = 4 * 48 * 48
    assert 5 * 5 * weights < one.bytes < 5 * 60 * weights
    assert 5 * 5 < one.launches < 5 * 40
    assert many.launches == pytest.approx(one.launches, rel=0.3)


def test_the_least_time_is_that_of_what_takes_longest() -> None:
    gpu = GPU("fast", 1e12, 1e9)
    assert Work(2e12, 1e9, 10).seconds(gpu) == (2.0, "compute")
    assert Work(1e12, 3e9, 10).seconds(gpu) == (3.0, "memory")
    assert Work(0, 0, 10).seconds(gpu) == (10 * LAUNCH_SECONDS, "launches")
