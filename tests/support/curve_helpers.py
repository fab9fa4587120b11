"""Snapshots of studies with histories, made by hand: several algorithms that differ, and some problems."""

from __future__ import annotations

import math
from typing import Any

from daedal.result.records import Generation
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import Study
from daedal.studies.store import Run, packed_history


def a_snapshot(
    *, problems: tuple[str, ...] = ("a trap",), algorithms: int = 2, made: int = 4, solved: bool = True, **more: Any
) -> Snapshot:
    """Make runs that all take ten generations; the optimum is 20, or 0 where it is to be small.

    Of the runs of algorithm k, those from seed k on solve their problem; algorithm k takes k + 1 times as long.
    """
    minimize = bool(more.pop("minimize", False))
    study = Study.from_dict(
        {
            "problems": [{"name": name, "problem": "trap:k=4,n=20", "minimize": minimize} for name in problems],
            "algorithms": [
                {"name": f"rate {number}", "algorithm": "pbil", "settings": {"learning_rate": (number + 1) / 100}}
                for number in range(algorithms)
            ],
            "popsizes": [100],
            "runs": 4,
        }
        | more
    )
    names = [algorithm.name for algorithm in study.algorithms]
    runs: dict[str, dict[int, Run]] = {}
    histories: dict[str, dict[int, bytes]] = {}
    for cell in study.cells():
        slow = names.index(cell.algorithm.name)
        for seed in range(made):
            values = [20.0 - (slow > seed) - 10 / place for place in range(1, 10)] + [20.0 - (slow > seed)]
            best = [20 - value for value in values] if minimize else values
            at = [100 * place * (slow + 1) for place in range(1, 11)]
            records = [
                Generation(generation=number, evaluations=calls, best=value, mean=math.nan)
                for number, (calls, value) in enumerate(zip(at, best, strict=True))
            ]
            histories.setdefault(cell.key, {})[seed] = packed_history(records)
            runs.setdefault(cell.key, {})[seed] = Run(
                seed=seed,
                status="done",
                success=(slow <= seed) if solved else None,
                best=best[-1],
                optimum=(0.0 if minimize else 20.0) if solved else None,
                evaluations_to_best=at[-1] - seed,
                cpu_seconds_to_best=0.1,
                evaluations=at[-1],
            )
    return Snapshot(study=study, runs=runs, histories=histories)
