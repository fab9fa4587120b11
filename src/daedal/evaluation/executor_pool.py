"""Work for an executor of somebody else: concurrent.futures, Dask, or anything that has their `submit`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Hashable
from concurrent import futures
from functools import lru_cache
from typing import Any

from daedal.evaluation.dask import SchedulerWatch
from daedal.evaluation.failures import describe_error
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.evaluation.pickling import pack, unpack
from daedal.evaluation.pool import Event, Message

_TICK_SECONDS = 0.25  # between two looks at the connection to Dask's scheduler
_DEATHS = ("KilledWorker", "BrokenProcessPool", "BrokenExecutor")


class ExecutorPool:
    """The slots of an executor, to be used as `ProcessPool` is.

    The executor itself stays its owner's: closing the pool takes back what waits, and no more. `slots` is how many
    things to have under way; None: as many as the executor has workers, or this machine cores. For `timeout`, which is
    about Dask, see `SchedulerWatch`.
    """

    def __init__(
        self,
        executor: futures.Executor,
        function: Callable[[Any], Any],
        *,
        slots: int | None = None,
        timeout: float = EXECUTOR_TIMEOUT,
    ) -> None:
        self.executor = executor
        self.size = _slots(executor) if slots is None else slots
        self._function: Any = function
        self._options: dict[str, bool] = {}
        if not isinstance(executor, futures.ThreadPoolExecutor):  # threads of this process need nothing sent
            self._function = pack(function, "the objective")
        client = getattr(executor, "_client", None)
        self._watch = None if client is None else SchedulerWatch(client, timeout)
        self._there: Any = None
        if client is not None:
            self._options = {"pure": False}  # the same rows again are to be evaluated again
        self._tickets: dict[futures.Future[Any], Hashable] = {}

    def __enter__(self) -> ExecutorPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def idle(self) -> int:
        """How many slots have nothing to do."""
        return self.size - len(self._tickets)

    def start(self, ticket: Hashable, payload: object) -> None:
        """Give the executor something to do; the ticket comes back with the messages about it."""
        try:
            future = self.executor.submit(_apply, self._sent_function(), payload, **self._options)
        except futures.BrokenExecutor as error:
            raise ValueError(f"the executor is broken ({describe_error(error)}); give a new one") from error
        self._tickets[future] = ticket

    def _sent_function(self) -> Any:
        """Give the function; to Dask it goes once, not with every chunk, and again where a lost connection took it.

        As a task, because what is scattered is lost with its workers.
        """
        if self._watch is None:
            return self._function
        self._watch.await_connection()
        if self._there is None or self._there.status in ("cancelled", "lost"):
            self._there = self._watch.client.submit(bytes, self._function, pure=False)
        return self._there

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout; raise `PoolLost` where Dask's scheduler is lost, or its workers."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            tick = left if self._watch is None else min(left, _TICK_SECONDS)
            done, _ = futures.wait(
                self._tickets, timeout=None if tick == math.inf else tick, return_when=futures.FIRST_COMPLETED
            )
            if self._watch is not None:
                self._watch.await_connection()  # before what is cancelled for the lack of it is taken for an answer
                self._watch.heard() if done else self._watch.look()
            if done or left <= tick:
                return [self._message(future) for future in done]

    def _message(self, future: futures.Future[Any]) -> Message:
        ticket = self._tickets.pop(future)
        try:
            return Message(ticket, Event.DONE, future.result())
        except futures.CancelledError as error:
            return Message(ticket, Event.DIED, describe_error(error))
        except Exception as error:  # noqa: BLE001  whatever it is, the caller decides
            death = isinstance(error, futures.BrokenExecutor) or type(error).__name__ in _DEATHS
            return Message(ticket, Event.DIED if death else Event.RAISED, describe_error(error))

    def stop(self, ticket: Hashable) -> None:
        """Forget a ticket; what somebody else's worker does, nobody here can end."""
        for future in [future for future, known in self._tickets.items() if known == ticket]:
            future.cancel()
            del self._tickets[future]

    def close(self) -> None:
        """Take back what waits."""
        for future in self._tickets:
            future.cancel()
        self._tickets = {}


def _apply(function: bytes | Callable[[Any], Any], payload: object) -> Any:
    """Do the work, wherever this is."""
    return (_unpacked(function) if isinstance(function, bytes) else function)(payload)


_unpacked = lru_cache(maxsize=4)(unpack)


def _slots(executor: futures.Executor) -> int:
    client = getattr(executor, "_client", None)
    if client is not None:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ValueError("the Dask scheduler has no workers yet; start some with: dask worker ADDRESS")
        return int(2 * threads)  # one under way and one that waits beside it, on each
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
