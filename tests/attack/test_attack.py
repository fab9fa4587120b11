"""The quick part of the attacks: see `run.py`, which also runs a single case again."""

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
    """Run the attacks, all parts together, and return what was tried and what failed."""
    done = subprocess.run([sys.executable, RUN, "--quick", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 1)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("part", PARTS)
def test_every_case_of_a_part_ends_well(attacked: dict[str, Any], part: str) -> None:
    assert attacked["tried"][part]
    assert [one for one in attacked["reports"] if one["part"] == part and one["problems"]] == []


def test_nothing_is_left_and_nothing_outside_has_changed(attacked: dict[str, Any]) -> None:
    assert attacked["processes left"] == attacked["files changed"] == []
