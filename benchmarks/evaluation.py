"""What evaluating a batch costs beside the objective, and what importing daedal costs.

    python benchmarks/evaluation.py
    python benchmarks/evaluation.py --against path/to/other/src

Evaluation in this process of fresh rows with n = 60, nothing kept but the cache in memory. CPU time, minimum of
repeats, less that of the objective, which does nothing. Machines are noisy: the multiples, of one bare operation on the
same batch in the same run (`x.astype(np.int64)`) and of `import numpy`, are what to compare. The other checkout is
measured beside this one, with the interpreter of its own .venv if it has one; without one, "before" is what was
measured once, of the version before the rooms.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SIZES = (1, 16, 64, 1024)
PROCESSES = 7  # for each import
MODULES = ("daedal", "daedal.cli.app")
BEFORE: dict[str, Any] = {  # on an AMD EPYC, with Python 3.11, NumPy 2.4 and Numba 0.68
    "batches": {
        "1": [55.1, 0.388, 12.3],
        "16": [59.3, 0.652, 12.3],
        "64": [72.5, 1.218, 12.3],
        "1024": [348.3, 13.66, 12.3],
    },
    "imports": {"daedal": 4.79, "daedal.cli.app": 5.91},
}

BATCHES = """
import inspect, json, time
import numpy as np

try:
    from daedal.evaluation.caller import Caller
    from daedal.evaluation.evaluator import Evaluator
    from daedal.evaluation.signals import Interrupts
    make, hold = (lambda f: Evaluator(Caller(f), n=60)), Interrupts().hold
except ImportError:
    from daedal.evaluation import Evaluator as make
    from daedal.interrupts import interrupts_held as hold

def cost(work, batches):
    started = time.process_time_ns()
    for x in batches:
        work(x)
    return (time.process_time_ns() - started) / len(batches) / 1000

def held(x):
    with hold():
        pass

rng = np.random.default_rng(0)
found = {}
for rows in SIZES:
    zeros = np.zeros(rows)
    f = lambda x: zeros
    best = dict.fromkeys(("evaluator", "objective", "astype", "hold"), float("inf"))
    for _ in range(25):
        batches = [rng.integers(0, 2, (rows, 60), dtype=np.uint8) for _ in range(50)]
        works = {"evaluator": make(f), "objective": f, "astype": lambda x: x.astype(np.int64), "hold": held}
        best = {name: min(best[name], cost(work, batches)) for name, work in works.items()}
    found[rows] = [best["evaluator"] - best["objective"], best["astype"], best["hold"]]
print(json.dumps(found))
"""
IMPORT = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def measure(source: Path) -> dict[str, Any]:
    """Measure a checkout: by rows the microseconds of a batch, of the bare operation and of a held block; imports."""
    own = source.parent / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    variables = os.environ | {"PYTHONPATH": str(source)}

    def run(code: str) -> Any:
        done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    run(f"import {MODULES[-1]}; print(0)")  # writes what is compiled from sources
    batches = run(f"SIZES = {SIZES}\n{BATCHES}")
    seconds = {name: min(run(IMPORT.format(name)) for _ in range(PROCESSES)) for name in ("numpy", *MODULES)}
    return {"batches": batches, "imports": {name: seconds[name] / seconds["numpy"] for name in MODULES}}


def report(before: dict[str, Any], after: dict[str, Any]) -> None:
    print("| rows | before, µs | after, µs | before, x.astype | after, x.astype |")
    print("|---|---|---|---|---|")
    for rows in map(str, SIZES):
        (old, old_bare, _), (new, new_bare, _) = before["batches"][rows], after["batches"][rows]
        print(f"| {int(rows):,} | {old:.1f} | {new:.1f} | {old / old_bare:.1f} | {new / new_bare:.1f} |")
    for name, place in (("fixed", 0), ("a row", 1)):
        print(f"| {name} | {line(before)[place]:.2f} | {line(after)[place]:.2f} | | |")
    held = [min(batch[2] for batch in one["batches"].values()) for one in (before, after)]
    print(f"| Ctrl-C held back, a block | {held[0]:.2f} | {held[1]:.2f} | | |")
    print("\n| import | before, import numpy | after, import numpy |\n|---|---|---|")
    for name in MODULES:
        print(f"| {name} | {before['imports'][name]:.2f} | {after['imports'][name]:.2f} |")


def line(measured: dict[str, Any]) -> tuple[float, float]:
    """Give the fixed cost and that of a row: the line through the smallest batch and the largest."""
    first, last = (measured["batches"][str(rows)][0] for rows in (SIZES[0], SIZES[-1]))
    a_row = (last - first) / (SIZES[-1] - SIZES[0])
    return first - a_row * SIZES[0], a_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="SRC", help="the src folder of another checkout")
    against = parser.parse_args().against
    before = BEFORE if against is None else measure(against.resolve())
    report(before, measure(Path(__file__).resolve().parents[1] / "src"))


if __name__ == "__main__":
    main()
