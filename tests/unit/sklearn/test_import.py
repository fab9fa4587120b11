"""scikit-learn is loaded where it is used, and missed there with a line that says what to do."""

from __future__ import annotations

import subprocess
import sys

ASK = """
import sys
import daedal
import daedal.sklearn
print("sklearn" in sys.modules, daedal.sklearn.__all__)
sys.modules["sklearn"] = None
try:
    daedal.sklearn.SubsetSelector
except ImportError as error:
    print(error)
"""


def test_it_is_loaded_when_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, timeout=120)
    loaded, missing = done.stdout.splitlines()
    assert loaded == "False ['SubsetSelector']"
    assert 'pip install "daedal[sklearn]"' in missing
