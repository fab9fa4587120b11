"""Problem files that are plain text: their lines, words and numbers, each with its place, strict and bounded.

Whatever is not as expected is a ValueError of one line that says where, what was expected there and what came.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

from daedal.storage.inputs import read_plain_file

MOST_BYTES = 2**28
"""Bytes of a problem file at the most."""

MOST_VARIABLES = 10**7
"""Variables of a problem in a file at the most: no row is longer than 10 MB, whatever a file says."""

LARGEST = 1e15
"""Size of a number in a file at the most, so that no sum of them overflows, and whole ones are exact."""

_WHOLE = re.compile(r"\d{1,15}")
_SIGNED = re.compile(r"-?\d{1,15}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_lines(path: str | os.PathLike[str], what: str, expected: str, *, most: int = MOST_BYTES) -> list[str]:
    """Read the lines of a file, without the blanks around them and the empty ones at the end.

    `what` is the file to the user, with its article: "an NK file"; `expected` is what its first line should be.
    """
    try:
        text = read_plain_file(path, what, most=most).decode("ascii")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise bad(path, line, "plain text", f"the byte 0x{error.object[error.start]:02x}") from None
    lines = [line.strip() for line in text.rstrip().split("\n")]
    if lines == [""]:
        raise bad(path, 1, expected, "an empty file")
    return lines


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, not negative, of at most 15 digits."""
    return _WHOLE.fullmatch(text) is not None


def as_whole(
    path: str | os.PathLike[str], line: int, text: str, expected: str, *, least: int = 0, most: int = 10**15
) -> int:
    """Return the whole number that a text is; refuse everything else, and what is not in least..most."""
    written = _WHOLE if least >= 0 else _SIGNED
    if not written.fullmatch(text) or not least <= int(text) <= most:
        raise bad(path, line, expected, shown(text))
    return int(text)


def as_number(
    path: str | os.PathLike[str],
    line: int,
    text: str,
    expected: str = "a finite number",
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> float:
    """Return the finite number that a text is; refuse everything else, and what is not in least..most."""
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)) or not least <= float(text) <= most:
        raise bad(path, line, expected, shown(text))
    return float(text)


def shown(text: str) -> str:
    """Write what came, shortened."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def bad(path: str | os.PathLike[str], line: int, expected: str, came: str) -> ValueError:
    """Make the refusal of a file."""
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

    Attributes
    ----------
    line
        Number of the line that the last word stood in.
    """

    def __init__(self, path: str | os.PathLike[str], what: str, expected: str) -> None:
        self.path = Path(path)
        self.lines = read_lines(path, what, expected)
        self.line = 1
        self._words = self._iterate()
        self._ahead: tuple[int, str] | None = next(self._words, None)

    def _iterate(self) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(self.lines, start=1):
            for word in line.split():
                yield number, word

    def word(self, expected: str) -> str:
        """Return the next word; refuse the end of the file."""
        if self._ahead is None:
            raise bad(self.path, len(self.lines) + 1, expected, "the end")
        self.line, word = self._ahead
        self._ahead = next(self._words, None)
        return word

    def whole(self, expected: str, *, least: int = 0, most: int = 10**15) -> int:
        """Return the next word, a whole number in least..most."""
        word = self.word(expected)
        return as_whole(self.path, self.line, word, expected, least=least, most=most)

    def number(self, expected: str, *, least: float = -LARGEST) -> float:
        """Return the next word, a number in least..LARGEST."""
        word = self.word(expected)
        return as_number(self.path, self.line, word, expected, least=least, most=LARGEST)

    def end(self) -> None:
        """Refuse words where the file should end."""
        if self._ahead is not None:
            line, word = self._ahead
            raise bad(self.path, line, "the end", shown(word))

    def bad(self, expected: str, came: str) -> ValueError:
        """Make the refusal of the last word, or of what it belongs to."""
        return bad(self.path, self.line, expected, came)


ENDING = ".bkv"
"""What such a file is called: the instance's name with this ending in place of its own."""


def read_best_known(path: str | os.PathLike[str], most: float) -> float | None:
    """Return the best value known of the instance in a file, or None where nobody has written it down.

    What is above `most`, the largest value that the instance can have at all, is refused.
    """
    beside = Path(path).with_suffix(ENDING) if Path(path).name else Path()
    if not beside.is_file():
        return None
    lines = read_lines(beside, "the best value known", "a number")
    value = as_number(beside, 1, lines[0], "a number", least=-LARGEST, most=LARGEST)
    if len(lines) > 1:
        raise bad(beside, 2, "the end", repr(lines[1][:40]))
    if value > most:
        raise bad(beside, 1, f"a value that the instance can have, at most {most:.10g}", f"{value:.10g}")
    return value
