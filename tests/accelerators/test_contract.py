"""The autoencoder by JAX is a model like any other, and its runs are runs like any other."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_contract import (
    CHECKS,
    any_parents_are_fine,
    digest,
    fit,
)
from run_helpers import at, told

import daedal
from daedal.models import DAE, DAESearch
from daedal.models.base import Model
from daedal.optimizers.eda import EDAConfiguration

MODELS: dict[str, Model] = {"dae": DAE(backend="jax"), "dae-search": DAESearch(backend="jax")}
SHORT: dict[str, Any] = {"seed": 5, "popsize": 40, "max_generations": 4, "backend": "jax", "max_epochs": 10}
TRAP = "trap:k=4,n=12"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_model_keeps_the_contract(check: Callable[[Model], None]) -> None:
    check(MODELS["dae"])


@pytest.mark.parametrize(
    "check", [one for one in CHECKS if one is not any_parents_are_fine], ids=lambda one: one.__name__
)
def test_the_guide_of_a_search_keeps_it(check: Callable[[Model], None]) -> None:
    check(MODELS["dae-search"])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
def test_no_parents_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least one row"):
        fit(MODELS["dae"], np.empty(shape, dtype=np.uint8))


def test_another_process_draws_the_same_bits() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(digest, MODELS["dae"]).result(timeout=120) == digest(MODELS["dae"])


KINDS: dict[str, dict[str, Any]] = {
    "from scratch": {},
    "half kept": {"warm_start": 0.5, "tied": False},
    "deep": {"warm_start": 1.0, "hidden": (9, 5), "optimizer": "adam", "learning_rate": 0.01, "sampling_steps": "auto"},
    "guide": {"algorithm": "dae-search", "warm_start": 1.0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_to_the_bit(kind: str, tmp_path: Path) -> None:
    path, how = tmp_path / "run.ckpt", {"algorithm": "dae", **SHORT, **KINDS[kind]}
    expected = daedal.maximize(TRAP, **how)
    assert daedal.maximize(TRAP, checkpoint=path, callback=at(2), **how).generations == 2
    assert told(daedal.resume(path)) == told(expected)


def test_the_result_names_the_device(tmp_path: Path) -> None:
    result = daedal.maximize(TRAP, algorithm="dae", **SHORT)
    assert result.explanation == "JAX, on cpu:0."
    assert result.settings["backend"] == "jax"
    assert daedal.maximize(TRAP, algorithm="dae", **SHORT | {"device": "cpu"}).x.tolist() == result.x.tolist()
    assert daedal.maximize(TRAP, algorithm="dae", **SHORT | {"backend": "numba"}).explanation == ""
    doubled = EDAConfiguration(model=MODELS["dae"], popsize="auto").build(n=12, seed=1)
    assert doubled.explanation == "JAX, on cpu:0."


def test_workers_change_nothing() -> None:
    one, two = (daedal.maximize(TRAP, algorithm="dae", workers=workers, **SHORT) for workers in (1, 2))
    assert told(one) == told(two)


def test_a_study_with_two_processes(tmp_path: Path) -> None:
    table = {"algorithm": "dae", "settings": {"backend": "jax", "max_epochs": 5}}
    some = daedal.study(
        ["onemax:n=8"], [table], popsizes=[20], runs=2, limits={"max_generations": 2}, store=tmp_path / "results.db"
    )
    assert repr(some.run(workers=2).status()).startswith("Status(done=2, failed=0, killed=0")


def test_the_settings_that_came_later_change_no_key() -> None:
    assert {"backend": "numba", "device": None}.items() <= dict(DAE.later).items()
    assert dataclasses.asdict(DAE())["backend"] == "numba"
