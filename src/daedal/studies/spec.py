"""What a study is: problems, algorithms, population sizes or budgets, runs; and how a study file is read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from daedal.engine import Engine, Search
from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.objectives.program import Program
from daedal.objectives.spec import FileFunction, identity, located, read_objective, spec_parts, without_folder
from daedal.problems.registry import find_problem
from daedal.rng import check_seed
from daedal.run.config import RunConfig
from daedal.searches.algorithm import Algorithm, Configuration
from daedal.searches.presets import find_algorithm, restored_algorithm
from daedal.settings.checks import check_whole
from daedal.settings.parameters import Parameter, Setting, check_types, coerce, parameters, unknown
from daedal.settings.plugins import is_file_spec
from daedal.spaces.space import Space, describe, described, read_space
from daedal.storage.files import read_text_input

LIMITS = ("max_evaluations", "max_generations", "patience")
"""Limits of the runs of a study, besides the target. The clock is not among them: results must not depend on it."""

AUTO = "auto"
"""The population size of algorithms that find it themselves."""

POPSIZES = (50, 100, 250, 500, 1000, 2000, 4000, 8000, 16_000)
"""The paper's population sizes."""

CONFIRMATION = 1_000_000
"""Distance of the seeds of confirming runs from those of the study itself."""

_LARGEST = 2**62  # number that a store can hold, with room for a sum
_LARGEST_FILE = 2**24  # bytes


# ------------------------------------------------------------ parts of a study


@dataclass(frozen=True, kw_only=True)
class StudyProblem:
    """A problem of a study.

    Attributes
    ----------
    name, problem
        Name in tables, and the problem itself ("trap:k=5,n=50", "path/to/file.py:function" or "cmd:PROGRAM").
    n, space, by_row, violations
        For a function or a program: see `maximize`. The space is JSON.
    minimize, target
        See `maximize`.
    version
        Any text. Runs of another version are other runs.
    timeout
        Seconds per evaluation after which a run fails.
    identity
        For a study from a store: what was run. The file may have changed since, or be gone.
    """

    name: str
    problem: str
    n: int | None = None
    space: str | None = None
    by_row: bool = False
    violations: bool = False
    minimize: bool = False
    target: float | None = None
    version: str = ""
    timeout: float | None = None
    identity: str | None = None

    def objective(self) -> Objective | str:
        """Return what stands for the problem in another process, which loads it there."""
        kind, _, command = spec_parts(self.problem)
        if kind == "program":
            return Program(command)
        return FileFunction(self.problem, str(self.content["problem"])) if kind == "file" else self.problem

    def check_unchanged(self) -> None:
        """Refuse a program whose files have changed. Functions of a file are checked when it is loaded."""
        if spec_parts(self.problem)[0] == "program" and identity(self.problem) != self.content["problem"]:
            raise ValueError(f"{self.problem} has changed since the study was read; run the study again")

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs depend on: not the name, and not the place of a file, but its content."""
        return {
            "problem": identity(self.problem) if self.identity is None else self.identity,
            "n": self.n,
            "space": None if self.space is None else json.loads(self.space),
            "by_row": self.by_row,
            "violations": self.violations,
            "minimize": self.minimize,
            "target": self.target,
            "version": self.version,
        }


@dataclass(frozen=True, kw_only=True)
class StudyAlgorithm:
    """An algorithm of a study: its name in tables, what it is, and the population sizes to try.

    An algorithm without a population, or with one that is doubled again and again, has the one "size" None.
    """

    name: str
    algorithm: Algorithm
    popsizes: tuple[int | None, ...]

    @property
    def settings(self) -> dict[str, Setting]:
        """The algorithm's settings, except a population size that is a number."""
        settings = self.algorithm.settings()
        return {name: value for name, value in settings.items() if name != "popsize" or value == AUTO}

    @property
    def content(self) -> dict[str, object]:
        """What the runs depend on, besides limits and population size."""
        algorithm = self.algorithm
        named = {} if algorithm.source is None else {"algorithm": algorithm.name}  # one file may define several
        return {"model": algorithm.kind, "settings": self.settings, **named}

    def runnable(self) -> StudyAlgorithm:
        """Return the algorithm itself if a store has named it; ValueError if it is not one of daedal's own."""
        stored = self.algorithm
        if not isinstance(stored.configuration, StoredConfiguration):
            return self
        try:
            own = restored_algorithm(stored.name, stored.kind).with_settings(self.settings)
        except (ValueError, TypeError):
            stored.configuration.refuse()
        found = dataclasses.replace(self, algorithm=dataclasses.replace(own, limits=stored.limits))
        if stored.source is not None or _json(found.content) != _json(self.content):
            stored.configuration.refuse()
        return found


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One problem, one algorithm and one population size; in a study with budgets, one of these, too."""

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    limits: Limits
    shuffle: bool
    budget: int | None = None

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs of the cell depend on, apart from the seed."""
        limits = self.algorithm.algorithm.with_limits(self.limits)
        return {
            **self.problem.content,
            **self.algorithm.content,
            "limits": {name: getattr(limits, name) for name in LIMITS},
            "shuffle": self.shuffle,
            "popsize": self.popsize,
            "budget": self.budget,
        }

    @cached_property
    def key(self) -> str:
        """Digest of the content."""
        return hashlib.sha256(_json(self.content).encode()).hexdigest()

    def config(self, seed: int) -> RunConfig:
        """Return the description of one run."""
        algorithm = self.algorithm.algorithm
        return RunConfig(
            objective=self.problem.objective(),
            n=self.problem.n,
            space=None if self.problem.space is None else described(json.loads(self.problem.space)),
            algorithm=algorithm if self.popsize is None else algorithm.with_settings({"popsize": self.popsize}),
            seed=seed,
            minimize=self.problem.minimize,
            vectorized=not self.problem.by_row,
            violations=self.problem.violations,
            shuffle=self.shuffle,
            limits=dataclasses.replace(self.limits, target=self.problem.target),
            evaluation=EvaluationOptions(timeout=self.problem.timeout),
        )


def _json(content: object) -> str:
    return json.dumps(content, sort_keys=True, default=repr)


@dataclass(frozen=True, kw_only=True)
class StoredConfiguration(Configuration):
    """What a store says about an algorithm, which can be shown, but not run."""

    name: str
    stored_kind: str
    stored_settings: str  # as JSON, which does not change

    @property
    def kind(self) -> str:
        """Its kind when it was run."""
        return self.stored_kind

    def parameters(self) -> dict[str, Parameter]:
        """Return what a study sets."""
        return {"popsize": Parameter("popsize", int, None)}

    def settings(self) -> dict[str, Setting]:
        """Return the values that were in force."""
        values: dict[str, Setting] = json.loads(self.stored_settings)
        return values

    def with_settings(self, values: Mapping[str, Setting]) -> StoredConfiguration:
        """Return what was there, whatever is set."""
        return self

    def search(self, f: Engine, limits: Limits) -> Search:
        """Refuse."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise the error that says why the algorithm cannot be run."""
        raise ValueError(f"the store does not hold the algorithm {self.name!r} itself; run the study from its file")


# ------------------------------------------------------------ studies


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
        What ends a run. Default: the limits of each algorithm.
    budgets
        Numbers of evaluations, from small to large, instead of a search for population sizes.
    shuffle
        If True, named problems get their variables in random order.

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
            raise ValueError(f"a study has at most {CONFIRMATION:,} runs of each kind, got runs={self.runs}")
        if self.seed is None or check_seed(self.seed) >= _LARGEST:
            raise ValueError(f"a store holds seeds below 2^62, got seed={self.seed}")

    @property
    def seeds(self) -> range:
        """The seeds of the runs of each cell."""
        return range(self.seed, self.seed + self.runs)

    def fresh_seeds(self, count: int) -> range:
        """Return seeds that took no part in any choice."""
        first = self.seed + CONFIRMATION
        return range(first, first + count)

    def pairs(self) -> list[tuple[StudyProblem, StudyAlgorithm]]:
        """Return each problem with each algorithm."""
        return [(problem, algorithm) for problem in self.problems for algorithm in self.algorithms]

    def cell(
        self, problem: StudyProblem, algorithm: StudyAlgorithm, popsize: int | None, budget: int | None = None
    ) -> Cell:
        """Return one cell."""
        return _cell(problem, algorithm, popsize, self.limits, self.shuffle, budget)

    def cells_of(self, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[Cell]:
        """Return the cells of a problem and an algorithm, from the smallest population size or budget on."""
        budgets: tuple[int | None, ...] = self.budgets or (None,)
        return [self.cell(problem, algorithm, size, budget) for budget in budgets for size in algorithm.popsizes]

    def cells(self) -> list[Cell]:
        """Return all cells."""
        return [cell for pair in self.pairs() for cell in self.cells_of(*pair)]

    def runnable(self) -> Study:
        """Return the study with algorithms that can be run."""
        return dataclasses.replace(self, algorithms=tuple(one.runnable() for one in self.algorithms))

    def as_dict(self) -> dict[str, object]:
        """Return what `restored` reads. Files are described by their content, not by their place."""
        return {
            "problems": [
                dataclasses.asdict(one) | {"problem": without_folder(one.problem), "identity": one.content["problem"]}
                for one in self.problems
            ],
            "algorithms": [
                {
                    "name": one.name,
                    "popsizes": one.popsizes,
                    "algorithm": one.algorithm.name,
                    "source": None if one.algorithm.source is None else without_folder(one.algorithm.source),
                    "kind": one.algorithm.kind,
                    "settings": one.settings,
                    "limits": {name: getattr(one.algorithm.limits, name) for name in LIMITS},
                }
                for one in self.algorithms
            ],
            "runs": self.runs,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "limits": {name: getattr(self.limits, name) for name in LIMITS},
            "budgets": self.budgets,
        }

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> Study:
        """Return the study that `as_dict` described. No file that it names is loaded."""
        study = cls(
            problems=tuple(StudyProblem(**one) for one in kept["problems"]),
            algorithms=tuple(map(_restored, kept["algorithms"])),
            limits=Limits(**kept["limits"]),
            budgets=tuple(kept["budgets"]),
            **{name: kept[name] for name in ("runs", "seed", "shuffle")},
        )
        for problem in study.problems:
            check_types(problem)
        numbers = [size for one in study.algorithms for size in one.popsizes if size is not None]
        if not all(isinstance(one, int) for one in (*numbers, *study.budgets)):
            raise ValueError("sizes or budgets that are not whole numbers")
        if not study.cells() or not all(cell.key for cell in study.cells()):
            raise ValueError("no problems or no algorithms")
        return study

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, folder: Path | None = None) -> Study:
        """Read a study as a study file has it; relative paths of files begin in `folder`."""
        scalars = ("runs", "seed", "shuffle")
        _check_keys("a study", given, (*scalars, "popsizes", "budgets", "limits", "problems", "algorithms"))
        known = parameters(cls)
        values: dict[str, Any] = coerce(
            "a study", {name: given[name] for name in scalars if name in given}, {name: known[name] for name in scalars}
        )
        limits = _table("limits", given.get("limits", {}))
        _check_keys("limits", limits, LIMITS)
        budgets = _whole_numbers("budgets", given["budgets"], least=1) if "budgets" in given else ()
        if budgets and "max_evaluations" in limits:
            raise ValueError("budgets and max_evaluations cannot be combined; a budget is what ends a run")
        popsizes: tuple[int, ...] | None = None if budgets else POPSIZES
        if "popsizes" in given:
            popsizes = _popsizes(given["popsizes"], only_one=bool(budgets))
        return cls(
            problems=_several("problems", given, lambda one: _read_problem(one, folder)),
            algorithms=_several("algorithms", given, lambda one: _read_algorithm(one, popsizes, folder, bool(budgets))),
            limits=Limits(**limits),
            budgets=budgets,
            **values,
        )

    @classmethod
    def from_file(cls, path: Path) -> Study:
        """Read a study from a TOML file, or from standard input if the path is "-"."""
        folder = path.absolute().parent  # now: a problem's file that is loaded may change the folder
        try:
            given = tomllib.loads(read_text_input(path, "a study as TOML", most=_LARGEST_FILE))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ValueError(f"{path} is not a study in TOML: {error}") from error
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
    """Make a cell once, because its key takes a while to compute."""
    if budget is not None:
        limits = dataclasses.replace(limits, max_evaluations=budget)
    return Cell(problem=problem, algorithm=algorithm, popsize=popsize, limits=limits, shuffle=shuffle, budget=budget)


def _restored(kept: Mapping[str, Any]) -> StudyAlgorithm:
    name, source = kept["algorithm"], kept["source"] or None
    if not all(isinstance(text, str) for text in (kept["name"], name, source or "")):
        raise ValueError("an algorithm whose name is not a text")
    configuration = StoredConfiguration(
        name=source or name, stored_kind=kept["kind"], stored_settings=json.dumps(kept["settings"])
    )
    algorithm = Algorithm(name=name, configuration=configuration, limits=Limits(**kept["limits"]), source=source)
    return StudyAlgorithm(name=kept["name"], algorithm=algorithm, popsizes=tuple(kept["popsizes"]))


# ------------------------------------------------------------ study files

_Part = TypeVar("_Part", StudyProblem, StudyAlgorithm)


def _check_keys(owner: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise ValueError(unknown(f"key of {owner}", key, known))


def _table(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{name} must be a table of keys and values, got {given!r}")
    return given


def _several(key: str, given: Mapping[str, Any], read: Callable[[object], _Part]) -> tuple[_Part, ...]:
    """Read a list of problems or algorithms, no two of the same name."""
    listed = given.get(key)
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"{key} must be a list of at least one, got {key}={listed!r}")
    parts = tuple(map(read, listed))
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two {key} are called {name!r}; give one of them another name")
    return parts


def _whole_numbers(key: str, given: object, *, least: int) -> tuple[int, ...]:
    """Read a list of whole numbers; they are returned in order, each once."""
    if not isinstance(given, list | tuple) or not given:
        raise ValueError(f"{key} must be a list of at least one whole number, got {key}={given!r}")
    numbers = {check_whole(key, one, least=least) for one in given}
    if max(numbers) >= _LARGEST:
        raise ValueError(f"{key} must be below 2^62, got {max(numbers)}")
    return tuple(sorted(numbers))


def _popsizes(given: object, *, only_one: bool) -> tuple[int, ...]:
    sizes = _whole_numbers("popsizes", given, least=2)
    if only_one and len(sizes) > 1:
        raise ValueError(
            f"a study with budgets looks for no population size; give one popsize, or none, got popsizes={given}"
        )
    return sizes


def _read_problem(given: object, folder: Path | None) -> StudyProblem:
    table = _table("a problem", {"problem": given} if isinstance(given, str) else given)
    _check_keys("a problem", table, [name for name in parameters(StudyProblem) if name != "identity"])
    read: dict[str, Any] = coerce(
        "a problem", {name: value for name, value in table.items() if name != "space"}, parameters(StudyProblem)
    )
    if not read.get("problem"):
        raise ValueError(f'a problem needs the key problem, such as problem = "trap:k=5,n=50", got {table!r}')
    problem, n, space = located(read["problem"], folder), read.get("n"), _space(table.get("space"), folder)
    if n is not None:
        check_whole("n", n, least=1, hint="give the number of variables")
    if space is not None and n is not None:
        raise ValueError(f"n and space cannot be combined, got n={n}; the space determines it")
    Limits(target=read.get("target"))  # checks it
    EvaluationOptions(timeout=read.get("timeout"))
    size = n if space is None else space.n
    if isinstance(read_objective(problem, size), str):  # refuses what cannot be made
        own = find_problem(problem).n
        if space is not None or n not in (None, own):
            raise ValueError(f"{problem} has n={own}; remove {'the space' if n is None else f'n={n}'}")
    return StudyProblem(
        **{
            "name": read["problem"],
            **read,
            "problem": problem,
            "space": None if space is None else json.dumps(describe(space)),
            "identity": identity(problem),
        }
    )


def _space(given: object, folder: Path | None) -> Space | None:
    """Read a space: the name of its file, or a table."""
    if given is None:
        return None
    if isinstance(given, str):
        return read_space(given if folder is None else folder / given)
    return described(_table("space", given))


def _read_algorithm(
    given: object, popsizes: tuple[int, ...] | None, folder: Path | None, budgeted: bool
) -> StudyAlgorithm:
    table = _table("an algorithm", {"algorithm": given} if isinstance(given, str) else given)
    _check_keys("an algorithm", table, ("name", "algorithm", "settings", "popsize", "popsizes"))
    spec, name = (table.get(key, "") for key in ("algorithm", "name"))
    if not isinstance(spec, str) or not spec or not isinstance(name, str):
        raise ValueError(f'an algorithm needs a text as algorithm = "dae", and as name if it has one, got {table!r}')
    settings = _table("settings", table.get("settings", {})) | {k: table[k] for k in ("popsize",) if k in table}
    if settings.get("popsize", AUTO) != AUTO:
        raise ValueError(
            'a study tries several population sizes: give popsizes = [...], or popsize = "auto", instead of the setting'
        )
    found = find_algorithm(located(spec, folder) if is_file_spec(spec) else spec).with_settings(settings)
    _check_repeatable(found)
    sizes: tuple[int | None, ...] = (None,)
    if "popsize" in found.parameters() and found.settings().get("popsize") != AUTO:
        own = _popsizes(table["popsizes"], only_one=budgeted) if "popsizes" in table else popsizes
        for size in own or ():  # with budgets, an algorithm may choose its own
            found.with_settings({"popsize": size})  # refuses here what it would in the middle of a study
        sizes = own or sizes
    elif "popsizes" in table:
        why = 'has popsize = "auto"' if "popsize" in found.parameters() else "has no setting popsize"
        raise ValueError(f"{found.name} {why}, got popsizes={table['popsizes']}; remove them")
    return StudyAlgorithm(name=name or found.name, algorithm=found, popsizes=sizes)


def _check_repeatable(algorithm: Algorithm) -> None:
    """Refuse a setting that cannot be recognized, because it has no text of its own, and an end by the clock."""
    for name, value in algorithm.settings().items():
        if isinstance(value, list | dict | set) or " at 0x" in repr(value):
            raise ValueError(
                f"the settings of {algorithm.name} identify its runs, so each has to be a number, a text or a tuple of "
                f"these, got {name}={value!r}"
            )
    for name in ("max_seconds", "target"):
        if getattr(algorithm.limits, name) is not None:
            raise ValueError(f"{algorithm.name} has {name} among its limits, which a study cannot repeat; remove it")
