"""A change of the process that threads share is made once, and taken back by the last who leaves."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from daedal.run.config import RunConfig
from daedal.searches.presets import find_algorithm
from daedal.studies.runner import run_quietly
from daedal.threads import Shared


class Value:
    """What several want to be 1 for a while."""

    def __init__(self) -> None:
        self.now = 8

    @contextmanager
    def one(self) -> Iterator[None]:
        before, self.now = self.now, 1
        try:
            yield
        finally:
            self.now = before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_whoever_leaves_last_takes_it_back(order: tuple[int, ...]) -> None:
    value = Value()
    shared = Shared(value.one)
    entered = threading.Barrier(4)
    leave, left = [threading.Event() for _ in range(3)], [threading.Event() for _ in range(3)]

    def use(number: int) -> None:
        with shared:
            entered.wait()
            leave[number].wait()
        left[number].set()

    with ThreadPoolExecutor(3) as threads:
        done = [threads.submit(use, number) for number in range(3)]
        entered.wait()
        for number in order:
            assert value.now == 1
            leave[number].set()
            left[number].wait()
        for one in done:
            one.result()
    assert value.now == 8


def test_whoever_raises_leaves_too() -> None:
    value = Value()
    shared = Shared(value.one)
    with pytest.raises(KeyError), shared, shared:
        raise KeyError
    assert value.now == 8


def test_a_change_that_fails_is_no_change() -> None:
    @contextmanager
    def fails() -> Iterator[None]:
        raise OSError
        yield

    shared = Shared(fails)
    for _ in range(2):
        with pytest.raises(OSError), shared:  # noqa: PT011  nothing but the class
            pass


def test_standard_output_comes_back_after_runs_in_threads() -> None:
    """The first run to begin is the first to end, while the other one goes on."""
    both, first_ended = threading.Barrier(2), threading.Event()

    def run(number: int) -> None:
        calls = []

        def objective(x: np.ndarray) -> np.ndarray:
            if not calls:
                calls.append(1)
                both.wait()
                if number:
                    first_ended.wait()
            return x.sum(axis=1)

        config = RunConfig(objective=objective, n=4, algorithm=find_algorithm("umda"), seed=1)
        run_quietly(config)
        if not number:
            first_ended.set()

    before = sys.stdout
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(run, number) for number in (0, 1)]:
            done.result()
    assert sys.stdout is before
