"""A worker process: it evaluates what it is sent, returns the answers, and ends with its parent.

Here are also the messages of workers and the way in which functions travel to them.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from multiprocessing import process, spawn
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from daedal.settings.checks import describe_error


class Event(Enum):
    """Kinds of messages from a worker."""

    READY = "ready"
    DONE = "done"
    RAISED = "raised"
    DIED = "died"


class Message(NamedTuple):
    """A message about a ticket: its answer, an error, or the death of its process."""

    ticket: Any
    event: Event
    value: Any = None  # the answer; the text of the error; or the exit code, negative for a signal


class PoolLost(ValueError):  # noqa: N818  no error of the objective, nor of its caller
    """Error of a pool whose workers cannot be reached any more."""


def pack(thing: object, what: str) -> bytes:
    """Return a function or another object as bytes for another process; refuse what cannot be sent.

    Lambdas, closures and functions of the main script travel by value, which needs cloudpickle. Functions that can be
    imported travel by name. So do those from the user's files that were loaded here: the other process loads the files
    first.
    """
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        cloudpickle = None
    plugins = sys.modules.get("daedal.settings.plugins")
    files = [] if plugins is None else list(plugins.loaded_files())
    try:
        return pickle.dumps((files, (pickle if cloudpickle is None else cloudpickle).dumps(thing)))
    except Exception as error:
        hint = (
            'lambdas and closures need cloudpickle: pip install "daedal[parallel]"'
            if cloudpickle is None
            else "does it hold an open file, a lock or a connection? Open it inside the function"
        )
        raise TypeError(
            f"{what} cannot be sent to another process ({type(error).__name__}: {error}); {hint}"
        ) from error


def unpack(data: bytes) -> Any:
    """Return the object that `pack` made bytes of. Only for bytes that this program itself has sent."""
    files, packed = pickle.loads(data)
    if files:
        from daedal.settings.plugins import load_file  # slow to load, and most functions need no file

        for file in files:
            with suppress(ValueError):  # it may be missing and not needed; otherwise the next line raises
                load_file(file)
    return pickle.loads(packed)


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
"""The program of a new process, with the number of a descriptor. It finds daedal where its parent found it."""


def work(connection: Connection) -> None:
    """Evaluate until the parent is gone.

    The parent sends the preparation data of `multiprocessing.spawn`, a packed function, and then what to apply it to.
    """
    os.set_inheritable(connection.fileno(), False)  # the parent takes a closed connection for the end of this process,
    os.register_at_fork(after_in_child=connection.close)  # so no child may keep it open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # By lines: later, text would be lost with a worker that is killed, and in pieces it would mingle.
            stream.reconfigure(line_buffering=True, write_through=False)
    try:
        _prepare_main(connection.recv())
        function = unpack(connection.recv_bytes())
    except Exception as error:  # noqa: BLE001  any error is reported to the parent
        connection.send((Event.RAISED, describe_error(error)))
        return
    connection.send((Event.READY, None))
    while True:
        message = _next_message(connection, function)
        if message is None:
            return
        try:
            connection.send(message)
        except OSError:  # the connection is gone: the objective closed it, or the parent ended
            os._exit(1)
        except Exception as error:  # noqa: BLE001  the answer cannot be sent
            connection.send((Event.RAISED, describe_error(error)))


def _next_message(connection: Connection, function: Callable[[Any], Any]) -> tuple[Event, Any] | None:
    try:
        payload = connection.recv()
    except (EOFError, OSError):
        return None
    except Exception as error:  # noqa: BLE001  for example, the payload needs a file that is gone
        return Event.RAISED, describe_error(error)
    try:
        return Event.DONE, function(payload)
    except BaseException as error:  # noqa: BLE001  the parent decides
        return Event.RAISED, describe_error(error)


def _prepare_main(data: dict[str, Any]) -> None:
    """Load the main script as every spawned process does: without the code under `if __name__ == "__main__":`."""
    this = process.current_process()
    this._inheriting = True  # type: ignore[attr-defined]  # by this a script without that line is refused
    try:
        spawn.prepare(data)
    finally:
        del this._inheriting  # type: ignore[attr-defined]
