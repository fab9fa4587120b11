"""What every registered model must do. A new one is in by being registered."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from model_contract import CHECKS, digest, fit, fitting_leaves_its_input_alone
from run_helpers import registries_restored

from daedal.models.base import Fitted, Model
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import EDAConfiguration, algorithms, register_algorithm
from daedal.types import Bits


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


# The suite itself


@dataclass(frozen=True, kw_only=True)
class Resampled(Fitted):
    rows: Bits

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        return self.rows[rng.integers(0, len(self.rows), rows)] ^ (rng.random((rows, 1)) < 0.1).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(Model):
    """A model in a few lines: parents again, now and then their complement."""

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        return Resampled(rows=x.copy())


@dataclass(frozen=True, kw_only=True)
class Borrowing(Model):
    """As Bootstrap, but looks at the caller's rows later."""

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        return Resampled(rows=x)


@pytest.fixture
def newcomer() -> Iterator[str]:
    with registries_restored():
        register_algorithm(Algorithm(name="bootstrap", configuration=EDAConfiguration(model=Bootstrap())))
        yield "bootstrap"


def test_a_newly_registered_model_is_under_contract(newcomer: str, other_process: ProcessPoolExecutor) -> None:
    model = model_cases()[newcomer]
    assert model == Bootstrap()
    for check in CHECKS:
        check(model)
    assert other_process.submit(digest, model).result(timeout=120) == digest(model)


def test_the_contract_has_teeth() -> None:
    with pytest.raises(AssertionError):
        fitting_leaves_its_input_alone(Borrowing())
