"""Problem files that are plain text: their words and numbers, each with its line, strict and bounded."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

from daedal.storage.files import read_plain_file

MOST_BYTES = 2**28
"""Largest size of a problem file in bytes."""

MOST_VARIABLES = 10**7
"""Largest number of variables of a problem in a file, so that no row is longer than 10 MB, whatever a file says."""

LARGEST = 1e15
"""Largest size of a number in a file, so that no sum of them overflows, and whole ones are exact."""

_WHOLE = re.compile(r"-?\d{1,15}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_lines(path: str | os.PathLike[str], what: str, expected: str, *, most: int = MOST_BYTES) -> list[str]:
    """Return the lines of a file without the blanks around them and the empty ones at the end.

    `what` is the file to the user, with its article: "an NK file". `expected` is what its first line should be.
    """
    try:
        text = read_plain_file(path, what, most=most).decode("ascii")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _bad(path, line, "plain text", f"the byte 0x{error.object[error.start]:02x}") from None
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if lines == [""]:
        raise _bad(path, 1, expected, "an empty file")
    return lines


def shown(text: str) -> str:
    """Return what came, in quotes and shortened."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _bad(path: str | os.PathLike[str], line: int, expected: str, came: str) -> ValueError:
    return ValueError(f"{path}, line {line}: expected {expected}, got {came}")


class WordReader:
    """The words of a file, one after another, with the lines that they stand in.

    Parameters
    ----------
    path
        The file.
    what
        What it is to the user, with its article: "a QUBO file".
    expected
        What it should begin with, for one that is empty.
    comments
        What lines begin with that are left out. Default: none are.
    most
        Largest size in bytes.

    Attributes
    ----------
    line
        Number of the line that the last word stood in.
    """

    def __init__(
        self, path: str | os.PathLike[str], what: str, expected: str, *, comments: str = "", most: int = MOST_BYTES
    ) -> None:
        self.path = Path(path)
        self.lines = read_lines(path, what, expected, most=most)
        self.line = 1
        self._comments = comments
        self._words = self._iterate()
        self._ahead: tuple[int, str] | None = next(self._words, None)

    def _iterate(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self.lines, start=1):
            if not self._comments or not line.startswith(self._comments):
                for word in line.split():
                    yield number, word

    @property
    def ahead(self) -> str:
        """The next word; empty at the end."""
        return "" if self._ahead is None else self._ahead[1]

    @property
    def ahead_in_line(self) -> bool:
        """Whether the next word is in the same line as the last one."""
        return self._ahead is not None and self._ahead[0] == self.line

    def word(self, expected: str) -> str:
        """Return the next word; refuse the end of the file."""
        if self._ahead is None:
            raise _bad(self.path, len(self.lines) + 1, expected, "the end")
        self.line, word = self._ahead
        self._ahead = next(self._words, None)
        return word

    def whole(self, expected: str, *, least: int = 0, most: int = 10**15) -> int:
        """Return the next word, a whole number of at most 15 digits in least..most."""
        word = self.word(expected)
        if not _WHOLE.fullmatch(word) or (least >= 0 and word.startswith("-")) or not least <= int(word) <= most:
            raise self.bad(expected, shown(word))
        return int(word)

    def number(self, expected: str, *, least: float = -LARGEST, most: float = LARGEST) -> float:
        """Return the next word, a finite number in least..most."""
        word = self.word(expected)
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)) or not least <= float(word) <= most:
            raise self.bad(expected, shown(word))
        return float(word)

    def end(self) -> None:
        """Refuse words where the file should end."""
        if self._ahead is not None:
            self.line, word = self._ahead
            raise self.bad("the end", shown(word))

    def bad(self, expected: str, came: str) -> ValueError:
        """Return the error for the last word, or for what it belongs to."""
        return _bad(self.path, self.line, expected, came)


def read_best_known(path: str | os.PathLike[str], most: float) -> float | None:
    """Return the best known value of the instance in a file, from a file next to it that ends in .bkv; None without.

    A value above `most`, the largest that the instance can have at all, is refused.
    """
    beside = Path(path).with_suffix(".bkv") if Path(path).name else Path()
    if not beside.is_file():
        return None
    words = WordReader(beside, "the best known value", "a number")
    value = words.number("a number")
    if value > most:
        raise words.bad(f"a value that the instance can have, at most {most:.10g}", f"{value:.10g}")
    words.end()
    return value
