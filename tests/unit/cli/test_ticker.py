"""What happens again and again while something else goes on."""

from __future__ import annotations

import os
import threading
import warnings
from itertools import pairwise

import pytest

from daedal.cli import ticker
from daedal.cli.ticker import Ticker, wheel


def test_it_ticks_until_it_is_stopped() -> None:
    enough, times = threading.Event(), []

    def tick() -> None:
        times.append(len(times))
        if len(times) == 3:
            enough.set()

    one = Ticker(tick, 0.001)
    one.start()
    assert enough.wait(60)
    one.stop()
    assert len(times) >= 3
    assert not one._thread.is_alive()


@pytest.mark.parametrize("error", [OSError("the terminal is gone"), ValueError("I/O operation on closed file")])
def test_what_cannot_be_written_ends_it_and_nothing_else(error: Exception) -> None:
    times: list[int] = []

    def tick() -> None:
        times.append(1)
        raise error

    one = Ticker(tick, 0.001)
    one.start()
    one._thread.join(60)
    assert times == [1]
    one.stop()


def test_one_that_never_began_can_be_stopped() -> None:
    Ticker(lambda: None, 1.0).stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_never_happens_during_a_tick() -> None:
    """Whatever lock a tick holds, a child finds none of them held for ever."""
    held, begun = threading.Lock(), threading.Event()

    def tick() -> None:
        with held:
            begun.set()
            for _ in range(1000):
                pass

    one = Ticker(tick, 0.0001)
    one.start()
    assert begun.wait(60)
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads, from Python 3.12 on
                child = os.fork()
            if child == 0:
                os._exit(held.locked() or not ticker._TICKING.acquire(timeout=60))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        one.stop()


def test_a_wheel_turns_several_times_a_second() -> None:
    for ascii_only in (False, True):
        signs = [wheel(turn / 8, ascii_only=ascii_only) for turn in range(8)]
        assert all(one != other for one, other in pairwise(signs))
        assert "".join(signs).isascii() is ascii_only
