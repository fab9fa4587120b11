"""Texts of users, such as names, paths and what exceptions say: any of them can be stored and shown, and is data."""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What a terminal obeys or reorders by, what ends a line, and lone surrogates, which no encoding has."""

_LONGEST = 1000  # characters of what an exception says: some say all that they know

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def storable(text: str) -> str:
    r"""Write lone surrogates as escapes: file names that are not UTF-8 have them, and no file or database takes them.

    Examples
    --------
    >>> storable("a\udcff")
    'a\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    r"""Write what cannot be seen as escapes, so that a terminal shows it and does not obey it.

    Examples
    --------
    >>> print(visible("red\x1b[31m\n"))
    red\x1b[31m\n
    """
    return _UNSEEN.sub(_escaped, text)


def printable(text: str) -> str:
    r"""Write a text in one line, with single spaces, and what cannot be seen as escapes.

    Examples
    --------
    >>> print(printable("two\nlines\a"))
    two lines\x07
    """
    return visible(" ".join(text.split()))


def counted(count: int, noun: str) -> str:
    """Give a number with its noun, in the plural where it has to be.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def describe_error(error: BaseException) -> str:
    """Give an exception in one line: its kind, and what it says, unless it raises when it is asked."""
    kind = printable(type(error).__name__)
    try:
        text = printable(str(error))
    except Exception:  # noqa: BLE001  a user's class may do anything
        return kind
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return f"{kind}: {text}" if text else kind


def _escaped(found: re.Match[str]) -> str:
    sign = found.group()
    number = ord(sign)
    return _SHORT.get(sign) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
