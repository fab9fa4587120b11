"""Runs made by hand, with each special case of a table once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from daedal.studies.analysis import Measure, Row, analyse
from daedal.studies.plan import Runs, Settled
from daedal.studies.spec import Study, StudyProblem
from daedal.studies.store import Run

STUDY = Study.from_dict(
    {
        "problems": ["trap:k=4,n=20", {"name": "nk:n=30,k=4,i=1", "problem": "nk:n=30,k=4,seed=1"}],
        "algorithms": [{"name": "DAE-EDA", "algorithm": "dae-2015"}, {"name": "BOA", "algorithm": "boa"}],
        "popsizes": [100, 1000],
        "runs": 10,
    }
)
TRAP, NK = STUDY.problems
DAE, BOA = STUDY.algorithms
CLIMBER = dataclasses.replace(BOA, name="climber", popsizes=(None,))
CLIMBERS = dataclasses.replace(STUDY, problems=(TRAP,), algorithms=(DAE, CLIMBER))
"""A study with an algorithm that has no population."""


def some(seeds: Iterable[int], solved: int, evaluations: int, seconds: float, **more: int) -> dict[int, Run]:
    """Make runs of which the first are solved; each takes a little more than the one before."""
    found = {}
    for index, seed in enumerate(seeds):
        cost = {"evaluations_to_best": evaluations + index, "cpu_seconds_to_best": seconds * (1 + index / 100), **more}
        best = 20.0 if index < solved else 19.0
        found[seed] = Run(seed=seed, status="done", success=index < solved, best=best, **cost)
    return found


def failed(*seeds: int) -> dict[int, Run]:
    return {seed: Run(seed=seed, status="failed", success=False, error="ZeroDivisionError") for seed in seeds}


def special_runs() -> Runs:
    """Give each special case once.

    On the trap, DAE-EDA needs 1,000 for both levels, one run fails, and fresh seeds confirm it; BOA solves half with
    100, before all runs are made, so that 90 % are open. On the landscape, DAE-EDA solves nothing and BOA nothing yet.
    """
    seeds, fresh = STUDY.seeds, STUDY.fresh_seeds(4)
    return {
        STUDY.cell(TRAP, DAE, 100).key: some(seeds, 2, 1500, 0.01),
        STUDY.cell(TRAP, DAE, 1000).key: some(seeds, 9, 12_000, 0.02) | failed(9) | some(fresh, 3, 13_000, 0.025),
        STUDY.cell(TRAP, BOA, 100).key: some(seeds[:9], 8, 1000, 1234.0),
        STUDY.cell(NK, DAE, 100).key: some(seeds, 0, 1000, 1.0),
        STUDY.cell(NK, DAE, 1000).key: some(seeds, 0, 1000, 1.0),
    }


def special_rows(*, confirm: int = 4) -> list[Row]:
    return analyse(STUDY, special_runs(), confirm=confirm)


def climbing_runs(made: int = 10) -> dict[str, dict[int, Run]]:
    """The climber solves seven of the runs it has made; DAE-EDA solves all, with the smaller population."""
    return {
        CLIMBERS.cell(TRAP, DAE, 100).key: some(range(10), 10, 2000, 1.0, batches=6),
        CLIMBERS.cell(TRAP, CLIMBER, None).key: some(range(made), 7, 900, 0.5, batches=80),
    }


def one_row(
    mean: float = 57_750.4, seconds: float = 0.03, *, name: str = "DAE-EDA", problem: StudyProblem = TRAP, **more: Any
) -> Row:
    """Make a row at the level of 50 %; star and p are those of its evaluations."""
    marks = {key: more.pop(key) for key in ("star", "p") if key in more}
    given = {"runs": 20, "solved": 19, "complete": True, "popsize": 1000, "choice": Settled(1000)} | more
    return Row(
        problem=problem,
        algorithm=dataclasses.replace(DAE, name=name),
        level=50,
        evaluations_to_best=Measure(mean=mean, sd=18_250.0, **marks),
        cpu_seconds_to_best=Measure(mean=seconds, sd=0.004),
        **given,
    )
