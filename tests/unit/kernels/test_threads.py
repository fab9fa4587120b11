"""BLAS is held to one thread inside, and given back as it was."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  both BLAS libraries are loaded before they are counted
from threadpoolctl import threadpool_info, threadpool_limits

from daedal.kernels import dae as kernels
from daedal.kernels.threads import one_blas_thread
from daedal.models import DAE
from daedal.models import dae as module


def blas_threads() -> set[int]:
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    assert libraries
    return {library["num_threads"] for library in libraries}


def test_one_inside_and_the_callers_number_outside() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_nested() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_given_back_after_an_exception() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError("an objective of the user")
        assert blas_threads() == {2}


def test_the_autoencoder_trains_and_samples_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def listen(name: str) -> None:
        kernel = getattr(kernels, name)

        def listener(*args):
            seen[name] = blas_threads()
            return kernel(*args)

        monkeypatch.setattr(kernels, name, listener)

    monkeypatch.setattr(module, "announce", lambda kernel: None)  # it asks the kernel itself
    for name in ("train", "mean_error", "sample"):
        listen(name)
    x = np.random.default_rng(0).integers(0, 2, (20, 6), dtype=np.uint8)
    with threadpool_limits(limits=2, user_api="blas"):
        rng = np.random.default_rng(0)
        DAE(max_epochs=5).fit(x, rng=rng).sample(4, rng=rng)
        assert blas_threads() == {2}
    assert seen == {"train": {1}, "mean_error": {1}, "sample": {1}}
