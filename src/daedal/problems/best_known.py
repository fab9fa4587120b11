"""Best values that are known of an instance: a number in a file of its own, beside that of the instance."""

from __future__ import annotations

import os
from pathlib import Path

from daedal.problems.text_file import LARGEST, as_number, bad, read_lines

ENDING = ".bkv"
"""What such a file is called: the instance's name with this ending in place of its own."""


def read_best_known(path: str | os.PathLike[str], most: float) -> float | None:
    """Give the best value known of the instance in a file, or None where nobody has written it down.

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
