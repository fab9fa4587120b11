"""MAX-SAT files: DIMACS cnf, and wcnf as it was until 2021 and as it is from 2022 on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from daedal.problems.best_known import read_best_known
from daedal.problems.maxsat import HardMaxSat, MaxSat
from daedal.problems.text_file import MOST_VARIABLES, as_whole, bad, is_whole, read_lines, shown

_WHAT = "a MAX-SAT file"
_HEADER = "`p cnf n m`, `p wcnf n m` or `p wcnf n m top`"
_MOST_WEIGHT = 10**15
_TOP_DIGITS = 20  # such weights go up to 2^64


@dataclass
class _Reading:
    """What has been read so far."""

    path: Path
    line: int = 0
    n: int = 0
    count: int | None = None  # clauses that were announced
    weighted: bool = False
    top: int | None = None  # clauses of this weight, or more, are hard
    largest: int = 0  # variable seen
    clauses: list[list[int]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    hard: list[list[int]] = field(default_factory=list)
    open: tuple[int | None, list[int]] | None = None  # a clause that has no 0 yet, and its weight, None if hard


def read_maxsat(path: str | os.PathLike[str]) -> MaxSat:
    r"""Read clauses from a file: DIMACS cnf or wcnf.

    In a wcnf file with `top`, clauses of that weight or more are hard, as are those that begin with `h` in a file of
    the 2022 format, which has no line `p` and has to be called .wcnf. A file beside it with the same name and the
    ending .bkv has the best value known, which is taken for the optimum.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no such file; the message names file and line, what was expected there and what came.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.wcnf"
    ...     _ = path.write_text("p wcnf 2 3 10\n10 -1 -2 0\n3 1 0\n4 2 0\n")
    ...     read_maxsat(path).optimum
    4.0
    """
    reading = _Reading(Path(path))
    lines = read_lines(path, _WHAT, _HEADER)
    for words in _clause_lines(reading, lines):
        for word in words:
            _take(reading, word)
        if reading.count is None and reading.open is not None:
            raise bad(path, reading.line, "0 at the end of the clause", "the end of the line")
    return _problem(reading, len(lines))


def _clause_lines(reading: _Reading, lines: list[str]) -> Iterator[list[str]]:
    """Give the words of all lines that are neither comments nor the header."""
    begun = False
    for reading.line, line in enumerate(lines, start=1):
        words = line.split()
        if not words or line.startswith("c"):
            continue
        if not begun and words[0] == "p":
            _read_header(reading, line, words)
        elif not begun and reading.path.suffix != ".wcnf":
            raise bad(reading.path, reading.line, _HEADER, shown(line))
        elif words == ["%"]:  # as in the files of SATLIB
            if lines[reading.line :] not in ([], ["0"]):
                raise bad(reading.path, reading.line + 1, "the end, or 0", shown(lines[reading.line]))
            return
        else:
            reading.weighted |= not begun
            yield words
        begun = True


def _read_header(reading: _Reading, line: str, words: list[str]) -> None:
    counts = words[2:4]
    top = words[4:]
    plain = words[1:2] == ["cnf"] and not top
    weighted = words[1:2] == ["wcnf"] and len(top) <= 1 and all(len(word) <= _TOP_DIGITS for word in top)
    if not (plain or weighted) or len(counts) < 2 or not all(map(is_whole, counts)) or not all(map(str.isdigit, top)):
        raise bad(reading.path, reading.line, _HEADER, shown(line))
    reading.n = as_whole(
        reading.path, reading.line, counts[0], f"n, the variables, in 1..{MOST_VARIABLES}", least=1, most=MOST_VARIABLES
    )
    reading.count, reading.weighted = int(counts[1]), weighted
    reading.top = int(top[0]) if top else None


def _take(reading: _Reading, word: str) -> None:
    """Read the next word: the weight of a clause, a literal, or the 0 at its end."""
    if reading.open is None:
        if reading.count is not None and len(reading.clauses) + len(reading.hard) == reading.count:
            raise bad(reading.path, reading.line, f"the end after {reading.count} clauses", shown(word))
        reading.open = (_weight(reading, word) if reading.weighted else 1, [])
        if reading.weighted:
            return
    most = MOST_VARIABLES if reading.count is None else reading.n
    expected = f"a literal in -{most}..{most}, or 0"
    literal = as_whole(reading.path, reading.line, word, expected, least=-most, most=most)
    weight, literals = reading.open
    if literal:
        reading.largest = max(reading.largest, abs(literal))
        literals.append(literal)
        return
    if weight is None:
        reading.hard.append(literals)
    else:
        reading.clauses.append(literals)
        reading.weights.append(weight)
    reading.open = None


def _weight(reading: _Reading, word: str) -> int | None:
    """Give the weight of a soft clause, or None for a hard one."""
    if reading.count is None and word == "h":
        return None
    if reading.top is not None and word.isdigit() and len(word) <= _TOP_DIGITS and int(word) >= reading.top:
        return None
    return as_whole(reading.path, reading.line, word, "the weight of a clause", least=1, most=_MOST_WEIGHT)


def _problem(reading: _Reading, lines: int) -> MaxSat:
    """Make the problem that has been read; refuse a file that ends too early."""
    found = len(reading.clauses) + len(reading.hard)
    if reading.open is not None or (reading.count is not None and found < reading.count):
        rest = "a literal, or 0" if reading.open else f"{(reading.count or 0) - found} more clauses"
        raise bad(reading.path, lines + 1, rest, "the end")
    n = reading.largest if reading.count is None else reading.n
    if n == 0 or found == 0:
        raise bad(reading.path, lines + 1, "clauses with variables", "none")
    problem = (
        HardMaxSat(n, reading.clauses, reading.weights, hard=reading.hard)
        if reading.hard
        else MaxSat(n, reading.clauses, reading.weights)
    )
    return replace(problem, known_optimum=read_best_known(reading.path, problem.total))
