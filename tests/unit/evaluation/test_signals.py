"""Ctrl-C: held back while things that belong together are done, and never lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from daedal.evaluation.signals import Interrupts, ended_properly, interrupts_held


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Python's own handler, also where this process was started with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # what a block changes it puts back
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_often_it_comes_it_arrives_once_after_the_block(number: int) -> None:
    done = []
    before = signal.signal(number, leave)
    with pytest.raises(SystemExit):  # noqa: PT012  the block is what is tested
        with interrupts_held():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append("rest of the block")
        done.append("behind the block")
    assert done == ["rest of the block"]
    with interrupts_held():
        pass
    assert signal.signal(number, before) is leave


def test_blocks_in_blocks_wait_for_the_outermost() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
        with interrupts_held():
            press()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_error_in_the_block_is_not_forgotten_and_alone_it_passes() -> None:
    error = OSError("disk full")
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_held():  # noqa: PT012
        press()
        raise error
    assert caught.value.__context__ is error
    with pytest.raises(OSError, match="disk full"), interrupts_held():
        raise error


def test_whoever_handled_it_before_gets_it_and_where_it_is_ignored_it_stays_so() -> None:
    got: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: got.append(number))
    with interrupts_held():
        press()
        assert got == []
    assert got == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held():
        press()
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN


def test_a_handler_that_was_set_meanwhile_stays() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts():
        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
    assert signal.signal(signal.SIGTERM, before) is signal.signal(signal.SIGINT, signal.default_int_handler) is leave


@pytest.mark.parametrize("call", range(1, 5))
def test_while_handlers_are_set_or_put_back_it_is_not_lost_either(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two calls set handlers, of SIGINT and SIGTERM, the next two put them back."""
    before, real, calls = signal.signal(signal.SIGTERM, leave), signal.signal, []

    def pressed(number: int, handler: Any) -> Any:
        was = real(number, handler)
        calls.append(number)
        if len(calls) == call:
            press()
        return was

    monkeypatch.setattr(signal, "signal", pressed)
    with pytest.raises(KeyboardInterrupt), Interrupts():
        pass
    monkeypatch.undo()
    assert signal.signal(signal.SIGTERM, before) is leave


def test_a_handler_that_is_not_pythons_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library in C has set one, Python can neither name it nor put it back."""
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        press()
    monkeypatch.undo()


@pytest.mark.parametrize("block", [interrupts_held, ended_properly])
def test_in_another_thread_nothing_is_held(block: Callable[[], AbstractContextManager[Any]]) -> None:
    """There Python neither delivers signals nor lets handlers be set."""
    inside, go_on = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with block():
                inside.set()
                go_on.wait(60)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    with pytest.raises(KeyboardInterrupt):
        press()  # while the other thread is in its block
    go_on.set()
    thread.join(60)
    assert failures == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_as_ctrl_c_and_is_known_afterwards(number: int) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    with ended_properly() as came:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012
            signal.raise_signal(number)
            assert came == [number]  # the second has to wait
        with pytest.raises(KeyboardInterrupt):
            press()
        assert came == [number, number]
    assert signal.signal(number, signal.SIG_IGN) is signal.SIG_DFL
    with ended_properly() as came:
        signal.raise_signal(number)  # as nohup has it
    assert came == []
    assert signal.signal(number, before) is signal.SIG_IGN


def test_what_is_kept_waits_for_good_and_is_told() -> None:
    """From the end of a run on, its result is handed over, whoever asks to end."""
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            press()
        came = interrupts.keep()
        press()
        assert came == [signal.SIGINT]
