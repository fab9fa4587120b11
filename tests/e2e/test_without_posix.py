"""What Windows lacks is hidden: daedal loads and runs without it, and says what needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HIDE = """
import multiprocessing.spawn, os, signal, sqlite3, subprocess, sys
import numba

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for module, names in (
    (os, "fork getpgrp getuid killpg openpty register_at_fork sched_getaffinity set_blocking setsid sysconf uname"),
    (signal, "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGSTOP SIGWINCH pthread_sigmask"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

RUNS = """
from concurrent.futures import ThreadPoolExecutor
import daedal, daedal.cli, daedal.studies.runner

how = {"n": 10, "target": 10, "seed": 1}
assert daedal.maximize(lambda x: x.sum(axis=1), **how).fitness == 10
with ThreadPoolExecutor(2) as executor:
    assert daedal.maximize(lambda x: x.sum(axis=1), executor=executor, **how).fitness == 10
assert daedal.maximize("onemax:n=10", seed=1, run="run.db").fitness == daedal.load("run.db").fitness
for needs in (lambda: daedal.maximize(len, n=10, workers=2), lambda: daedal.Program("./score")):
    try:
        needs()
    except ValueError as error:
        print(error, flush=True)
sys.argv = ["daedal", "solve", "onemax:n=10", "--seed", "1"]
daedal.cli.main()
"""


def test_runs_in_one_process_and_with_executors_need_nothing_that_windows_lacks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HIDE + RUNS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "Linux" in line]
    assert len(told) == 2
    assert "pass an executor instead" in told[0]
    assert "from a Python function instead" in told[1]
    assert "fitness 10 of 10" in done.stdout + done.stderr
