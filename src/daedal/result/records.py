"""The record of a generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Info: TypeAlias = Mapping[str, float]
"""What a generation reports, by name: epochs, error, edges."""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The record of one generation.

    Attributes
    ----------
    generation
        0 for the first one.
    evaluations
        Calls of the objective so far, one per candidate; failed ones are included.
    repeated
        Candidates so far that were free, because they were repeated or known.
    best
        Best fitness so far.
    mean
        Mean fitness of the rows evaluated in this generation, those of finite fitness.
    sd
        Their standard deviation. None if it is unknown.
    batches
        Batches evaluated so far.
    cpu_seconds
        CPU time of the run so far.
    seconds, objective_seconds
        Time on the clock so far, and how much of it evaluations took; the rest is the search's own.
    info
        What the optimizer reports: training epochs, error, ...
    """

    generation: int
    evaluations: int
    best: float
    mean: float
    sd: float | None = None
    repeated: int = 0
    batches: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    objective_seconds: float = 0.0
    info: Info = field(default_factory=dict)
