"""A pool on the workers of an external executor: concurrent.futures, Dask, or anything that has their `submit`."""

from __future__ import annotations

import importlib
import logging
import math
import os
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent import futures
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.evaluation.worker import Event, Message, PoolLost, pack, unpack
from daedal.settings.checks import describe_error
from daedal.settings.lazy import missing_extra

_TICK_SECONDS = 0.25  # between two looks at the connection to Dask's scheduler
_SECONDS_BETWEEN_LOOKS = 5.0  # at a scheduler that sends nothing
_DEATHS = ("KilledWorker", "BrokenProcessPool", "BrokenExecutor")


class ExecutorPool:
    """The slots of an external executor, with the methods of `ProcessPool`.

    Closing the pool cancels what waits. The executor itself remains open for its owner.

    Parameters
    ----------
    executor
        The executor.
    function
        What its workers apply to the payloads that they are sent.
    timeout
        Seconds without a sign of Dask's scheduler or of any of its workers after which they count as lost.
    """

    def __init__(
        self, executor: futures.Executor, function: Callable[[Any], Any], *, timeout: float = EXECUTOR_TIMEOUT
    ) -> None:
        self.executor = executor
        self.size = _slots(executor)
        self._function: Any = function
        if not isinstance(executor, futures.ThreadPoolExecutor):  # threads of this process need no copy
            self._function = pack(function, "the objective")
        client = getattr(executor, "_client", None)
        self._watch = None if client is None else SchedulerWatch(client, timeout)
        self._there: Any = None  # the function, at Dask
        self._tickets: dict[futures.Future[Any], Hashable] = {}

    def __enter__(self) -> ExecutorPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def idle(self) -> int:
        """Number of slots that have nothing to do."""
        return self.size - len(self._tickets)

    def start(self, ticket: Hashable, payload: object) -> None:
        """Send a payload to the executor; messages about it carry the ticket."""
        options = {} if self._watch is None else {"pure": False}  # a repeated candidate is to be evaluated again
        try:
            future = self.executor.submit(_apply, self._sent_function(), payload, **options)
        except futures.BrokenExecutor as error:
            raise ValueError(f"the executor is broken ({describe_error(error)}); pass a new one") from error
        self._tickets[future] = ticket

    def _sent_function(self) -> Any:
        """Return the function; Dask gets it once, not with every payload, and again after a lost connection.

        It is sent as a task, because scattered data is lost with its workers.
        """
        if self._watch is None:
            return self._function
        self._watch.await_connection()
        if self._there is None or self._there.status in ("cancelled", "lost"):
            self._there = self._watch.client.submit(bytes, self._function, pure=False)
        return self._there

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout in seconds; raise `PoolLost` if Dask's scheduler or workers are."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            tick = left if self._watch is None else min(left, _TICK_SECONDS)
            done, _ = futures.wait(
                self._tickets, timeout=None if tick == math.inf else tick, return_when=futures.FIRST_COMPLETED
            )
            if self._watch is not None:
                self._watch.await_connection()  # first, because futures of a lost connection are cancelled
                self._watch.note_sign() if done else self._watch.look()
            if done or left <= tick:
                return [self._message(future) for future in done]

    def _message(self, future: futures.Future[Any]) -> Message:
        ticket = self._tickets.pop(future)
        try:
            return Message(ticket, Event.DONE, future.result())
        except futures.CancelledError as error:
            return Message(ticket, Event.DIED, describe_error(error))
        except Exception as error:  # noqa: BLE001  the caller decides about any error
            death = isinstance(error, futures.BrokenExecutor) or type(error).__name__ in _DEATHS
            return Message(ticket, Event.DIED if death else Event.RAISED, describe_error(error))

    def stop(self, ticket: Hashable) -> None:
        """Forget a ticket; daedal cannot end what an external worker does."""
        for future in [future for future, known in self._tickets.items() if known == ticket]:
            future.cancel()
            del self._tickets[future]

    def close(self) -> None:
        """Cancel what waits."""
        for future in self._tickets:
            future.cancel()
        self._tickets = {}


def _apply(function: bytes | Callable[[Any], Any], payload: object) -> Any:
    return (_unpacked(function) if isinstance(function, bytes) else function)(payload)


_unpacked = lru_cache(maxsize=4)(unpack)


def _slots(executor: futures.Executor) -> int:
    client = getattr(executor, "_client", None)
    if client is not None:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ValueError("the Dask scheduler has no workers yet; start some with: dask worker ADDRESS")
        return int(2 * threads)  # one under way and one waiting, for each
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


# ------------------------------------------------------------ Dask


class SchedulerWatch:
    """Watches the connection of a Dask client to its scheduler, and whether the scheduler has workers.

    An evaluation may take any time. If there is no sign of a scheduler with workers for `timeout` seconds, `PoolLost`
    is raised.
    """

    def __init__(
        self,
        client: Any,
        timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client = client
        self.timeout = timeout
        self.clock = clock
        self.pause = pause
        self._asked = self._last_sign = clock()

    def await_connection(self) -> None:
        """Wait while a client that has lost its scheduler looks for it."""
        began = self.clock()
        while self.client.status != "running":
            if self.client.status == "closed" or self.clock() - began >= self.timeout:
                raise PoolLost(f"the Dask scheduler is lost: there was no connection for {self.timeout:g} s")
            self.pause(0.1)

    def look(self) -> None:
        """Ask for the workers if nothing has come for a while."""
        between = min(_SECONDS_BETWEEN_LOOKS, self.timeout / 4)
        if self.clock() - self._asked < between:
            return
        try:
            workers = self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=between)
        except Exception as error:  # noqa: BLE001  no error is a sign of workers
            workers, why = None, f"does not answer ({describe_error(error)})"
        else:
            why = "has no workers"
        self._asked = self.clock()
        if workers:
            self._last_sign = self._asked
        elif self._asked - self._last_sign >= self.timeout:
            raise PoolLost(f"the Dask scheduler {why}, for {self.timeout:g} s")

    def note_sign(self) -> None:
        """Note that an answer has come."""
        self._last_sign = self.clock()


@contextmanager
def dask_executor(address: str, timeout: float = EXECUTOR_TIMEOUT) -> Iterator[futures.Executor]:
    """Connect to Dask: "tcp://host:8786" is a running scheduler, "local:4" starts four processes here.

    Parameters
    ----------
    address
        The scheduler, or the number of local processes.
    timeout
        Seconds for which a scheduler is looked for when its connection is lost.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise missing_extra("Dask needs its own package", "dask") from error
    kind, _, rest = address.partition(":")
    if kind == "local":
        if not rest.isdigit() or int(rest) < 1:
            raise ValueError(f"expected --dask local:N with a number of processes, as in local:4, got {address!r}")
        settings = {
            "n_workers": int(rest),
            "threads_per_worker": 1,
            "processes": True,
            "dashboard_address": "127.0.0.1:0",
            "silence_logs": logging.CRITICAL,  # a worker that ends a moment after its scheduler is no news
            "scheduler_kwargs": {"allowed_failures": 0},  # daedal itself tries again; every death costs a worker
        }
        with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
            yield client.get_executor(pure=False)
        return
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address!r} ({describe_error(error)}); is it running?"
        ) from error
    client._timeout = timeout  # the only way to set how long it looks for a scheduler that it has lost
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # daedal reports what is wrong, in one line
    with client:
        yield client.get_executor(pure=False)
