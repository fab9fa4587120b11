"""The quick part of the attacks: see `run.py`, which is also the way to make a single case again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parent / "run.py"
PARTS = ("commands", "settings", "files", "objectives", "signals", "disks", "pairs")


@pytest.fixture(scope="module")
def attacked() -> dict[str, Any]:
    """Make the attacks, all parts in one go; give what was tried, and what failed."""
    done = subprocess.run([sys.executable, RUN, "--quick", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 1)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("part", PARTS)
def test_nothing_gives_way(attacked: dict[str, Any], part: str) -> None:
    assert attacked["tried"][part]
    failures = [one for one in attacked["failures"] if one["part"] == part]
    for one in failures:
        print(f"{one['what']}: {one['problems']}\n  {one['again']}")
    assert not failures


def test_nothing_is_left_nor_changed_outside(attacked: dict[str, Any]) -> None:
    assert attacked["processes left"] == []
    assert attacked["files changed outside"] == []
