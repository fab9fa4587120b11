"""The command that makes a run again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from daedal.settings.checks import visible

_INDENT, _GOES_ON = "  ", " \\"


def with_options(words: Sequence[str], options: Iterable[str]) -> list[str]:
    """Give a command's words with some options more: at the end, or before what cannot be an option.

    Examples
    --------
    >>> with_options(["solve", "onemax:n=9"], ["--seed", "1"])
    ['solve', 'onemax:n=9', '--seed', '1']
    >>> with_options(["solve", "--", "-odd.py:f"], ["--seed", "1"])
    ['solve', '--seed', '1', '--', '-odd.py:f']
    """
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], *options, *words[end:]]


def quoted(word: str) -> str:
    r"""Quote a word for a shell; one with signs that a terminal obeys is written with escapes, as bash has them.

    Examples
    --------
    >>> print(quoted("two words"), quoted("bell\a"))
    'two words' $'bell\x07'
    """
    if visible(word) == word:
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{visible(escaped)}'"


def write_command(console: Console, margin: str, words: Sequence[str]) -> None:
    """Write a command that can be copied; on a terminal that it is too long for, in lines that a shell joins."""
    lines: list[str] = []
    room = console.width - len(margin) - len(_INDENT) - len(_GOES_ON)
    for phrase in _phrases(["daedal", *words]):
        if lines and (not console.is_terminal or len(lines[-1]) + 1 + len(phrase) <= room):
            lines[-1] += f" {phrase}"
        else:
            lines.append(phrase)
    for number, line in enumerate(lines, start=1):
        start = margin if number == 1 else " " * len(margin) + _INDENT
        console.print(Text(f"{start}{line}{_GOES_ON if number < len(lines) else ''}"), soft_wrap=True)


def _phrases(words: Sequence[str]) -> list[str]:
    """Quote words, and put an option and its value together."""
    phrases: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        if before.startswith("--") and not word.startswith("-"):
            phrases[-1] += f" {quoted(word)}"
        else:
            phrases.append(quoted(word))
    return phrases
