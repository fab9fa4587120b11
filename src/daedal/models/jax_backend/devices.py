"""Devices that JAX knows: found by name, named in results, and out of memory in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from daedal.models.jax_backend.modules import jax, jnp

_NAME = re.compile(r"([a-z]+)(?::(\d+))?")


def find_device(name: str | None) -> Any:
    """Give the device of a name such as "cpu", "gpu" or "gpu:1"; None: the one that JAX chooses."""
    with _starting():
        if name is None:
            return next(iter(jnp.zeros(()).devices()))
        there = _local_devices()
    for device in there:
        if _is_called(device, name):
            return device
    known = ", ".join(_short_name(device) for device in there)
    raise ValueError(f"JAX has no device {name!r} here, expected one of {known}; or leave device out, and JAX chooses")


@contextmanager
def _starting() -> Iterator[None]:
    """Say in one sentence that JAX does not start: it has no device of the kind that it was told to take, or none."""
    try:
        yield
    except (RuntimeError, AssertionError) as error:
        told = os.environ.get("JAX_PLATFORMS")
        wish = f" with JAX_PLATFORMS={told}" if told else ""
        reason = f": {str(error).splitlines()[0]}" if str(error) else ""
        raise ValueError(f"JAX finds no device{wish} here{reason}") from error


def _is_called(device: Any, name: str) -> bool:
    """Tell whether a name is that of a device; without a number, it is that of all of its kind."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in (device.platform, device.client.platform):
        return False
    return match[2] is None or device.id == int(match[2])


def _local_devices() -> list[Any]:
    """Give all devices of this process: those of JAX's own choice, and the CPU, unless JAX was told to leave it out."""
    found = list(jax.local_devices())
    if found[0].platform != "cpu":
        with suppress(RuntimeError):
            found += jax.local_devices(backend="cpu")
    return found


def _short_name(device: Any) -> str:
    return f"{device.platform}:{device.id}"


def device_name(device: Any) -> str:
    """Name a device for people, as in "cpu:0", with its make where it has one."""
    make = str(device.device_kind)
    return _short_name(device) + (f" ({make})" if make.lower() != device.platform else "")


@contextmanager
def within_memory(device: Any, what: str) -> Iterator[None]:
    """Say in one sentence that a device has too little memory, where JAX says so in many."""
    try:
        yield
    except (RuntimeError, ValueError) as error:  # JAX's own errors have changed their name, not their text
        if "RESOURCE_EXHAUSTED" not in str(error) and "Out of memory" not in str(error):
            raise
        raise ValueError(
            f"{what} does not fit into the memory of {device_name(device)}; take fewer hidden units, a smaller "
            "population, fewer networks at once, or backend=numba"
        ) from error
