"""What a study is: problems, algorithms, population sizes or budgets, runs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
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
from daedal.searches.presets import PRESETS, find_algorithm, preset, restored_algorithm
from daedal.settings.checks import check_whole
from daedal.settings.parameters import Parameter, Setting, unknown
from daedal.settings.plugins import is_file_spec
from daedal.spaces.space import Space, describe, described, read_space
from daedal.storage.inputs import read_text_input

LIMITS = ("max_evaluations", "max_generations", "patience")
"""What may end a run of a study, beside the target; not the clock, which would make results depend on the machine."""

AUTO = "auto"
"""The population size of algorithms that find it themselves."""


@dataclass(frozen=True, kw_only=True)
class StudyProblem:
    """A problem of a study: what tables call it, and its name ("trap:k=5,n=50") or "path/to/file.py:function".

    `n` or `space` (JSON, see `daedal.spaces.space`), `by_row` and `violations` are for a function in a file.
    Another `version`, any text, has runs of its own: it is for what a file or a program depends on and nobody can see.
    A run with an evaluation beyond `timeout` seconds fails.
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
            **({} if self.space is None else {"space": json.loads(self.space)}),
            "by_row": self.by_row,
            **({"violations": True} if self.violations else {}),
            "minimize": self.minimize,
            "target": self.target,
            **({"version": self.version} if self.version else {}),
        }


@dataclass(frozen=True, kw_only=True)
class StudyAlgorithm:
    """An algorithm of a study: what tables call it, what it is, the population sizes to try.

    An algorithm without a population, or with one that is doubled again and again, has the one "size" None.
    """

    name: str
    algorithm: Algorithm
    popsizes: tuple[int | None, ...]

    @property
    def settings(self) -> dict[str, Setting]:
        """The algorithm's settings, but for the population size, which is the cell's."""
        settings = self.algorithm.settings()
        return {name: value for name, value in settings.items() if name != "popsize" or value == AUTO}

    @property
    def content(self) -> dict[str, object]:
        """What the runs depend on, beside limits and population size; of a file, its content and the name in it."""
        algorithm = self.algorithm
        named = {} if algorithm.source is None else {"algorithm": algorithm.name}
        return {"model": algorithm.kind, "settings": self.settings, **named}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One problem, one algorithm, one population size; in a study with budgets, one of these.

    With a budget, the limits have it, too. A run is given its budget and no other: an algorithm may use what it knows.
    """

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
            **({} if self.budget is None else {"budget": self.budget}),
        }

    @cached_property
    def key(self) -> str:
        """The digest of the content."""
        text = json.dumps(self.content, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()

    def config(self, seed: int) -> RunConfig:
        """Describe one run."""
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


@dataclass(frozen=True, kw_only=True)
class StoredConfiguration(Configuration):
    """What a store says of an algorithm that this process does not know: it can be shown, and not run."""

    name: str
    stored_kind: str
    stored_settings: str  # as JSON, which does not change

    @property
    def kind(self) -> str:
        """What it was."""
        return self.stored_kind

    def parameters(self) -> dict[str, Parameter]:
        """Nobody knows what can be set, but for what a study sets."""
        return {"popsize": Parameter("popsize", int, None)}

    def settings(self) -> dict[str, Setting]:
        """Give the values that were in force."""
        values: dict[str, Setting] = json.loads(self.stored_settings)
        return values

    def with_settings(self, values: Mapping[str, Setting]) -> StoredConfiguration:
        """Give what was there, whatever is set."""
        return self

    def search(self, f: Engine, limits: Limits) -> Search:
        """Refuse."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Say why such an algorithm cannot be run."""
        raise ValueError(f"the store does not hold the algorithm {self.name!r} itself; run the study from its file")


def _algorithm_described(one: StudyAlgorithm) -> dict[str, object]:
    """Say what an algorithm of a study is, for a store: of daedal's own the name is enough."""
    algorithm = one.algorithm
    told: dict[str, object] = {"name": one.name, "popsizes": list(one.popsizes)}
    for known in map(preset, PRESETS):
        if (known.name, known.kind, known.limits) == (algorithm.name, algorithm.kind, algorithm.limits):
            own = known.settings()
            changed = {name: value for name, value in one.settings.items() if value != own[name]}
            return {**told, "algorithm": algorithm.name, "settings": changed}
    return {
        **told,
        "algorithm": algorithm.name if algorithm.source is None else without_folder(algorithm.source),
        "settings": one.settings,
        "kind": algorithm.kind,
        "limits": {name: getattr(algorithm.limits, name) for name in LIMITS},
    }


def stored_algorithm(spec: str, settings: Mapping[str, Any], kind: str | None, limits: Mapping[str, Any]) -> Algorithm:
    """Give the algorithm that a store names, or its "file.py:NAME"; no file is loaded, whatever the store says.

    One of daedal's own has no kind, and of its settings those that were changed.
    """
    own = _restored(spec, settings) if kind is None else None
    if own is not None:
        return own
    text = json.dumps(dict(settings))
    return Algorithm(
        name=spec.rpartition(":")[2] if is_file_spec(spec) else spec,
        # There is no kind where an older store has no run of it.
        configuration=StoredConfiguration(name=spec, stored_kind=kind or "", stored_settings=text),
        limits=Limits(**limits),
        source=spec if is_file_spec(spec) else None,
    )


def _restored(name: str, settings: Mapping[str, Any]) -> Algorithm | None:
    """Give an algorithm of daedal's own; None where it is not, or has no such settings."""
    try:
        return restored_algorithm(name, "").with_settings(settings)
    except (ValueError, TypeError):
        return None


_LARGEST_POPSIZE = 10**12
_LARGEST_BUDGET = 10**12


_T = TypeVar("_T", StudyProblem, StudyAlgorithm)


def check_keys(owner: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse a key that there is not, and name the nearest that there is."""
    for key in given:
        if key not in known:
            raise ValueError(unknown(f"key of {owner}", key, known))


def read_several(key: str, given: Mapping[str, Any], read: Callable[[object], _T]) -> tuple[_T, ...]:
    """Read a list of texts or tables, at least one, no two of the same name."""
    listed = given.get(key)
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"expected {key} to be a list of at least one, got {key}={listed!r}")
    things = tuple(map(read, listed))
    names = [thing.name for thing in things]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"expected each of {key} once, got {name!r} twice; give one of them another name")
    return things


def read_problem(given: object, folder: Path | None, *, stored: bool) -> StudyProblem:
    """Read a problem: a text or a table; the file of one that comes from a store need not be there any more."""
    table = _table("a problem", {"problem": given} if isinstance(given, str) else given)
    fields = [one.name for one in dataclasses.fields(StudyProblem) if stored or one.name != "identity"]
    check_keys("a problem", table, fields)
    problem = _text("problem", table.get("problem"), 'the name of a problem, such as "trap:k=5,n=50"')
    name = _text("name", table.get("name", problem), "text")
    n, target = table.get("n"), table.get("target")
    if n is not None:
        check_whole("n", n, least=1, hint="give the number of variables")
    Limits(target=target)  # checks it
    problem, space = located(problem, folder), _space(table.get("space"), folder)
    if space is not None and n is not None:
        raise ValueError(f"expected n or a space, got both, n={n}")
    size = n if space is None else space.n
    if not stored and isinstance(read_objective(problem, size), str):  # refuses what cannot be made
        own = find_problem(problem).n
        if space is not None or n not in (None, own):
            came = f"n={n}" if space is None else "a space"
            raise ValueError(f"expected n={own}, which the problem has, or no n, got {came}")
    return StudyProblem(
        name=name,
        problem=problem,
        n=n,
        space=None if space is None else json.dumps(describe(space)),
        by_row=read_bool("by_row", table.get("by_row", False)),
        violations=read_bool("violations", table.get("violations", False)),
        minimize=read_bool("minimize", table.get("minimize", False)),
        target=None if target is None else float(target),
        version=_text("version", table["version"], "text") if "version" in table else "",
        timeout=_timeout(table.get("timeout")),
        identity=table["identity"] if "identity" in table else identity(problem),
    )


def read_algorithm(
    given: object, popsizes: object, folder: Path | None, *, stored: bool, budgeted: bool = False
) -> StudyAlgorithm:
    """Read an algorithm: a text or a table; of one that comes from a store no file is loaded."""
    table = _table("an algorithm", {"algorithm": given} if isinstance(given, str) else given)
    check_keys(
        "an algorithm", table, ("name", "algorithm", "settings", "popsize", "popsizes", *(("kind", "limits") * stored))
    )
    spec = _text("algorithm", table.get("algorithm"), 'the name of an algorithm, such as "dae", or "file.py:NAME"')
    settings = _table("settings", table.get("settings", {}))
    sizes: tuple[int | None, ...]
    if stored:
        kind = _text("kind", table["kind"], "text") if "kind" in table else None
        algorithm = stored_algorithm(spec, settings, kind, read_limits(table.get("limits", {})))
        sizes = (None,) if table.get("popsizes") == [None] else read_popsizes(table.get("popsizes", popsizes))
    else:
        settings = _with_popsize(settings, table)
        algorithm = find_algorithm(located(spec, folder) if is_file_spec(spec) else spec).with_settings(settings)
        _check_repeatable(algorithm)
        sizes = _sizes(algorithm, table, popsizes, budgeted=budgeted)
    name = _text("name", table.get("name", algorithm.name), "text")
    return StudyAlgorithm(name=name, algorithm=algorithm, popsizes=sizes)


def _with_popsize(settings: Mapping[str, Any], table: Mapping[str, object]) -> dict[str, Any]:
    """Take the one population size that is no number, wherever it is written."""
    given = {"popsize": table["popsize"]} if "popsize" in table else {}
    if {**settings, **given}.get("popsize", AUTO) != AUTO:
        raise ValueError(
            'a study tries several population sizes: give popsizes = [...], or popsize = "auto", instead of the setting'
        )
    return {**settings, **given}


def _sizes(
    algorithm: Algorithm, table: Mapping[str, Any], popsizes: object, *, budgeted: bool
) -> tuple[int | None, ...]:
    if "popsize" in algorithm.parameters() and algorithm.settings().get("popsize") != AUTO:
        if budgeted and popsizes is None and "popsizes" not in table:
            return (None,)  # it chooses one that fits the budget
        sizes = read_popsizes(table.get("popsizes", popsizes), only_one=budgeted)
        for size in sizes:
            algorithm.with_settings({"popsize": size})  # refuses here what it would in the middle of a study
        return sizes
    if "popsizes" in table:
        if "popsize" in algorithm.parameters():
            raise ValueError(f'expected popsize = "auto" or popsizes, got both, popsizes={table["popsizes"]}')
        raise ValueError(f"{algorithm.name} has no setting popsize, got popsizes={table['popsizes']}; leave them out")
    return (None,)


def _check_repeatable(algorithm: Algorithm) -> None:
    """Refuse what cannot be known again: a setting without a text of its own, or an end by the clock."""
    for name, value in algorithm.settings().items():
        if isinstance(value, list | dict | set) or " at 0x" in repr(value):
            allowed = "a study knows runs by their settings, so each has to be a number, a text or a tuple of these"
            raise ValueError(f"{allowed}, got {name}={value!r} of {algorithm.name}")
    for name in ("max_seconds", "target"):
        if getattr(algorithm.limits, name) is not None:
            raise ValueError(f"expected {algorithm.name} without {name} among its limits, which a study cannot repeat")


def read_budgets(given: object, limits: Mapping[str, object]) -> tuple[int, ...]:
    """Read budgets; they come from small to large, each once."""
    if not isinstance(given, list) or not given:
        raise ValueError(f"expected budgets to be a list of at least one number of evaluations, got budgets={given!r}")
    budgets = {check_whole("a budget", budget, least=1, hint="a budget is a number of evaluations") for budget in given}
    if max(budgets) > _LARGEST_BUDGET:
        raise ValueError(f"expected budgets of at most {_LARGEST_BUDGET:,} evaluations, got {max(budgets)}")
    if "max_evaluations" in limits:
        raise ValueError("expected budgets or max_evaluations among the limits, got both: a budget is what ends a run")
    return tuple(sorted(budgets))


def read_popsizes(given: object, *, only_one: bool = False) -> tuple[int, ...]:
    """Read population sizes; they come from small to large, each once; of a study with budgets, only one."""
    if not isinstance(given, list) or not given:
        raise ValueError(f"expected popsizes to be a list of at least one size, got popsizes={given!r}")
    sizes = {check_whole("a population size", size, least=2, hint="the smallest is 2") for size in given}
    if max(sizes) > _LARGEST_POPSIZE:
        raise ValueError(f"expected population sizes of at most {_LARGEST_POPSIZE:,}, got {max(sizes)}")
    if only_one and len(sizes) > 1:
        raise ValueError(
            "a study with budgets looks for no population size: give one, or none, which leaves it to the algorithm, "
            f"got popsizes={given}"
        )
    return tuple(sorted(sizes))


def read_limits(given: object) -> dict[str, Any]:
    """Read what ends a run; the clock does not."""
    limits = _table("limits", given)
    check_keys("limits", limits, LIMITS)
    return limits


def read_seed(given: Any) -> int:
    """Read a seed that a store can hold."""
    if given is None or check_seed(given) >= 2**62:
        raise ValueError(f"expected a seed below 2^62, which a store can hold, got seed={given}")
    return int(given)


def read_bool(key: str, given: object) -> bool:
    """Read true or false."""
    if not isinstance(given, bool):
        raise ValueError(f"expected {key} to be true or false, got {key}={given!r}")
    return given


def _table(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"expected {name} to be a table of keys and values, got {given!r}")
    return given


def _text(key: str, given: object, what: str) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError(f"expected {key} to be {what}, got {key}={given!r}")
    return given


def _space(given: object, folder: Path | None) -> Space | None:
    """Read a space: the name of its file, a table, or, from a store, JSON."""
    if given is None or isinstance(given, dict):
        return None if given is None else described(given)
    text = _text("space", given, "the name of a TOML file, or a table")
    if not text.lstrip().startswith("{"):
        return read_space(text if folder is None else folder / text)
    try:
        return described(json.loads(text))
    except (ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"expected the space of a problem, got {text:.60}: {error}") from None


def _timeout(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= sys.float_info.max:
        raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={given!r}")
    return float(given)


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
            "problems": list(map(_problem_described, self.problems)),
            "algorithms": list(map(_algorithm_described, self.algorithms)),
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
        check_keys("a study", given, keys)
        limits = read_limits(given.get("limits", {}))
        budgets = read_budgets(given["budgets"], limits) if "budgets" in given else ()
        popsizes = given.get("popsizes", None if budgets else list(POPSIZES))
        if "popsizes" in given:
            read_popsizes(popsizes, only_one=bool(budgets))  # though every algorithm may have its own
        read_rival = partial(read_algorithm, popsizes=popsizes, folder=folder, stored=stored, budgeted=bool(budgets))
        return cls(
            problems=read_several("problems", given, partial(read_problem, folder=folder, stored=stored)),
            algorithms=read_several("algorithms", given, read_rival),
            runs=given.get("runs", 20),
            seed=read_seed(given.get("seed", 0)),
            limits=Limits(**limits),
            shuffle=read_bool("shuffle", given.get("shuffle", True)),
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


def _problem_described(problem: StudyProblem) -> dict[str, object]:
    """Say what a problem is by what is in its file, not by where it lies: one study may be run from several folders."""
    fields = dataclasses.asdict(problem)
    fields |= {"problem": without_folder(problem.problem), "identity": problem.content["problem"]}
    return {name: value for name, value in fields.items() if value not in (None, "")}
