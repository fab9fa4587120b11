"""Devices that JAX knows: found by name, named in results, and out of memory in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daedal.models.jax_backend.modules import jax, jnp

_NAME = re.compile(r"([a-z]+)(?::(\d+))?")


def find_device(name: str | None) -> Any:
    """Give the device of a name such as "cpu", "gpu" or "gpu:1"; None: the one that JAX chooses."""
    if name is None:
        return next(iter(jnp.zeros(()).devices()))
    match, there = _NAME.fullmatch(name), _local_devices()
    if match is not None:
        number = int(match[2] or 0)
        of_kind = [device for device in there if match[1] in (device.platform, device.client.platform)]
        if number < len(of_kind):
            return of_kind[number]
    known = ", ".join(_short_name(device) for device in there)
    raise ValueError(f"JAX has no device {name!r} here, expected one of {known}, or none to let JAX choose")


def _local_devices() -> list[Any]:
    """Give all devices of this process: those of JAX's own choice, and the CPU, which is always there."""
    found = list(jax.local_devices())
    return found if found[0].platform == "cpu" else [*found, *jax.local_devices(backend="cpu")]


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
