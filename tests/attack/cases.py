"""What a case is, and a part: cases are drawn from a seed and a number, so that each can be made again."""

from __future__ import annotations

import random
import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from processes import clear_away
from sandbox import mend_devices


@dataclass(frozen=True)
class Case:
    """One attack: its part, the seed, its number, and a folder of its own."""

    part: str
    seed: int
    index: int
    folder: Path

    @cached_property
    def rng(self) -> random.Random:
        """Random numbers of this case alone."""
        return random.Random(f"{self.seed} {self.part} {self.index}")


@dataclass
class Tried:
    """What was tried, in a line, and what is wrong with how it went; nothing, mostly."""

    what: str
    problems: list[str] = field(default_factory=list)
    may_leave: bool = False
    """Whether processes that it started may be there afterwards, because nobody but it could have ended them."""


@dataclass(frozen=True)
class Part:
    """A kind of attack: how many cases there are in full and in the quick size, and what makes one."""

    name: str
    full: int
    quick: int
    attempt: Callable[[Case], Tried]
    says: str


def attempt(part: Part, seed: int, index: int, root: Path) -> dict[str, Any]:
    """Make one case, in a folder that is gone afterwards, and see to it that nothing is left."""
    folder = root / "cases" / f"{part.name}-{index}" / "here"
    folder.mkdir(parents=True)
    started = time.monotonic()
    try:
        tried = part.attempt(Case(part.name, seed, index, folder))
    except Exception:  # noqa: BLE001  a mistake in the attack, which must not end all others
        tried = Tried("?", ["the attack itself failed: " + traceback.format_exc()])
    left = clear_away()
    if left and not tried.may_leave:
        tried.problems.append(f"left behind: {'; '.join(left)}")
    tried.problems += mend_devices()
    shutil.rmtree(folder.parent, ignore_errors=True)
    return asdict(tried) | {"seconds": time.monotonic() - started}
