"""Fixtures that every test may use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))  # what several test files share


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the benchmark instances, which the repository does not hold."""
    folder = Path(os.environ.get("DAEDAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark instances at {folder}; set DAEDAL_DATA to their folder")
    return folder
