"""The paper's experiment: the studies behind its Table 1 and its figures."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from daedal.objectives.spec import identity
from daedal.problems import read_nk
from daedal.settings.parameters import unknown
from daedal.study.spec import Study, StudyAlgorithm, StudyProblem

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

_OTHER_NAMES = {"dae": "DAE-EDA", "dae-2015": "DAE-EDA", "rbm": "RBM-EDA"}


def table1(
    *,
    problems: Sequence[str] = (),
    algorithms: Sequence[str] = (),
    runs: int | None = None,
    max_popsize: int | None = None,
    nk_dir: Path | None = None,
    quick: bool = False,
) -> Study:
    """Give the study of Table 1, or of a part of it: quick are its small rows, without RBM-EDA.

    Problems and algorithms are called as in the table ("nk:n=30,k=4,i=1", "DAE-EDA"); a kind of problem ("nk") stands
    for all of it. The paper's landscapes, such as nk_30_4.1, stand for themselves where they are in `nk_dir`.

    Examples
    --------
    >>> len(table1().pairs()), len(table1(quick=True).pairs())
    (64, 24)
    """
    if nk_dir is not None and (not nk_dir.is_dir() or not any(nk_dir.glob("nk_*_*.*"))):
        raise ValueError(f"expected a folder with NK landscapes such as nk_30_4.1 at {nk_dir}, found none")
    text = resources.files("daedal.study").joinpath("table1.toml").read_text(encoding="utf-8")
    study = Study.from_dict(tomllib.loads(text))
    largest = max_popsize if max_popsize is not None else QUICK_POPSIZE if quick else None
    rows = _problems(study, problems or (QUICK_PROBLEMS if quick else ()))
    rivals = _algorithms(study, algorithms or (QUICK_ALGORITHMS if quick else ()))
    return dataclasses.replace(
        study,
        problems=tuple(_from_folder(problem, nk_dir) for problem in rows),
        algorithms=tuple(_up_to(algorithm, largest) for algorithm in rivals),
        runs=runs if runs is not None else QUICK_RUNS if quick else study.runs,
    )


def _problems(study: Study, names: Sequence[str]) -> list[StudyProblem]:
    """Give the problems that are named, in the order of the table."""
    wanted: set[str] = set()
    for name in names:
        found = {one.name for one in study.problems if _sorted(name) in (_sorted(one.name), one.name.partition(":")[0])}
        if not found:
            raise ValueError(unknown("problem of Table 1", name, [problem.name for problem in study.problems]))
        wanted |= found
    return [problem for problem in study.problems if problem.name in wanted or not names]


def _sorted(name: str) -> str:
    """Write a problem's parameters in one order: "trap:n=20, k=4" is "trap:k=4,n=20"."""
    kind, colon, parameters = name.replace(" ", "").partition(":")
    return f"{kind}{colon}{','.join(sorted(parameters.split(',')))}"


def _algorithms(study: Study, names: Sequence[str]) -> list[StudyAlgorithm]:
    """Give the algorithms that are named, in the order of the table."""
    by_name = {algorithm.name.lower(): algorithm for algorithm in study.algorithms}
    wanted = set()
    for name in names:
        key = _OTHER_NAMES.get(name.lower(), name).lower()
        if key not in by_name:
            raise ValueError(unknown("algorithm of Table 1", name, [one.name for one in study.algorithms]))
        wanted.add(by_name[key].name)
    return [algorithm for algorithm in study.algorithms if algorithm.name in wanted or not names]


def _up_to(algorithm: StudyAlgorithm, largest: int | None) -> StudyAlgorithm:
    if largest is None:
        return algorithm
    popsizes = tuple(size for size in algorithm.popsizes if size is None or size <= largest)
    if not popsizes:
        least = f"{algorithm.popsizes[0]}, the smallest of {algorithm.name}"
        raise ValueError(f"expected a largest popsize of at least {least}, got {largest}")
    return dataclasses.replace(algorithm, popsizes=popsizes)


def _from_folder(problem: StudyProblem, folder: Path | None) -> StudyProblem:
    """Take a landscape from its file, where the folder has it: nk_30_4.1 is the one of n=30, k=4, i=1."""
    match = re.fullmatch(r"nk:n=(\d+),k=(\d+),i=(\d+)", problem.name)
    if folder is None or match is None:
        return problem
    path = folder / "nk_{}_{}.{}".format(*match.groups())
    if not path.is_file():
        return problem
    n, k, _ = map(int, match.groups())
    found = read_nk(path)
    if (found.n, found.k) != (n, k):
        raise ValueError(f"expected a landscape of n={n}, k={k} in {path}, got one of n={found.n}, k={found.k}")
    return dataclasses.replace(problem, problem=f"nk:{path}", identity=identity(f"nk:{path}"))
