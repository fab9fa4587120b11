"""Dask as an executor: a scheduler that runs, or processes started here."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from daedal.evaluation.failures import describe_error


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Connect to Dask: "tcp://host:8786" is a scheduler that runs, "local:4" starts four processes here."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ValueError('Dask needs its own package: pip install "daedal[dask]"') from error
    kind, _, rest = address.partition(":")
    if kind == "local":
        if not rest.isdigit() or int(rest) < 1:
            raise ValueError(f"expected --dask local:N with a number of processes, as in local:4, got {address!r}")
        settings = {
            "n_workers": int(rest),
            "threads_per_worker": 1,
            "processes": True,
            "dashboard_address": None,
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
    with client:
        yield client.get_executor(pure=False)
