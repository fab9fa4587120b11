"""What a process of a pool does: take what is sent, send the answer, and end with its parent."""

from __future__ import annotations

import inspect
import io
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from daedal.evaluation.failures import describe_error
from daedal.evaluation.pickling import unpack
from daedal.evaluation.pool import Event


def work(connection: Connection, packed: bytes) -> None:
    """Be a worker, with a packed function and what to call before the end, until the parent is gone."""
    ending = _Ending()
    signal.signal(signal.SIGTERM, ending.by_signal)
    threading.Thread(target=ending.with_parent, daemon=True).start()
    sys.stdout.flush()
    os.dup2(2, 1)  # what objectives print, in Python or C, is not for standard output
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line: not later, or it would be lost with a worker that is killed, nor in pieces, which mingle.
            stream.reconfigure(line_buffering=True, write_through=False)
    try:
        function, ending.on_exit = unpack(packed)
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
            _answer(connection, function, payload)


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

    def with_parent(self) -> None:
        """End this process when its parent does, be it in the middle of a computation that would never end."""
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        try:
            self._prepare()
        finally:
            os._exit(128 + signal.SIGTERM)

    def _prepare(self) -> None:
        if self.on_exit is not None:
            self.on_exit()
