"""What a pool of workers is, and what it tells."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class Event(Enum):
    """What a worker has to tell."""

    READY = "ready"
    PART = "part"
    DONE = "done"
    RAISED = "raised"
    DIED = "died"


@dataclass(frozen=True)
class Message:
    """One thing that happened to a ticket: a part of its answer, the answer, an error, or the death of its process."""

    ticket: Any
    event: Event
    value: Any = None  # the part or the answer; the error in words; or the exit code, negative for a signal


class PoolLost(ValueError):  # noqa: N818  no error of the objective, nor of its caller
    """Nobody answers any more, and nobody will: the workers cannot be reached."""


class Pool(Protocol):
    """Who does the work: `ProcessPool`, or the slots of an executor, `ExecutorPool`."""

    @property
    def size(self) -> int:
        """How many workers there are."""

    @property
    def idle(self) -> int:
        """How many have nothing to do."""

    def start(self, ticket: Hashable, payload: object) -> None:
        """Give one of them something to do; the ticket comes back with the messages about it."""

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout; raise `PoolLost` where none will come any more."""

    def stop(self, ticket: Hashable) -> None:
        """Give up what is done for a ticket."""

    def close(self) -> None:
        """End all."""
