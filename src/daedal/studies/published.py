"""The numbers of the paper's Table 1, to be shown beside our own."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeAlias

from daedal.studies.analysis import Measure
from daedal.studies.spec import StudyProblem


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the paper reports of one problem, algorithm and level; a star is its mark of significance."""

    evaluations: Measure
    seconds: Measure


PublishedTable: TypeAlias = Mapping[tuple[str, str], Mapping[int, Published | None]]
"""By the names of problem and algorithm, and by level; None where the paper found no size."""


def is_theirs(problem: StudyProblem) -> bool:
    """Whether a problem is the paper's own, and not another landscape, drawn from a seed, that stands for it."""
    _, _, parameters = problem.problem.partition(":")
    return "seed" not in [one.partition("=")[0].strip() for one in parameters.split(",")]


@cache
def published() -> dict[tuple[str, str], dict[int, Published | None]]:
    """Give the paper's Table 1: 16 problems, 4 algorithms, 2 levels.

    Its CPU seconds come from Octave 3.2.4 on one core of an AMD Opteron 6272; it reports no population sizes.
    """
    text = resources.files("daedal.studies").joinpath("table1.csv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], dict[int, Published | None]] = {}
    for row in csv.DictReader(text.splitlines()):
        levels = found.setdefault((row["problem"], row["algorithm"]), {})
        levels[int(row["success_percent"])] = (
            Published(evaluations=_measure(row, "evaluations"), seconds=_measure(row, "seconds"))
            if row["evaluations"]
            else None
        )
    return found


def _measure(row: Mapping[str, str], name: str) -> Measure:
    return Measure(mean=float(row[name]), sd=float(row[f"{name}_sd"]), star=row[f"{name}_significant"] == "1")
