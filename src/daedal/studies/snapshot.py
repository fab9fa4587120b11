"""What a store holds at one moment: read at once, without a wait for whoever writes there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daedal.studies.analysis import Runs, outcomes
from daedal.studies.plan import LEVELS, Settled, choices
from daedal.studies.run import DONE, KILLED, Run
from daedal.studies.spec import Cell, Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import Store


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A study and its runs as they were at one moment.

    Attributes
    ----------
    study
        What is compared.
    runs
        All runs of the store, by the key of their cell and by seed.
    confirm, full_grid
        How many fresh seeds confirm each choice, and whether every population size is run in full.
    histories
        Records of generations as they are stored, see `unpacked_history`, by the key of the cell and by seed; those of
        the cells that `shown_cells` gives.
    path
        Where they come from; None: they were not read from a store.
    number
        Which study of the store it is, where it comes from there.
    others
        The numbers of the other studies in it.
    """

    study: Study
    runs: Runs
    confirm: int = 0
    full_grid: bool = False
    histories: Mapping[str, Mapping[int, bytes]] = field(default_factory=dict)
    path: Path | None = None
    number: int | None = None
    others: tuple[int, ...] = ()

    def problem(self, name: str | None = None) -> StudyProblem:
        """Give the problem of a name, or the only one where no name is given."""
        names = [problem.name for problem in self.study.problems]
        if name is None and len(names) == 1:
            return self.study.problems[0]
        if name not in names:
            came = "problem=None" if name is None else f"problem={name!r}"
            raise ValueError(f"expected the name of one of the study's problems, {', '.join(names)}, got {came}")
        return self.study.problems[names.index(name)]


def read_store(
    path: str | os.PathLike[str], *, number: int | None = None, study: Study | None = None, timeout: float = 5.0
) -> Snapshot:
    """Read a store as of one moment: the study last run with it, the one of a number, or one that is given; its runs.

    Nothing is ever written. A study that is run with the store meanwhile neither waits nor is waited for; `timeout` is
    how many seconds to wait for somebody else who keeps the file locked, after which it is a TimeoutError.

    Examples
    --------
    >>> import tempfile
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.db"
    ...     with Store(path) as store:
    ...         kept = store.remember(study)
    ...     snapshot = read_store(path)
    >>> snapshot.study.problems[0].name, sum(map(len, snapshot.runs.values()))
    ('onemax:n=20', 0)
    """
    with Store(path, create=False, timeout=timeout) as store, store.at_one_moment():
        known = store.studies()
        if study is None:
            study, confirm, full_grid = store.study(number)
            number = known[-1] if number is None else number
        else:
            confirm, full_grid = store.remembered(study)
        runs = store.runs()
        return Snapshot(
            study=study,
            runs=runs,
            confirm=confirm,
            full_grid=full_grid,
            histories=store.packed_histories(cell.key for cell in shown_cells(study, runs)),
            path=Path(path),
            number=number,
            others=tuple(one for one in sorted(known) if one != number),
        )


def shown_cells(study: Study, runs: Runs) -> list[Cell]:
    """Give the cell that stands for each problem and algorithm where there is room for one, if any has a run.

    It is the population size that solves 90 % of the runs, or 50 %, or else the one with the most solved runs, the
    larger of two; in a study with budgets, the largest budget that has runs.
    """
    found = (shown_cell(study, runs, *pair) for pair in study.pairs())
    return [cell for cell in found if cell is not None]


def shown_cell(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Cell | None:
    """Give the cell that stands for a problem and an algorithm, see `shown_cells`; None where it has no run."""
    cells = [cell for cell in study.cells_of(problem, algorithm) if _done(runs, cell)]
    if not cells or study.budgets:
        return cells[-1] if cells else None
    settled = choices(outcomes(study, runs, problem, algorithm), algorithm.popsizes, study.seeds)
    for level in sorted(LEVELS, reverse=True):
        choice = settled[level]
        if isinstance(choice, Settled):
            return study.cell(problem, algorithm, choice.popsize)
    solved = [sum(run.success is True for run in runs[cell.key].values()) for cell in cells]
    return max(zip(solved, range(len(cells)), cells, strict=True), key=lambda one: one[:2])[2]


def _done(runs: Runs, cell: Cell) -> bool:
    return any(run.status == DONE for run in runs.get(cell.key, {}).values())


def made_runs(snapshot: Snapshot, cell: Cell) -> Mapping[int, Run]:
    """Give the runs of a cell that belong to the study; one that was killed from outside has yet to be made."""
    found = snapshot.runs.get(cell.key, {})
    return {seed: found[seed] for seed in snapshot.study.seeds if seed in found and found[seed].status != KILLED}
