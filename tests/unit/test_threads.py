"""BLAS is held to one thread inside, and given back as it was."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  both BLAS libraries are loaded before they are counted
from threadpoolctl import threadpool_info, threadpool_limits

import daedal
from daedal.models import DAE, RBM, Model
from daedal.threads import one_blas_thread


def blas_threads() -> set[int]:
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    assert libraries
    return {library["num_threads"] for library in libraries}


def test_one_inside_and_the_callers_number_outside() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError("an objective of the user")
        assert blas_threads() == {2}


class Watching(np.random.Generator):
    """Looks at the threads of BLAS whenever noise or bits are drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.SFC64(seed))
        self.seen: list[set[int]] = []

    @property
    def bit_generator(self) -> Any:
        self.seen.append(blas_threads())
        return super().bit_generator

    def random(self, *arguments: Any, **named: Any) -> Any:
        self.seen.append(blas_threads())
        return super().random(*arguments, **named)


@pytest.mark.parametrize("model", [DAE(max_epochs=5), RBM(max_epochs=5)], ids=["DAE", "RBM"])
def test_networks_train_and_sample_with_one(model: Model) -> None:
    x = np.random.default_rng(0).integers(0, 2, (20, 6), dtype=np.uint8)
    training, sampling = Watching(0), Watching(1)
    with threadpool_limits(limits=2, user_api="blas"):
        model.fit(x, rng=training).sample(4, rng=sampling)
        assert blas_threads() == {2}
    for rng in (training, sampling):
        assert rng.seen
        assert all(threads == {1} for threads in rng.seen)


def test_runs_in_threads_leave_the_number_as_it_was() -> None:
    """Both train at once; the one that began first ends first, while the other has still to train."""
    both, first_ended = threading.Barrier(2), threading.Event()

    def run(number: int) -> None:
        with one_blas_thread():
            both.wait()
            daedal.maximize(lambda x: x.sum(axis=1), n=6, algorithm="dae", popsize=20, seed=1, max_generations=2)
            if number:
                first_ended.wait()
                assert blas_threads() == {1}
        if not number:
            first_ended.set()

    with threadpool_limits(limits=2, user_api="blas"), ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(run, number) for number in (0, 1)]:
            done.result()
        assert blas_threads() == {2}
