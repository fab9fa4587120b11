"""What is known of a run."""

from __future__ import annotations

from dataclasses import dataclass

DONE, FAILED, KILLED = "done", "failed", "killed"

COLUMNS: dict[str, type] = {
    "problem": str,
    "algorithm": str,
    "preset": str,
    "popsize": int,
    "seed": int,
    "status": str,
    "success": bool,
    "best": float,
    "optimum": float,
    "evaluations_to_best": int,
    "evaluations": int,
    "unique_evaluations": int,
    "batches": int,
    "generations": int,
    "cpu_seconds_to_best": float,
    "cpu_seconds": float,
    "stop": str,
    "error": str,
    "x": str,
    "settings": str,
    "content": str,
    "daedal": str,
    "numpy": str,
    "numba": str,
    "python": str,
    "cpu": str,
    "finished": str,
    "cell": str,
}
"""What is known of a run. Problem and algorithm are called as in the study; the preset is the algorithm's own name."""


@dataclass(kw_only=True, slots=True)  # not frozen, which takes twice as long: there may be 100,000
class Run:
    """What the analysis needs to know of a run.

    Attributes
    ----------
    status
        "done"; "failed": it raised, or ended its process; "killed": its process was killed from outside.
    success
        Whether it solved its problem; None where that cannot be known, False for a run that did not end well.
    evaluations, seconds
        Until the best solution: evaluations, and CPU seconds.
    batches, generations
        Of the whole run; None in stores from before batches were counted.
    cpu
        The processor that it was made with, where it was written down.
    """

    seed: int
    status: str
    success: bool | None
    best: float | None = None
    optimum: float | None = None
    evaluations: int | None = None
    seconds: float | None = None
    total_seconds: float | None = None
    batches: int | None = None
    generations: int | None = None
    error: str | None = None
    cpu: str | None = None
