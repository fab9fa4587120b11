"""What a process of a pool does: take what is sent, send the answer, and end with its parent."""

from __future__ import annotations

import inspect
import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing import process, spawn
from multiprocessing.connection import Connection
from typing import Any

from daedal.evaluation.failures import describe_error
from daedal.evaluation.pickling import unpack
from daedal.evaluation.pool import Event

COMMAND = """\
import sys
from multiprocessing.connection import Connection
connection = Connection({})
try:
    sys.path = connection.recv()
except (EOFError, OSError):
    sys.exit()
from daedal.evaluation.worker import work
work(connection)
"""
"""What a new process runs, with the number of a descriptor; daedal is where its parent, if it still lives, found it."""


def work(connection: Connection) -> None:
    """Be a worker until the parent is gone.

    It sends what the main module has to be made again from, and a packed function with what to call before the end.
    """
    os.set_inheritable(connection.fileno(), False)  # a program that lives on must not keep the connection open
    ending = _Ending()
    signal.signal(signal.SIGTERM, ending.by_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=ending.with_parent, args=(connection.fileno(),), daemon=True).start()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line: not later, or it would be lost with a worker that is killed, nor in pieces, which mingle.
            stream.reconfigure(line_buffering=True, write_through=False)
    try:
        _prepare_main(connection.recv())
        function, ending.on_exit = unpack(connection.recv_bytes())
    except Exception as error:  # noqa: BLE001  whatever it is, the parent has to know
        connection.send((Event.RAISED, describe_error(error)))
        return
    connection.send((Event.READY, None))
    while True:
        try:
            payload = connection.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # noqa: BLE001  what was sent needs a file that is gone, say
            connection.send((Event.RAISED, describe_error(error)))
        else:
            try:
                _answer(connection, function, payload)
            except OSError:  # the connection itself: an objective has closed what is not its own
                os._exit(1)  # without a word: nothing that would be closed now is open


def _prepare_main(data: dict[str, Any]) -> None:
    """Load the main script, which does not run what it keeps for itself, as every spawned process does."""
    this = process.current_process()
    this._inheriting = True  # type: ignore[attr-defined]  # by this a script that keeps nothing for itself is refused
    try:
        spawn.prepare(data)
    finally:
        del this._inheriting  # type: ignore[attr-defined]


def _answer(connection: Connection, function: Callable[[Any], Any], payload: object) -> None:
    try:
        answer = function(payload)
        if inspect.isgenerator(answer):
            for part in answer:
                connection.send((Event.PART, part))
            answer = None
        connection.send((Event.DONE, answer))
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent decides
        connection.send((Event.RAISED, describe_error(error)))


class _Ending:
    """How a worker ends from outside; `on_exit` is called before."""

    def __init__(self) -> None:
        self.on_exit: Callable[[], object] | None = None

    def by_signal(self, *_: object) -> None:
        """End as SIGTERM would have it, so that the parent sees that it came from outside."""
        try:
            self._prepare()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)

    def with_parent(self, connection: int) -> None:
        """End this process when its parent does, be it in the middle of a computation that would never end."""
        poll = select.poll()
        poll.register(connection, 0)  # nothing but the end of the other side
        poll.poll()
        try:
            self._prepare()
        finally:
            os._exit(128 + signal.SIGTERM)

    def _prepare(self) -> None:
        if self.on_exit is not None:
            self.on_exit()
