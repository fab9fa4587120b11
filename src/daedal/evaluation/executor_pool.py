"""Work for an executor of somebody else: concurrent.futures, Dask, or anything that has their `submit`."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from concurrent import futures
from functools import lru_cache
from typing import Any

from daedal.evaluation.failures import describe_error
from daedal.evaluation.pickling import pack, unpack
from daedal.evaluation.pool import Event, Message

_DEATHS = ("KilledWorker", "BrokenProcessPool", "BrokenExecutor")


class ExecutorPool:
    """The slots of an executor, to be used as `ProcessPool` is.

    The executor itself stays its owner's: closing the pool takes back what waits, and no more. `slots` is how many
    things to have under way; None: as many as the executor has workers, or this machine cores.
    """

    def __init__(self, executor: futures.Executor, function: Callable[[Any], Any], *, slots: int | None = None) -> None:
        self.executor = executor
        self.size = _slots(executor) if slots is None else slots
        self._function: Any = function
        self._options: dict[str, bool] = {}
        if not isinstance(executor, futures.ThreadPoolExecutor):  # threads of this process need nothing sent
            self._function = pack(function, "the objective")
        client = getattr(executor, "_client", None)
        if client is not None:
            # To Dask it goes once, not with every chunk; as a task, because what is scattered is lost with its workers.
            self._function = client.submit(bytes, self._function, pure=False)
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
            future = self.executor.submit(_apply, self._function, payload, **self._options)
        except futures.BrokenExecutor as error:
            raise ValueError(f"the executor is broken ({describe_error(error)}); give a new one") from error
        self._tickets[future] = ticket

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout."""
        done, _ = futures.wait(self._tickets, timeout=timeout, return_when=futures.FIRST_COMPLETED)
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
