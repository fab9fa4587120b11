"""What every registered model must do. A new one is in by being registered."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from model_contract import CHECKS, digest, fit

from daedal.models.base import Model
from daedal.searches.presets import EDAConfiguration, algorithms


def model_cases() -> dict[str, Model]:
    """Give the models under contract: those of all registered algorithms."""
    made = {name: algorithm.configuration for name, algorithm in algorithms().items()}
    return {name: one.model for name, one in made.items() if isinstance(one, EDAConfiguration)}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(model_cases()))
def test_every_model(name: str, check: Callable[[Model], None]) -> None:
    check(model_cases()[name])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
@pytest.mark.parametrize("name", sorted(model_cases()))
def test_no_parents_are_refused(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"at least one row .*{re.escape(str(shape))}"):
        fit(model_cases()[name], np.empty(shape, dtype=np.uint8))


@pytest.fixture(scope="module")
def other_process() -> Iterator[ProcessPoolExecutor]:
    """A fresh process, with nothing in common with this one but the code."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("name", sorted(model_cases()))
def test_every_model_draws_the_same_bits_in_another_process(name: str, other_process: ProcessPoolExecutor) -> None:
    model = model_cases()[name]
    assert other_process.submit(digest, model).result(timeout=120) == digest(model)
