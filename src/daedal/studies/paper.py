"""The paper's experiment: the studies for its Table 1 and its figures, and its published numbers."""

from __future__ import annotations

import csv
import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeAlias, TypeVar

from daedal.objectives.spec import identity
from daedal.problems import read_nk
from daedal.settings.parameters import unknown
from daedal.studies.analysis import Measure
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the paper reports of one problem, algorithm and level; a star is its mark of significance."""

    evaluations_to_best: Measure
    cpu_seconds_to_best: Measure


PublishedTable: TypeAlias = Mapping[tuple[str, str], Mapping[int, Published | None]]
"""By the names of problem and algorithm, and by level; None where the paper found no size."""


def is_theirs(problem: StudyProblem) -> bool:
    """Whether a problem is the paper's own, and not another landscape, drawn from a seed, that stands for it."""
    _, _, parameters = problem.problem.partition(":")
    return "seed" not in [one.partition("=")[0].strip() for one in parameters.split(",")]


@cache
def published() -> dict[tuple[str, str], dict[int, Published | None]]:
    """Return the paper's Table 1: 16 problems, 4 algorithms, 2 levels.

    Its CPU seconds come from Octave 3.2.4 on one core of an AMD Opteron 6272; it reports no population sizes.
    """
    text = resources.files("daedal.studies").joinpath("table1.csv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], dict[int, Published | None]] = {}
    for row in csv.DictReader(text.splitlines()):
        levels = found.setdefault((row["problem"], row["algorithm"]), {})
        levels[int(row["success_percent"])] = (
            Published(evaluations_to_best=_measure(row, "evaluations"), cpu_seconds_to_best=_measure(row, "seconds"))
            if row["evaluations"]
            else None
        )
    return found


def _measure(row: Mapping[str, str], name: str) -> Measure:
    return Measure(mean=float(row[name]), sd=float(row[f"{name}_sd"]), star=row[f"{name}_significant"] == "1")


QUICK_PROBLEMS = (
    "trap:k=4,n=20",
    "trap:k=4,n=40",
    "trap:k=5,n=25",
    "nk:n=30,k=4,i=1",
    "nk:n=30,k=4,i=2",
    "nk:n=30,k=5,i=1",
    "nk:n=30,k=5,i=2",
    "hiff:n=64",
)
QUICK_ALGORITHMS = ("DAE-EDA", "BOA", "PBIL")
QUICK_RUNS = 10
QUICK_POPSIZE = 64_000
"""The largest population of the quick table: what PBIL does not solve with it takes the rest of the time."""

FIGURES = ("trap:k=5,n=75", "nk:n=34,k=4,i=1")
"""The problems of the paper's two figures."""

_T = TypeVar("_T", StudyProblem, StudyAlgorithm)
_OTHER_NAMES = {"dae": "dae-eda", "dae-2015": "dae-eda", "rbm": "rbm-eda"}


def table1(
    *,
    problems: Sequence[str] = (),
    algorithms: Sequence[str] = (),
    runs: int | None = None,
    max_popsize: int | None = None,
    nk_dir: Path | None = None,
    quick: bool = False,
) -> Study:
    """Return the study of Table 1, or of a part of it. `quick`: its small rows, without RBM-EDA.

    Problems and algorithms have the names of the table ("nk:n=30,k=4,i=1", "DAE-EDA"). The kind of a problem ("nk")
    means all problems of this kind. The paper's own landscapes, such as nk_30_4.1, are read from `nk_dir`.

    Examples
    --------
    >>> len(table1().pairs()), len(table1(quick=True).pairs())
    (64, 24)
    """
    if nk_dir is not None and (not nk_dir.is_dir() or not any(nk_dir.glob("nk_*_*.*"))):
        raise ValueError(f"{nk_dir} is not a folder with NK landscapes such as nk_30_4.1")
    text = resources.files("daedal.studies").joinpath("table1.toml").read_text(encoding="utf-8")
    study = Study.from_dict(tomllib.loads(text))
    largest = max_popsize if max_popsize is not None else QUICK_POPSIZE if quick else None
    rows = _chosen("problem", study.problems, problems or (QUICK_PROBLEMS if quick else ()))
    names = algorithms or (QUICK_ALGORITHMS if quick else ())
    rivals = _chosen("algorithm", study.algorithms, names)
    return dataclasses.replace(
        study,
        problems=tuple(_from_folder(problem, nk_dir) for problem in rows),
        algorithms=tuple(_up_to(algorithm, largest) for algorithm in rivals),
        runs=runs if runs is not None else QUICK_RUNS if quick else study.runs,
    )


def _chosen(what: str, things: Sequence[_T], names: Sequence[str]) -> list[_T]:
    """Return the things that are named, or whose kind is named, in the order of the table; all if none is named."""
    known = {thing.name.lower(): thing for thing in things}
    kinds = {name.partition(":")[0] for name in known}
    wanted = [_OTHER_NAMES.get(name.lower(), name.lower().replace(" ", "")) for name in names]
    for name, given in zip(wanted, names, strict=True):
        if name not in known and name not in kinds:
            raise ValueError(unknown(f"{what} of Table 1", given, [thing.name for thing in things]))
    return [one for name, one in known.items() if not wanted or name in wanted or name.partition(":")[0] in wanted]


def _up_to(algorithm: StudyAlgorithm, largest: int | None) -> StudyAlgorithm:
    if largest is None:
        return algorithm
    popsizes = tuple(size for size in algorithm.popsizes if size is None or size <= largest)
    if not popsizes:
        raise ValueError(f"the smallest popsize of {algorithm.name} is {algorithm.popsizes[0]}, got at most {largest}")
    return dataclasses.replace(algorithm, popsizes=popsizes)


def _from_folder(problem: StudyProblem, folder: Path | None) -> StudyProblem:
    """Take a landscape from its file if the folder has it: nk_30_4.1 has n=30, k=4, i=1."""
    match = re.fullmatch(r"nk:n=(\d+),k=(\d+),i=(\d+)", problem.name)
    if folder is None or match is None:
        return problem
    path = folder / "nk_{}_{}.{}".format(*match.groups())
    if not path.is_file():
        return problem
    n, k, _ = map(int, match.groups())
    found = read_nk(path)
    if (found.n, found.k) != (n, k):
        raise ValueError(f"{path} has n={found.n}, k={found.k}, not n={n}, k={k}")
    return dataclasses.replace(problem, problem=f"nk:{path}", identity=identity(f"nk:{path}"))
