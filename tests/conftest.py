"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))  # helpers of several test files

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a shell has started this in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # or no process of ours could be told to end so
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup; the processes that tests start would inherit this
    signal.signal(signal.SIGHUP, lambda *_: None)  # but they do not inherit a handler


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the benchmark instances, which the repository does not hold."""
    folder = Path(os.environ.get("DAEDAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark instances at {folder}; set DAEDAL_DATA to their folder")
    return folder
