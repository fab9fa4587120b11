"""What a run knows of values that differ from call to call, and what it does about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from daedal.optimizers.auto_configuration import AutoConfiguration
from daedal.optimizers.configuration import Configuration
from daedal.optimizers.contest import Contest
from daedal.optimizers.contest_plan import search_calls
from daedal.settings.checks import check_whole
from daedal.types import Json, State

NOISY_CONSTRAINTS = (
    "expected constraints or noisy=True (--noisy, --repeats), got both: where values scatter, nobody can tell for sure "
    "what is feasible; give the mean of some calls as the value, or -inf for what is infeasible"
)

MOST_REPEATS = 10**9
"""More than anybody can pay for."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Values scatter: the search gets a share of the calls, and a `Contest` the rest; see `maximize`."""

    repeats: int | None = None

    def __post_init__(self) -> None:
        if self.repeats is not None:
            check_whole("repeats", self.repeats, least=1)
            if self.repeats > MOST_REPEATS:
                raise ValueError(f"expected at most {MOST_REPEATS:,} repeats, got repeats={self.repeats}")

    def builder(self, configuration: Configuration) -> partial[Contest]:
        """Give what builds the optimizer, as `Configuration.build` does."""
        build = configuration.build_noisy if isinstance(configuration, AutoConfiguration) else configuration.build
        return partial(Contest, build=build, repeats=self.repeats)

    def search_calls(self, calls: int) -> int:
        """Give how many of so many calls are for the search."""
        return search_calls(calls, self.repeats)

    def to_json(self) -> dict[str, Json]:
        """Give what a checkpoint keeps."""
        return {"repeats": None if self.repeats is None else int(self.repeats)}

    @classmethod
    def from_json(cls, kept: State) -> Noise:
        """Make what `to_json` gave."""
        return cls(repeats=kept.whole("repeats") if kept.given("repeats") else None)


def noise_of(noisy: bool, repeats: int | None, *, cache: object = None, initial: object = None) -> Noise | None:
    """Read what the user says of noise; refuse what would take a value for exact."""
    if not noisy and repeats is None:
        return None
    if cache is not None:
        raise ValueError(
            "expected a cache or noisy=True (--noisy, --repeats), got both: a cache gives every row one value"
        )
    if isinstance(initial, tuple):
        raise ValueError(
            "expected initial rows without values for a noisy objective, got values: each row is evaluated anew; give "
            "the rows alone"
        )
    return Noise(repeats=repeats)
