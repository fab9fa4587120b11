"""Dask as an executor: a scheduler that runs, or processes started here."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from daedal.evaluation.failures import describe_error
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.evaluation.pool import PoolLost
from daedal.settings.lazy import missing_extra

_SECONDS_BETWEEN_LOOKS = 5.0  # at whether a scheduler that has nothing to say is there


class SchedulerWatch:
    """Looks after the connection of a client of Dask to its scheduler, and its scheduler's to any workers.

    A row may take as long as it likes; but where there was no sign of a scheduler with workers for `timeout` seconds,
    `PoolLost` is raised.
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
        """Wait for a client that has lost its scheduler and looks for it."""
        began = self.clock()
        while self.client.status != "running":
            if self.client.status == "closed" or self.clock() - began >= self.timeout:
                raise PoolLost(f"the Dask scheduler is lost: there was no connection for {self.timeout:g} s")
            self.pause(0.1)

    def look(self) -> None:
        """Ask, now and then, for the workers, where nothing has come."""
        between = min(_SECONDS_BETWEEN_LOOKS, self.timeout / 4)
        if self.clock() - self._asked < between:
            return
        try:
            workers = self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=between)
        except Exception as error:  # noqa: BLE001  whatever it is, it was no sign of workers
            workers, why = None, f"does not answer ({describe_error(error)})"
        else:
            why = "has no workers"
        self._asked = self.clock()
        if workers:
            self._last_sign = self._asked
        elif self._asked - self._last_sign >= self.timeout:
            raise PoolLost(f"the Dask scheduler {why}, for {self.timeout:g} s")

    def heard(self) -> None:
        """Take notice of a sign: something has come."""
        self._last_sign = self.clock()


@contextmanager
def dask_executor(address: str, timeout: float = EXECUTOR_TIMEOUT) -> Iterator[Executor]:
    """Connect to Dask: "tcp://host:8786" is a scheduler that runs, "local:4" starts four processes here.

    A scheduler that is lost on the way is looked for so many seconds.
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
            "scheduler_kwargs": {"allowed_failures": 0},  # we try again; a death may cost a worker for good
        }
        with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
            yield client.get_executor(pure=False)
        return
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"expected a Dask scheduler at {address!r}, but nobody answers ({describe_error(error)})"
        ) from error
    client._timeout = timeout  # there is no other way to say how long it should look for a scheduler that it has lost
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # whoever uses it says what is wrong, in one line
    with client:
        yield client.get_executor(pure=False)
