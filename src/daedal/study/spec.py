"""What a study is: problems, algorithms, population sizes, runs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from daedal.evaluation.caller import Objective
from daedal.limits import Limits
from daedal.objectives.program import Program
from daedal.objectives.spec import FileFunction, identity, located, read_objective, spec_parts, without_folder
from daedal.optimizers.eda import check_count
from daedal.optimizers.presets import Algorithm, find_algorithm
from daedal.problems.registry import find_problem
from daedal.rng import check_seed
from daedal.settings.parameters import unknown
from daedal.study.comparison import Job

POPSIZES = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000)
"""The paper's population sizes."""

CONFIRMATION = 1_000_000
"""How far the seeds of confirming runs are from those of the study itself."""

_LARGEST_POPSIZE = 10**12

_LIMITS = ("max_evaluations", "max_generations", "patience")
"""What may end a run of a study, beside the target; not the clock, which would make results depend on the machine."""


@dataclass(frozen=True, kw_only=True)
class StudyProblem:
    """A problem of a study.

    Parameters
    ----------
    name
        What tables call it.
    problem
        Its name ("trap:k=5,n=50"), or "path/to/file.py:function".
    n, by_row
        Number of variables, and whether the function takes one row, for a function in a file.
    minimize
        Whether smaller is better.
    target
        Fitness that counts as solved; a problem's own optimum where not given.
    version
        Any text; another version has runs of its own. For what a file or a program depends on and nobody can see.
    timeout
        Seconds that one evaluation may take; a run in which one takes longer fails.
    """

    name: str
    problem: str
    n: int | None = None
    by_row: bool = False
    minimize: bool = False
    target: float | None = None
    version: str = ""
    timeout: float | None = None
    identity: str | None = None
    """What the problem was when it was run, for a study that comes from a store: its file may be gone since."""

    def objective(self) -> Objective | str:
        """Give what stands for it in another process, which loads it there."""
        kind, _, command = spec_parts(self.problem)
        if kind == "program":
            return Program(command)
        return FileFunction(self.problem, str(self.content["problem"])) if kind == "file" else self.problem

    def check_unchanged(self) -> None:
        """Refuse a program whose files are not what they were: its runs would be called what they are not.

        Functions of a file need no such check: whoever loads the file makes it.
        """
        if spec_parts(self.problem)[0] == "program" and identity(self.problem) != self.content["problem"]:
            raise ValueError(f"{self.problem} has changed since the study was read; run the study again")

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs depend on: not the name, and not where a file lies, but what is in it; no clock."""
        return {
            "problem": identity(self.problem) if self.identity is None else self.identity,
            "n": self.n,
            "by_row": self.by_row,
            "minimize": self.minimize,
            "target": self.target,
            **({"version": self.version} if self.version else {}),
        }


@dataclass(frozen=True, kw_only=True)
class StudyAlgorithm:
    """An algorithm of a study: what tables call it, what it is, the population sizes to try.

    An algorithm without a population has the one "size" None.
    """

    name: str
    algorithm: Algorithm
    popsizes: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One problem, one algorithm, one population size."""

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    limits: Limits
    shuffle: bool

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs of the cell depend on, apart from the seed."""
        limits = self.algorithm.algorithm.limits(self.limits)
        return {
            **self.problem.content,
            "model": type(self.algorithm.algorithm.model).__name__,
            "settings": self.algorithm.algorithm.settings(),
            "limits": {name: getattr(limits, name) for name in _LIMITS},
            "shuffle": self.shuffle,
            "popsize": self.popsize,
        }

    @cached_property
    def key(self) -> str:
        """The digest of the content."""
        text = json.dumps(self.content, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()

    def job(self, seed: int) -> Job:
        """Give one run."""
        return Job(
            objective=self.problem.objective(),
            n=self.problem.n,
            vectorized=not self.problem.by_row,
            algorithm=self.algorithm.algorithm,
            popsize=self.popsize,
            seed=seed,
            limits=dataclasses.replace(self.limits, target=self.problem.target),
            shuffle=self.shuffle,
            minimise=self.problem.minimize,
            timeout=self.problem.timeout,
        )


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

    def __post_init__(self) -> None:
        _check_runs(self.runs)

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

    def cell(self, problem: StudyProblem, algorithm: StudyAlgorithm, popsize: int | None) -> Cell:
        """Give one cell."""
        return _cell(problem, algorithm, popsize, self.limits, self.shuffle)

    def cells(self) -> list[Cell]:
        """Give all cells."""
        return [
            self.cell(problem, algorithm, popsize)
            for problem, algorithm in self.pairs()
            for popsize in algorithm.popsizes
        ]

    def as_dict(self) -> dict[str, object]:
        """Give what `from_dict` reads, for a store."""
        return {
            "runs": self.runs,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "limits": {name: value for name in _LIMITS if (value := getattr(self.limits, name)) is not None},
            "problems": [_given(dataclasses.asdict(problem) | _wherever(problem)) for problem in self.problems],
            "algorithms": [
                {
                    "name": one.name,
                    "algorithm": one.algorithm.name,
                    "popsizes": list(one.popsizes),
                    "settings": _changed(one.algorithm),
                }
                for one in self.algorithms
            ],
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
            Whether it comes from a store: its files need not be there any more.
        """
        _check_keys("a study", given, ("runs", "seed", "shuffle", "popsizes", "limits", "problems", "algorithms"))
        limits = _table("limits", given.get("limits", {}))
        _check_keys("limits", limits, _LIMITS)
        popsizes = given.get("popsizes", list(POPSIZES))
        _popsizes(popsizes)  # checks them, though every algorithm may have its own
        return cls(
            problems=_several("problems", given, lambda one: _problem(one, folder, stored=stored)),
            algorithms=_several("algorithms", given, lambda one: _algorithm(one, popsizes)),
            runs=given.get("runs", 20),
            seed=_seed(given.get("seed", 0)),
            limits=Limits(**limits),
            shuffle=_bool("shuffle", given.get("shuffle", True)),
        )

    @classmethod
    def from_file(cls, path: Path) -> Study:
        """Read a study from a TOML file."""
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except RecursionError as error:
            raise ValueError(f"expected a study as TOML in {path}, but it is nested too deeply") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"expected a study as TOML in {path}, but it cannot be read: {error}") from error
        except (OSError, ValueError) as error:
            raise ValueError(f"expected a study in {path}, but it cannot be opened: {error}") from error
        try:
            return cls.from_dict(given, folder=path.parent)
        except (ValueError, TypeError, OSError) as error:
            raise ValueError(f"{path}: {error}") from error


def _check_runs(given: Any) -> None:
    if check_count("runs", given, 1, "20 is the paper's number") > CONFIRMATION:
        raise ValueError(f"expected at most {CONFIRMATION} runs, beyond which are the seeds that confirm, got {given}")


def _seed(given: Any) -> int:
    if given is None or check_seed(given) >= 2**62:
        raise ValueError(f"expected a seed below 2^62, which a store can hold, got seed={given}")
    return int(given)


@lru_cache(maxsize=100_000)
def _cell(problem: StudyProblem, algorithm: StudyAlgorithm, popsize: int | None, limits: Limits, shuffle: bool) -> Cell:
    """Make a cell, once, because its key takes a while to compute."""
    return Cell(problem=problem, algorithm=algorithm, popsize=popsize, limits=limits, shuffle=shuffle)


def _several(key: str, given: Mapping[str, Any], read: Any) -> tuple[Any, ...]:
    """Read a list of texts or tables, at least one, no two of the same name."""
    listed = given.get(key)
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"expected {key} to be a list of at least one, got {key}={listed!r}")
    things = tuple(read(one) for one in listed)
    names = [thing.name for thing in things]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"expected each of {key} once, got {name!r} twice; give one of them another name")
    return things


def _problem(given: object, folder: Path | None, *, stored: bool) -> StudyProblem:
    table = _table("a problem", {"problem": given} if isinstance(given, str) else given)
    fields = [one.name for one in dataclasses.fields(StudyProblem) if stored or one.name != "identity"]
    _check_keys("a problem", table, fields)
    problem = _text("problem", table.get("problem"), 'the name of a problem, such as "trap:k=5,n=50"')
    name = _text("name", table.get("name", problem), "text")
    n, target = table.get("n"), table.get("target")
    if n is not None:
        check_count("n", n, 1, "give the number of variables")
    Limits(target=target)  # checks it
    problem = located(problem, folder)
    if not stored and isinstance(read_objective(problem, n), str):  # refuses what cannot be made
        own = find_problem(problem).n
        if n not in (None, own):
            raise ValueError(f"expected n={own}, which the problem has, or no n, got n={n}")
    return StudyProblem(
        name=name,
        problem=problem,
        n=n,
        by_row=_bool("by_row", table.get("by_row", False)),
        minimize=_bool("minimize", table.get("minimize", False)),
        target=None if target is None else float(target),
        version=_text("version", table["version"], "text") if "version" in table else "",
        timeout=_timeout(table.get("timeout")),
        identity=table["identity"] if "identity" in table else identity(problem),
    )


def _algorithm(given: object, popsizes: object) -> StudyAlgorithm:
    table = _table("an algorithm", {"algorithm": given} if isinstance(given, str) else given)
    _check_keys("an algorithm", table, ("name", "algorithm", "settings", "popsizes"))
    algorithm = find_algorithm(_text("algorithm", table.get("algorithm"), 'the name of an algorithm, such as "dae"'))
    return StudyAlgorithm(
        name=_text("name", table.get("name", algorithm.name), "text"),
        algorithm=algorithm.with_settings(_table("settings", table.get("settings", {}))),
        popsizes=_popsizes(table.get("popsizes", popsizes)),
    )


def _popsizes(given: object) -> tuple[int, ...]:
    if not isinstance(given, list) or not given:
        raise ValueError(f"expected popsizes to be a list of at least one size, got popsizes={given!r}")
    sizes = {check_count("a population size", size, 2, "the smallest is 2") for size in given}
    if max(sizes) > _LARGEST_POPSIZE:
        raise ValueError(f"expected population sizes of at most {_LARGEST_POPSIZE:,}, got {max(sizes)}")
    return tuple(sorted(sizes))


def _check_keys(owner: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise ValueError(unknown(f"key of {owner}", key, known))


def _table(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"expected {name} to be a table of keys and values, got {given!r}")
    return given


def _text(key: str, given: object, what: str) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError(f"expected {key} to be {what}, got {key}={given!r}")
    return given


def _timeout(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= sys.float_info.max:
        raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={given!r}")
    return float(given)


def _bool(key: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise ValueError(f"expected {key} to be true or false, got {key}={given!r}")
    return given


def _wherever(problem: StudyProblem) -> dict[str, object]:
    """Say what a problem is by what is in its file, not by where it lies: one study may be run from several folders."""
    return {"problem": without_folder(problem.problem), "identity": problem.content["problem"]}


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _changed(algorithm: Algorithm) -> dict[str, object]:
    """Give the settings that are not the preset's own."""
    own = find_algorithm(algorithm.name).settings()
    return {name: value for name, value in algorithm.settings().items() if value != own[name]}
