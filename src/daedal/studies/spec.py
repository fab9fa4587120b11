"""What a study is: problems, algorithms, population sizes or budgets, runs."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from daedal.limits import Limits
from daedal.objectives.spec import without_folder
from daedal.settings.checks import check_whole
from daedal.storage.inputs import read_text_input
from daedal.studies import parsing
from daedal.studies.cell import LIMITS, Cell, StudyAlgorithm, StudyProblem
from daedal.studies.stored_algorithm import described

__all__ = ["CONFIRMATION", "POPSIZES", "Cell", "Study", "StudyAlgorithm", "StudyProblem"]

POPSIZES = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000)
"""The paper's population sizes."""

CONFIRMATION = 1_000_000
"""How far the seeds of confirming runs are from those of the study itself."""

_LARGEST_FILE = 2**24


@dataclass(frozen=True, kw_only=True)
class Study:
    """Problems and algorithms to be compared.

    Parameters
    ----------
    problems, algorithms
        What is compared, each with a name of its own.
    runs
        Runs of each cell, with the seeds from `seed` on, the same for all algorithms.
    limits
        What ends a run; generations and patience come from each algorithm where not given.
    budgets
        Calls of the objective, from small to large. Where there are any, no population size is looked for: each
        algorithm has its own, or the one that is given, and runs of its own for each budget.
    shuffle
        Whether named problems get their variables in a random order.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda", "pbil"], "popsizes": [50, 100]})
    >>> len(study.cells()), study.runs
    (4, 20)
    """

    problems: tuple[StudyProblem, ...]
    algorithms: tuple[StudyAlgorithm, ...]
    runs: int = 20
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    shuffle: bool = True
    budgets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if check_whole("runs", self.runs, least=1, hint="20 is the paper's number") > CONFIRMATION:
            raise ValueError(f"expected at most {CONFIRMATION} runs: the seeds beyond confirm them, got {self.runs}")

    @property
    def seeds(self) -> range:
        """The seeds of the runs of each cell."""
        return range(self.seed, self.seed + self.runs)

    def fresh_seeds(self, count: int) -> range:
        """Seeds that took no part in any choice."""
        first = self.seed + CONFIRMATION
        return range(first, first + count)

    def pairs(self) -> list[tuple[StudyProblem, StudyAlgorithm]]:
        """Each problem with each algorithm."""
        return [(problem, algorithm) for problem in self.problems for algorithm in self.algorithms]

    def cell(
        self, problem: StudyProblem, algorithm: StudyAlgorithm, popsize: int | None, budget: int | None = None
    ) -> Cell:
        """Give one cell."""
        return _cell(problem, algorithm, popsize, self.limits, self.shuffle, budget)

    def cells_of(self, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[Cell]:
        """Give the cells of a problem and an algorithm, from the smallest population size, or budget, on."""
        budgets: tuple[int | None, ...] = self.budgets or (None,)
        return [self.cell(problem, algorithm, size, budget) for budget in budgets for size in algorithm.popsizes]

    def cells(self) -> list[Cell]:
        """Give all cells."""
        return [cell for pair in self.pairs() for cell in self.cells_of(*pair)]

    def as_dict(self) -> dict[str, object]:
        """Give what `from_dict` reads, for a store."""
        return {
            "runs": self.runs,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "limits": {name: value for name in LIMITS if (value := getattr(self.limits, name)) is not None},
            "problems": list(map(_described, self.problems)),
            "algorithms": list(map(described, self.algorithms)),
            **({"budgets": list(self.budgets)} if self.budgets else {}),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, folder: Path | None = None, stored: bool = False) -> Study:
        """Read a study; every key and value is checked, an unknown key names the nearest known one.

        Parameters
        ----------
        given
            As in a study file.
        folder
            Where relative paths of files begin.
        stored
            Whether it comes from a store: its files need not be there any more, and none is loaded.
        """
        keys = ("runs", "seed", "shuffle", "popsizes", "budgets", "limits", "problems", "algorithms")
        parsing.check_keys("a study", given, keys)
        limits = parsing.read_limits(given.get("limits", {}))
        budgets = parsing.read_budgets(given["budgets"], limits) if "budgets" in given else ()
        popsizes = given.get("popsizes", None if budgets else list(POPSIZES))
        if "popsizes" in given:
            parsing.read_popsizes(popsizes, only_one=bool(budgets))  # though every algorithm may have its own
        read_algorithm = partial(
            parsing.read_algorithm, popsizes=popsizes, folder=folder, stored=stored, budgeted=bool(budgets)
        )
        return cls(
            problems=parsing.read_several(
                "problems", given, partial(parsing.read_problem, folder=folder, stored=stored)
            ),
            algorithms=parsing.read_several("algorithms", given, read_algorithm),
            runs=given.get("runs", 20),
            seed=parsing.read_seed(given.get("seed", 0)),
            limits=Limits(**limits),
            shuffle=parsing.read_bool("shuffle", given.get("shuffle", True)),
            budgets=budgets,
        )

    @classmethod
    def from_file(cls, path: Path) -> Study:
        """Read a study from a TOML file, or, where the path is "-", from standard input."""
        folder = path.absolute().parent  # now: a problem's file that is loaded may change the folder
        try:
            given = tomllib.loads(read_text_input(path, "a study as TOML", most=_LARGEST_FILE))
        except RecursionError as error:
            raise ValueError(f"expected a study as TOML in {path}, but it is nested too deeply") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"expected a study as TOML in {path}, but it cannot be read: {error}") from error
        try:
            return cls.from_dict(given, folder=folder)
        except (ValueError, TypeError, OSError) as error:
            raise ValueError(f"{path}: {error}") from error


@lru_cache(maxsize=100_000)
def _cell(
    problem: StudyProblem,
    algorithm: StudyAlgorithm,
    popsize: int | None,
    limits: Limits,
    shuffle: bool,
    budget: int | None,
) -> Cell:
    """Make a cell, once, because its key takes a while to compute."""
    if budget is not None:
        limits = dataclasses.replace(limits, max_evaluations=budget)
    return Cell(problem=problem, algorithm=algorithm, popsize=popsize, limits=limits, shuffle=shuffle, budget=budget)


def _described(problem: StudyProblem) -> dict[str, object]:
    """Say what a problem is by what is in its file, not by where it lies: one study may be run from several folders."""
    fields = dataclasses.asdict(problem)
    fields |= {"problem": without_folder(problem.problem), "identity": problem.content["problem"]}
    return {name: value for name, value in fields.items() if value not in (None, "")}
