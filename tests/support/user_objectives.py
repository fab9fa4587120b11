"""Objectives of a user, in a file that the fixture `mine` copies to a folder."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
calls = 0


def ones(x):
    return x.sum(axis=1)


def ones_of_a_row(row):
    assert row.ndim == 1
    return float(row.sum())


def weighted(x):
    return x @ range(x.shape[1])


def large(x):
    return 1234567.5 * x.sum(axis=1)


def infeasible(x):
    return np.full(len(x), -np.inf)


def slow_row(row):
    time.sleep(0.01)
    return row.sum()


def loud(x):
    print("hello")
    return x.sum(axis=1)


def leaves(x):
    sys.exit(0)


def dies(x):
    os._exit(7)


def raises(x):
    raise RuntimeError("the simulator\nis down")


def raises_later(row):
    global calls
    calls += 1
    return raises(row) if calls == 25 else row.sum()


def sign_in():
    """Leave a file named after the process, and return how many there are."""
    (FOLDER / f"pid-{os.getpid()}").touch()
    return len(list(FOLDER.glob("pid-*")))


def noted(x):
    sign_in()
    return x.sum(axis=1)


def first_stands(x):
    """Take very long in the first process, and raise in the second."""
    if sign_in() == 1:
        time.sleep(1000)
    return raises(x)


def stands(x):
    """Take very long in one call of each process, whose number the environment has."""
    global calls
    calls += 1
    if calls == int(os.environ["STAND_AT"]):
        sign_in()
        time.sleep(1000)
    return x.sum(axis=-1)


def waits_for_a_child(x):
    """Wait in that call for a program that takes very long and ignores signals."""
    global calls
    calls += 1
    if calls == int(os.environ["STAND_AT"]):
        command = f"trap '' TERM HUP; touch {FOLDER}/pid-$$; sleep 1000; sleep 1000"
        if os.environ.get("SYSTEM"):
            os.system(command)
        else:
            subprocess.run(["sh", "-c", command], check=False)
    return x.sum(axis=1)


def leaves_an_orphan(x):
    """Leave a process without a parent, which Ctrl-C does not end, and then do as `stands`."""
    if calls + 1 == int(os.environ["STAND_AT"]):
        subprocess.run(["sh", "-c", "sleep 1000 &"], check=True)
    return stands(x)


def loud_below(x):
    """Write to standard output from a child and from C, which buffers it until the end."""
    os.write(1, b"hello from below\n")
    os.system("echo hello from a child")
    ctypes.CDLL(None).printf(b"hello from C\n")
    print("hello from a kept stream", file=sys.__stdout__)
    return x.sum(axis=1)
