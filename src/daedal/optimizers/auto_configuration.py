"""What `auto` is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from daedal.limits import Limits
from daedal.optimizers.auto import Auto
from daedal.optimizers.configuration import BatchedConfiguration
from daedal.optimizers.noisy import Noisy
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class AutoConfiguration(BatchedConfiguration):
    """What `auto` is built from; see `Auto`."""

    hint: ClassVar[str] = '; to set more, name an algorithm, as in algorithm="umda" (--algorithm umda)'

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Auto:
        """Make the optimizer."""
        return Auto(n=n, seed=seed, limits=limits, initial=initial, min_batch=self.min_batch or 1)

    def build_noisy(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Noisy:
        """Make what searches where values are known to scatter."""
        return Noisy(n=n, seed=seed, limits=limits, initial=initial)
