"""The first result on a new machine: CPU time of one small script that finds no compiled kernels.

    python benchmarks/first.py [--repeats 3]

Each script runs in a process of its own with an empty NUMBA_CACHE_DIR, so that starting Python, importing, compiling
and the search itself all count. The objective is a sum with interactions of neighbors. The minimum of the repeats is
shown, and next to it the second run, which finds the kernels compiled.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile

OBJECTIVE = "f = lambda x: ((2 * x - 1) * 0.3).sum(axis=1) + (x[:, 1:] != x[:, :-1]).sum(axis=1)"
RUNS = {
    "default, 300 evaluations": "max_evaluations=300",
    "default, 10,000 evaluations": "max_evaluations=10_000",
    "dae, 3,000 evaluations": "max_evaluations=3_000, algorithm='dae'",
}
"""What `daedal.maximize` is given besides f and n=40."""


def cpu_seconds(keywords: str, folder: str) -> float:
    """Return the CPU time of a new process, which keeps its kernels in a folder."""
    code = f"import daedal; {OBJECTIVE}; daedal.maximize(f, n=40, seed=1, {keywords})"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def show() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print("| run, n = 40 | first, s | second, s |\n|---|--:|--:|")
    for name, keywords in RUNS.items():
        first, second = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                first.append(cpu_seconds(keywords, folder))
                second.append(cpu_seconds(keywords, folder))
        print(f"| {name} | {min(first):.1f} | {min(second):.1f} |", flush=True)


if __name__ == "__main__":
    show()
