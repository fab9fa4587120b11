"""Problems by name: "trap:k=5,n=50" becomes a value, and an unknown name lists the known ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from daedal.problems import HIFF, NK, PBO, OneMax, Problem, Trap, read_nk
from daedal.settings.parameters import REQUIRED, Parameter, Setting, coerce, parameters, unknown
from daedal.settings.plugins import entry_point, entry_point_names, first_line, register_entry_points

ENTRY_POINTS = "daedal.problems"  # The group of entry points under which installed packages register problems


@dataclass(frozen=True, kw_only=True)
class ProblemKind:
    """How a problem is made from its name: from parameters, or from a file where it has a format.

    `first` is the parameter that a word without a name stands for, in the first place: 18 in "pbo:18,n=64".
    """

    name: str
    summary: str
    example: str
    make: Callable[..., Problem]
    read: Callable[[str], Problem] | None = None
    first: str | None = None

    def parameters(self) -> dict[str, Parameter]:
        """List what can be set."""
        return parameters(self.make)


_PROBLEMS: dict[str, ProblemKind] = {}


def register_problem(kind: ProblemKind) -> None:
    """Make a problem known by its name, to the library, the command line and the contract tests."""
    _PROBLEMS[kind.name] = kind


def problem_kinds() -> dict[str, ProblemKind]:
    """Give all problems by name, those of installed packages included; one that is broken is a warning."""
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
        return kind.read(path)
    return _made(kind, tuple(values.items()))


def problem_file(spec: str) -> tuple[str, str | None]:
    """Give the kind of problem that a text names, and the file it is read from, or None."""
    name, _, rest = spec.partition(":")
    if not _is_known(name):
        raise ValueError(unknown("problem", name, {*_PROBLEMS, *entry_point_names(ENTRY_POINTS)}))
    from_file = _PROBLEMS[name].read is not None and rest and ("=" not in rest or Path(rest).exists())
    return name, rest if from_file else None


def canonical_problem(spec: str) -> str:
    """Write a problem's name with all its parameters, in the order of the alphabet: trap:k=5,n=50."""
    kind, path, values = _named(spec)
    words = [] if kind.first is None or path else [str(values.pop(kind.first))]
    words += [f"{name}={value}" for name, value in sorted(values.items())]
    return f"{kind.name}:{path or ','.join(words)}"


def _named(spec: str) -> tuple[ProblemKind, str | None, dict[str, Setting]]:
    """Give the kind of a problem that a text names, and its file, or its parameters, defaults included."""
    name, path = problem_file(spec)
    kind = _PROBLEMS[name]
    if path is not None:
        return kind, path, {}
    known, pairs = kind.parameters(), dict[str, str]()
    for place, part in enumerate(filter(None, spec.partition(":")[2].split(","))):
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
    return kind, None, {name: parameter.default for name, parameter in known.items()} | values


@lru_cache(maxsize=16)
def _made(kind: ProblemKind, values: tuple[tuple[str, Setting], ...]) -> Problem:
    """Make a problem; kept, because the optimum of a landscape may take seconds, once."""
    return kind.make(**dict(values))


for _each in (
    ProblemKind(name="onemax", summary="Number of ones", example="onemax:n=100", make=OneMax),
    ProblemKind(name="trap", summary="Concatenated deceptive traps of k bits", example="trap:k=5,n=50", make=Trap),
    ProblemKind(name="hiff", summary="Hierarchical if-and-only-if", example="hiff:n=64", make=HIFF),
    ProblemKind(
        name="nk",
        summary="NK landscape, random or from a file",
        example="nk:n=30,k=4,seed=1 or nk:FILE",
        make=NK.random,
        read=read_nk,
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
