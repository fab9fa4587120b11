"""What long use costs: memory over ten million evaluations, and what 300 calls with workers leave behind.

    python benchmarks/soak.py
    python benchmarks/soak.py --evaluations 1000000 --calls 30      # to try it

Prints Markdown; exit code 1 where memory exceeds its limit, or anything is left.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import daedal
from daedal.problems import NK

N, LIMIT = 100, 10**9
WARM_UP = 3


def ones(x: Any) -> Any:
    return x.sum(axis=1)


def long_run(evaluations: int) -> dict[str, Any]:
    """Give the peak of memory, in bytes, of one run by the default algorithm, on a landscape it does not solve."""
    landscape = NK.random(N, 5, 1)
    started = time.monotonic()
    result = daedal.maximize(lambda x: landscape.evaluate(x.astype("uint8")), N, seed=1, max_evaluations=evaluations)
    return {
        "algorithm": f"{result.algorithm} ({result.explanation})",
        "evaluations": result.evaluations,
        "repeated": result.repeated,
        "generations": result.generations,
        "minutes": round((time.monotonic() - started) / 60, 1),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "done": result.evaluations >= evaluations,
    }


def held() -> dict[str, int]:
    """Count what this process holds."""
    descriptors = len(os.listdir("/proc/self/fd"))
    children = sum(len(one.read_text().split()) for one in Path("/proc/self/task").glob("*/children"))
    return {"descriptors": descriptors, "threads": threading.active_count(), "children": children}


def many_calls(calls: int) -> dict[str, Any]:
    """Call `maximize` with workers again and again; give what is held before and after."""

    def call(seed: int) -> None:
        daedal.maximize(ones, 20, algorithm="umda", popsize=20, max_generations=2, seed=seed, workers=2)

    started = time.monotonic()
    for seed in range(WARM_UP):
        call(seed)
    before, memory = held(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(calls):
        call(seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * 1024
    return {"before": before, "after": held(), "grown": grown, "minutes": round((time.monotonic() - started) / 60, 1)}


def elsewhere(what: str, count: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    done = subprocess.run([sys.executable, __file__, what, str(count)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=10_000_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("part", nargs="?", choices=["run", "calls"], help=argparse.SUPPRESS)
    parser.add_argument("count", nargs="?", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps((long_run if given.part == "run" else many_calls)(given.count)))
        return 0
    run = elsewhere("run", given.evaluations)
    print(f"One run at n = {N}: {run['algorithm']}\n")
    print("| calls of the objective | evaluations | generations | minutes | peak of memory, MB | limit, MB |")
    print("|--:|--:|--:|--:|--:|--:|")
    print(
        f"| {run['calls']:,} | {run['evaluations']:,} | {run['generations']:,} | {run['minutes']} "
        f"| {run['peak'] / 1e6:,.0f} | {LIMIT / 1e6:,.0f} |\n"
    )
    calls = elsewhere("calls", given.calls)
    print(f"{given.calls} calls of `maximize` with two workers, {calls['minutes']} minutes:\n")
    print("| held | before | after |\n|---|--:|--:|")
    for name, before in calls["before"].items():
        print(f"| {name} | {before} | {calls['after'][name]} |")
    print(f"\nThe peak of memory grew by {calls['grown'] / 1e6:.1f} MB meanwhile.")
    return int(run["peak"] > LIMIT or not run["done"] or calls["before"] != calls["after"])


if __name__ == "__main__":
    sys.exit(main())
