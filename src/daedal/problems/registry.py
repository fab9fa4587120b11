"""Problems by name: "trap:k=5,n=50" becomes a value, and an unknown name lists the known ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from daedal.problems import (
    HIFF,
    LABS,
    NK,
    PBO,
    Bimodal,
    CyclicTrap,
    Knapsack,
    LeadingOnes,
    OneMax,
    Problem,
    StepTrap,
    Trap,
    read_ising,
    read_maxcut,
    read_maxsat,
    read_mkp,
    read_nk,
    read_qubo,
)
from daedal.settings.parameters import REQUIRED, Parameter, Setting, coerce, parameters, unknown
from daedal.settings.plugins import entry_point, entry_point_names, first_line, register_entry_points

_SETTINGS = re.compile(r"(,\s*\w+\s*=[^,/\\]*)+$")  # what can follow the name of a file: ",problem=3"
ENTRY_POINTS = "daedal.problems"  # The group of entry points under which installed packages register problems


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """A kind of problem: how to make a problem from its name, with parameters or a file.

    `first` is the parameter that a word without a name stands for, in the first place: 18 in "pbo:18,n=64".
    """

    name: str
    summary: str
    example: str
    make: Callable[..., Problem] | None = None
    read: Callable[..., Problem] | None = None
    """Takes the path, and whatever can follow it, as in "mkp:FILE,problem=3"."""
    first: str | None = None

    def parameters(self) -> dict[str, Parameter]:
        """List what can be set of a problem that is made."""
        return {} if self.make is None else parameters(self.make)

    def file_parameters(self) -> dict[str, Parameter]:
        """List what can be set of a problem that is read from a file."""
        return {} if self.read is None else dict(list(parameters(self.read).items())[1:])


_PROBLEMS: dict[str, ProblemKind] = {}


def register_problem(kind: ProblemKind) -> None:
    """Register a problem, so that the library, the command line and the contract tests know its name."""
    _PROBLEMS[kind.name] = kind


def problem_kinds() -> dict[str, ProblemKind]:
    """Return all kinds of problems by name, including those of installed packages. Warn of a broken one."""
    register_entry_points(ENTRY_POINTS, _is_known)
    return dict(_PROBLEMS)


def _is_known(name: str) -> bool:
    """Whether there is such a problem; one of an installed package is loaded now."""
    if name not in _PROBLEMS and name in entry_point_names(ENTRY_POINTS):
        register_problem(entry_point(ENTRY_POINTS, name, partial(_kind, name)))
    return name in _PROBLEMS


def _kind(name: str, found: object) -> ProblemKind:
    """Read what a package has registered: a kind of problem, or what makes one."""
    if isinstance(found, ProblemKind):
        return replace(found, name=name)
    if not callable(found):
        raise TypeError(f"expected a ProblemKind, or a function that makes a problem, got {found!r}")
    needed = [f"{one.name}=..." for one in parameters(found).values() if one.default is REQUIRED]
    example = f"{name}:{','.join(needed)}" if needed else name
    return ProblemKind(name=name, summary=first_line(found), example=example, make=found)


def find_problem(spec: str) -> Problem:
    """Make the problem that a text names."""
    kind, path, values = _named(spec)
    if kind.read is not None and path is not None:
        return kind.read(path, **values)
    return _made(kind, tuple(values.items()))


def problem_file(spec: str) -> tuple[str, str | None]:
    """Return the kind of problem that a text names, and the file it is read from, or None."""
    kind, path, _ = _split(spec)
    return kind.name, path


def canonical_problem(spec: str) -> str:
    """Write a problem's name with all its parameters, in the order of the alphabet: trap:k=5,n=50."""
    kind, path, values = _named(spec)
    words = [] if path is None else [path]
    if path is None and kind.first is not None:
        words = [str(values.pop(kind.first))]
    return f"{kind.name}:{','.join(words + _written(values))}"


def file_settings(spec: str) -> str:
    """Write all that is set of a problem read from a file, defaults included: ",problem=3"."""
    return "".join(f",{one}" for one in _written(_named(spec)[2]))


def _written(values: Mapping[str, Setting]) -> list[str]:
    return [f"{name}={value}" for name, value in sorted(values.items())]


def _split(spec: str) -> tuple[ProblemKind, str | None, str]:
    """Take a text apart: the kind of problem, the file it is read from, or None, and its settings."""
    name, _, rest = spec.partition(":")
    if not _is_known(name):
        raise ValueError(unknown("problem", name, {*_PROBLEMS, *entry_point_names(ENTRY_POINTS)}))
    kind = _PROBLEMS[name]
    if kind.read is None or not rest:
        return kind, None, rest
    if os.path.exists(rest) or (kind.make is not None and "=" not in rest):
        return kind, rest, ""
    if kind.make is not None:
        return kind, None, rest
    found = _SETTINGS.search(rest) if kind.file_parameters() else None
    return (kind, rest, "") if found is None else (kind, rest[: found.start()], rest[found.start() :])


def _named(spec: str) -> tuple[ProblemKind, str | None, dict[str, Setting]]:
    """Return the kind of a problem that a text names, its file, or None, and its parameters, defaults included."""
    kind, path, settings = _split(spec)
    if path is None and kind.make is None:
        raise ValueError(f"expected the file of {kind.name}, as in {kind.example}, got {spec!r}")
    name, known, pairs = kind.name, kind.parameters() if path is None else kind.file_parameters(), dict[str, str]()
    for place, part in enumerate(filter(None, settings.split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if place == 0 and kind.first is not None and not equals:
            key, equals, value = kind.first, "=", key
        if not (key and equals and value):
            raise ValueError(f"expected settings of {name} as in {kind.example}, got {part!r}")
        if key in pairs:
            raise ValueError(f"expected {key} of {name} once, got it twice in {spec!r}")
        pairs[key] = value
    values = coerce(name, pairs, known)
    missing = [p.name for p in known.values() if p.default is REQUIRED and p.name not in values]
    if missing:
        raise ValueError(f"expected {name} to be given {' and '.join(missing)}, as in {kind.example}, got {spec!r}")
    return kind, path, {name: parameter.default for name, parameter in known.items()} | values


@lru_cache(maxsize=16)
def _made(kind: ProblemKind, values: tuple[tuple[str, Setting], ...]) -> Problem:
    """Make a problem; kept, because the optimum of a landscape may take seconds, once."""
    assert kind.make is not None, "a problem that is read has a file"
    return kind.make(**dict(values))


for _each in (
    ProblemKind(name="onemax", summary="Number of ones", example="onemax:n=100", make=OneMax),
    ProblemKind(
        name="leadingones", summary="Ones before the first zero", example="leadingones:n=100", make=LeadingOnes
    ),
    ProblemKind(name="trap", summary="Concatenated deceptive traps of k bits", example="trap:k=5,n=50", make=Trap),
    ProblemKind(
        name="steptrap", summary="Traps with plateaus of s values", example="steptrap:k=5,s=2,n=50", make=StepTrap
    ),
    ProblemKind(
        name="cyclictrap", summary="A ring of traps that share a bit", example="cyclictrap:k=5,n=60", make=CyclicTrap
    ),
    ProblemKind(name="bimodal", summary="Bimodal deceptive blocks of k bits", example="bimodal:k=6,n=60", make=Bimodal),
    ProblemKind(name="hiff", summary="Hierarchical if-and-only-if", example="hiff:n=64", make=HIFF),
    ProblemKind(
        name="nk",
        summary="NK landscape, random or from a file",
        example="nk:n=30,k=4,seed=1 or nk:FILE",
        make=NK.random,
        read=read_nk,
    ),
    ProblemKind(name="labs", summary="Sequence of low autocorrelation", example="labs:n=40", make=LABS),
    ProblemKind(
        name="knapsack",
        summary="Random knapsack of one dimension",
        example="knapsack:n=100,seed=1",
        make=Knapsack.random,
    ),
    ProblemKind(
        name="mkp",
        summary="Knapsack of several dimensions (OR-Library)",
        example="mkp:FILE or mkp:FILE,problem=3",
        read=read_mkp,
    ),
    ProblemKind(name="maxsat", summary="Satisfied clauses (DIMACS cnf, wcnf)", example="maxsat:FILE", read=read_maxsat),
    ProblemKind(name="maxcut", summary="Weight of a cut of a graph", example="maxcut:FILE", read=read_maxcut),
    ProblemKind(name="ising", summary="Spin glass, minus its energy", example="ising:FILE", read=read_ising),
    ProblemKind(
        name="qubo",
        summary="Quadratic function, maximized",
        example="qubo:FILE or qubo:FILE,problem=3",
        read=read_qubo,
    ),
    ProblemKind(
        name="pbo",
        summary="Function 1 to 25 of the suite PBO (extra ioh)",
        example="pbo:2,n=64",
        make=PBO,
        first="function",
    ),
):
    register_problem(_each)
