"""Ctrl-C: held back while things that belong together are done, and never lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from daedal.evaluation.signals import interrupts_held, interrupts_ignored


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Python's own handler, also where this process was started with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # what a block changes it puts back
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_it_arrives_after_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  the block is what is tested
        with interrupts_held():
            press()
            done.append("rest of the block")
        done.append("behind the block")
    assert done == ["rest of the block"]


def test_pressed_often_it_arrives_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
        press()
        press()
    with interrupts_held():
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_requests_to_end_wait_too(number: int) -> None:
    done = []

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(number, leave)
    with pytest.raises(SystemExit), interrupts_held():  # noqa: PT012
        signal.raise_signal(number)
        done.append("rest of the block")
    assert done == ["rest of the block"]
    assert signal.signal(number, before) is leave


def test_without_it_nothing_happens() -> None:
    with interrupts_held():
        pass


def test_blocks_in_blocks_wait_for_the_outermost() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
        with interrupts_held():
            press()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_error_in_the_block_is_not_forgotten() -> None:
    error = OSError("disk full")
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_held():  # noqa: PT012
        press()
        raise error
    assert caught.value.__context__ is error


def test_an_error_alone_passes() -> None:
    with pytest.raises(OSError, match="disk full"), interrupts_held():
        raise OSError("disk full")


def test_whoever_handled_it_before_gets_it() -> None:
    got: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: got.append(number))
    with interrupts_held():
        press()
        assert got == []
    assert got == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_where_it_is_ignored_it_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held():
        press()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("block", [interrupts_held, interrupts_ignored])
def test_a_handler_that_is_not_pythons_stays(block: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library in C has set one, Python can neither name it nor put it back."""
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    with pytest.raises(KeyboardInterrupt), block():
        press()
    monkeypatch.undo()


@pytest.mark.parametrize("block", [interrupts_held, interrupts_ignored])
def test_in_another_thread_nothing_is_held(block: type) -> None:
    """There Python neither delivers signals nor lets handlers be set."""
    inside, leave = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with block():
                inside.set()
                leave.wait(30)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(30)
    with pytest.raises(KeyboardInterrupt):
        press()  # while the other thread is in its block
    leave.set()
    thread.join(30)
    assert failures == []


def test_ignored_it_is_gone() -> None:
    with interrupts_ignored():
        press()
    with pytest.raises(KeyboardInterrupt):
        press()
