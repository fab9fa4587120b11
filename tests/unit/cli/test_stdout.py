"""Standard output is for results alone, whoever else writes there."""

from __future__ import annotations

import subprocess
import sys

WRITES = """\
import ctypes, os, sys
from daedal.cli.output import stdout_kept

def write(word):
    print(word, "printed", file=sys.stdout)
    print(word, "kept", file=known)
    os.write(1, f"{word} written\\n".encode())
    os.system(f"echo {word} by a child")
    ctypes.CDLL(None).printf(f"{word} in C\\n".encode())  # which keeps it back where nobody watches

known = sys.stdout
print("result 1")
with stdout_kept():
    write("noise")
print("result 2")
"""


def test_what_others_write_to_standard_output_meanwhile_goes_to_standard_error() -> None:
    done = subprocess.run([sys.executable, "-c", WRITES], capture_output=True, text=True, check=True)
    assert done.stdout == "result 1\nresult 2\n"
    assert sorted(done.stderr.splitlines()) == sorted(
        f"noise {way}" for way in ("printed", "kept", "written", "by a child", "in C")
    )
