"""Settings by name: the parameters of classes and functions, what docstrings say of them, and how text is read."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

Setting: TypeAlias = bool | int | float | str | tuple[int, ...] | None  # A value that a user can set

REQUIRED = inspect.Parameter.empty  # Default of a parameter that has none

_ANYTHING = int | float | bool | str | None
"""The type of a parameter that says nothing of it; text is then read as the first of these that it can be."""


_WHOLE_NUMBERS: Any = tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """One thing that can be set: its name, its type as annotated, its default, and the class or function it is of."""

    name: str
    hint: Any
    default: Any
    owner: Any = field(default=None, compare=False, repr=False)

    @property
    def meaning(self) -> str:
        """What its owner's docstring says of it, in one line; empty if there is none."""
        return "" if self.owner is None else parameter_texts(self.owner).get(self.name, "")

    def describe(self) -> str:
        """Return the type as text, as in "a whole number or none"."""
        if self.hint == _ANYTHING:
            return "anything"
        names = {bool: "true or false", int: "a whole number", float: "a number", str: "text", types.NoneType: "none"}
        names[_WHOLE_NUMBERS] = "whole numbers with commas between them"
        words: list[Any] = []
        for hint in _alternatives(self.hint):
            words += get_args(hint) if get_origin(hint) is Literal else [names.get(hint, hint)]
        return " or ".join(map(str, words))


def parameters(target: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a class or function in their order; without an annotation, the default has the type."""
    return dict(_parameters_of_class(target)) if isinstance(target, type) else _parameters(target)


@lru_cache(maxsize=256)
def _parameters_of_class(target: type[Any]) -> dict[str, Parameter]:
    return _parameters(target)


def _parameters(target: Callable[..., Any]) -> dict[str, Parameter]:
    hints = _hints(target.__init__ if inspect.isclass(target) else target)
    if dataclasses.is_dataclass(target):  # fields may be annotated by names that only the module they come from has
        hints = _hints(target) | hints
    found = {}
    for name, one in inspect.signature(target).parameters.items():
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            own = _ANYTHING if one.default is REQUIRED or one.default is None else type(one.default)
            found[name] = Parameter(name, hints.get(name, own), one.default, target)
    return found


def plain(value: Any) -> bool | int | float | str | None:
    """Return a setting as JSON has it: NumPy's numbers become Python's, and everything else text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else written(value)


def written(value: Any) -> str:
    """Return a value as the text by which a user could set it.

    Examples
    --------
    >>> written((100, 50)), written(2000)
    ('100,50', '2000')
    """
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def current(instance: Any) -> dict[str, Setting]:
    """Return the settings of a dataclass instance, by name."""
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}


class UnknownSettingError(ValueError):
    """There is no setting of that name."""


def coerce(
    owner: str, values: Mapping[str, Setting], known: Mapping[str, Parameter], *, keywords: Iterable[str] = ()
) -> dict[str, Setting]:
    """Check names and turn values into what the parameters expect; text, as from a command line, is read.

    `keywords` are names that belong elsewhere and that the user may have mistyped.
    """
    for name in values:
        if name not in known:
            raise UnknownSettingError(unknown(f"setting of {owner}", name, known, also=keywords))
    return {name: _coerce(owner, known[name], value) for name, value in values.items()}


def check_types(instance: Any) -> None:
    """Check that annotations allow the values of a dataclass instance; text is not read as a number."""
    owner, known = type(instance).__name__, parameters(type(instance))
    for name, value in current(instance).items():
        hints = _alternatives(known[name].hint)
        if isinstance(value, str) and not any(hint is str or get_origin(hint) is Literal for hint in hints):
            raise _refusal(owner, known[name], repr(value))
    coerce(owner, current(instance), known)


def unknown(kind: str, name: str, known: Iterable[str], *, also: Iterable[str] = ()) -> str:
    """Return the error for a name that does not exist, with the nearest name (of `also`, too) and all known ones.

    Examples
    --------
    >>> unknown("algorithm", "dea", ["dae", "pbil"])
    "unknown algorithm 'dea', did you mean 'dae'? Known: dae, pbil"
    """
    names = sorted(known)
    spelled = {known.lower(): known for known in (*names, *also)}
    near = [spelled[word] for word in get_close_matches(name.lower(), spelled, n=1)]
    hint = f", did you mean '{near[0]}'?" if near else "."
    return f"unknown {kind} {name!r}{hint} Known: {', '.join(names) if names else 'none'}"


def _coerce(owner: str, parameter: Parameter, value: Setting) -> Setting:
    for hint in _alternatives(parameter.hint):
        done, result = _as(hint, value)
        if done:
            return result
    raise _refusal(owner, parameter, value if isinstance(value, str) else repr(value))


def _refusal(owner: str, parameter: Parameter, came: str) -> ValueError:
    name = parameter.name
    return ValueError(f"expected {name} of {owner} to be {parameter.describe()}, got {name}={came}")


def _hints(function: Any) -> dict[str, Any]:
    """Return the annotations as types, except those with names that only type checkers see."""
    unknown_names = (NameError, AttributeError, TypeError)
    try:
        return get_type_hints(function)
    except unknown_names:
        found: dict[str, Any] = {}
        for name, annotation in getattr(function, "__annotations__", {}).items():
            with suppress(*unknown_names):
                alone = types.SimpleNamespace(__annotations__={name: annotation})
                found |= get_type_hints(alone, function.__globals__)
        return found


def _alternatives(hint: Any) -> list[Any]:
    """Return the parts of a union; None last, so that the text "none" is tried as such only when nothing else fits."""
    if get_origin(hint) in (Union, types.UnionType):
        return sorted(get_args(hint), key=lambda part: part is types.NoneType)
    return [hint]


def _as(hint: Any, value: Setting) -> tuple[bool, Setting]:
    """Return whether a value can be of a type, and then the value."""
    if hint is types.NoneType:
        return value is None or (isinstance(value, str) and value.lower() == "none"), None
    if get_origin(hint) is Literal:
        return value in get_args(hint), value
    if hint is bool and isinstance(value, str):
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return value.lower() in words, words.get(value.lower())
    if hint is int or hint is float:
        return _as_number(hint, value)
    if hint is bool or hint is str:
        return isinstance(value, hint), value
    if hint == _WHOLE_NUMBERS:
        return _as_whole_numbers(value)
    return not isinstance(value, str), value  # a type of the model's own, which is its own business


def _as_number(hint: type[int] | type[float], value: Setting) -> tuple[bool, Setting]:
    kind = Integral if hint is int else Real
    fits = isinstance(value, str | kind) and not isinstance(value, bool)
    try:
        return fits, hint(value) if fits else None  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # text that is no number, or a whole number beyond all floats
        return False, None


def _as_whole_numbers(value: Any) -> tuple[bool, Setting]:
    """Return whole numbers from text with commas between them, as on a command line, or from a sequence."""
    words = value.strip("()[] ").rstrip(",").split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or (isinstance(value, str) and "," not in value):
        return False, None
    read = [_as_number(int, word) for word in words]
    return all(fits for fits, _ in read), tuple(number for _, number in read)  # type: ignore[misc]


# ------------------------------------------------------------ docstrings


def parameter_texts(target: Any) -> dict[str, str]:
    """Return what a numpydoc docstring of a class or function says of its parameters, each text in one line, by name.

    A class inherits the texts of its base classes.

    Examples
    --------
    >>> from daedal.models import PBIL
    >>> parameter_texts(PBIL)["best"]
    'How many of the best parents are followed, mu of the paper.'
    """
    found: dict[str, str] = {}
    for one in reversed(inspect.getmro(target)) if inspect.isclass(target) else (target,):
        own = one.__dict__.get("__doc__") if inspect.isclass(one) else getattr(one, "__doc__", None)
        if isinstance(own, str):
            found |= dict(_entries(inspect.cleandoc(own).splitlines()))
    return found


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the section "Parameters"; one text may be that of several names."""
    names: list[str] = []
    text: list[str] = []
    for line in _section(lines, "Parameters"):
        if line.strip() and not line[0].isspace():
            yield from ((name, " ".join(text)) for name in names)
            names, text = [name.strip(" *") for name in line.partition(" :")[0].split(",")], []
        else:
            text += line.split()
    yield from ((name, " ".join(text)) for name in names)


def _section(lines: list[str], title: str) -> list[str]:
    """Return the lines of a section, up to the next title."""
    titles = [
        place for place in range(len(lines) - 1) if lines[place].strip() and re.fullmatch("-{3,}", lines[place + 1])
    ]
    for place, after in zip(titles, [*titles[1:], len(lines)], strict=False):
        if lines[place].strip() == title:
            return lines[place + 2 : after]
    return []
