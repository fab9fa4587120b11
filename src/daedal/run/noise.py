"""What a run knows of values that differ from call to call, and what it does about it."""

from __future__ import annotations

from dataclasses import dataclass

from daedal.settings.checks import check_whole

NOISY_CONSTRAINTS = (
    "expected constraints or noisy=True (--noisy, --repeats), got both: with noise, daedal cannot tell for sure "
    "what is feasible; give the mean of some calls as the value, or -inf for what is infeasible"
)

MOST_REPEATS = 10**9
"""More than anybody can pay for."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise of the objective: the search gets a share of the evaluations, the final re-evaluation the rest."""

    repeats: int | None = None

    def __post_init__(self) -> None:
        if self.repeats is not None:
            check_whole("repeats", self.repeats, least=1)
            if self.repeats > MOST_REPEATS:
                raise ValueError(f"repeats={self.repeats} is too large; the maximum is {MOST_REPEATS:,}")

    def search_evaluations(self, evaluations: int) -> int:
        """Return how many of the evaluations are for the search."""
        from daedal.searches.noisy import search_share

        return search_share(evaluations, self.repeats)


def noise_of(noisy: bool, repeats: int | None, *, initial: object = None) -> Noise | None:
    """Read what the user says of noise; refuse what would take a value for exact."""
    if not noisy and repeats is None:
        return None
    if isinstance(initial, tuple):
        raise ValueError(
            "initial values cannot be used with a noisy objective, because all candidates are measured; give the "
            "candidates alone"
        )
    return Noise(repeats=repeats)
