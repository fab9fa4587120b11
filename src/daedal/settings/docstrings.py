"""What docstrings in the style of numpydoc say of parameters: the one place where each is described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

_RULE = re.compile(r"-{3,}")
_INDENTED = re.compile(r"\s")


def parameter_texts(target: Any) -> dict[str, str]:
    """Give what the docstring of a class or function says of its parameters, by name, each text in one line.

    A class has the texts of those that it inherits from, too, where it says nothing itself.

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
    """Give names and texts of the section "Parameters"; one text may stand for several names."""
    names: list[str] = []
    text: list[str] = []
    for line in _section(lines, "Parameters"):
        if line.strip() and not _INDENTED.match(line):
            yield from ((name, " ".join(text)) for name in names)
            names, text = [name.strip(" *") for name in line.partition(" :")[0].split(",")], []
        else:
            text += line.split()
    yield from ((name, " ".join(text)) for name in names)


def _section(lines: list[str], title: str) -> list[str]:
    """Give the lines of a section, up to the next title."""
    titles = [place for place in range(len(lines) - 1) if lines[place].strip() and _RULE.fullmatch(lines[place + 1])]
    for place, after in zip(titles, [*titles[1:], len(lines)], strict=False):
        if lines[place].strip() == title:
            return lines[place + 2 : after]
    return []
