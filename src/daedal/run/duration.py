"""How long a generation will take, said before it begins."""

from __future__ import annotations

from daedal.limits import Limits
from daedal.models.base import ADVICE
from daedal.searches.algorithm import Algorithm
from daedal.settings.checks import readable_seconds

SLOW = 600.0
"""Seconds of a generation from which on a run warns."""

HOPELESS = 86_400.0
"""Seconds of a generation from which on a run is refused."""


def check_duration(algorithm: Algorithm, n: int, limits: Limits) -> str | None:
    """Give a warning where a generation of the algorithm, which is resolved, will take long; refuse what is hopeless.

    Nothing is said to who has set a limit of time, nor where no generation comes after the first. The time is that of
    `Model.working_seconds`: a formula, the same on every machine.

    Parameters
    ----------
    algorithm
        What is to run.
    n
        Number of variables.
    limits
        What the user has set.
    """
    seconds, size = algorithm.configuration.generation_seconds(n), algorithm.settings().get("popsize")
    one_population = isinstance(size, int) and limits.max_evaluations is not None and limits.max_evaluations <= size
    if seconds < SLOW or limits.max_seconds is not None or limits.max_generations == 0 or one_population:
        return None
    with_size = f" and popsize={size:,}" if isinstance(size, int) else ""
    told = (
        f"a generation of {algorithm.name} with n={n:,}{with_size} takes about {readable_seconds(seconds)} of CPU time"
    )
    if seconds < HOPELESS:
        return f"{told}; a smaller popsize takes less, and {ADVICE}"
    raise ValueError(
        f"{told}; take a smaller popsize, or another algorithm: {ADVICE}; with max_seconds (--max-seconds), which is "
        "looked at after each generation, it runs all the same"
    )
