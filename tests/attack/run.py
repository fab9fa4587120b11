"""Attack daedal from outside: strange values, damaged files, dying workers, full disks, signals at any moment.

    python tests/attack/run.py                                       # all of it, about an hour
    python tests/attack/run.py --quick                               # what `make test` runs
    python tests/attack/run.py --only commands --case 1234 --seed 7  # one case again

Each case is drawn from the seed and its number. The exit code is 1 if any case failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

import cases
import sandbox
from process_helpers import MARK, marked
from processes import adopt_orphans, clear_away

PARTS = ("commands", "settings", "files", "objectives", "signals", "disks", "pairs")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=PARTS, help="part to run; can be repeated")
    parser.add_argument("--case", action="append", type=int, help="number of a case of that part; can be repeated")
    parser.add_argument("--cases", type=int, help="number of cases of each part")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no case after this time")
    parser.add_argument("--quick", action="store_true", help="run few cases of each part")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def inside(given: argparse.Namespace) -> None:
    """Run the cases, and print what came of them as JSON."""
    adopt_orphans()
    sandbox.furnish(given.inside)
    parts = cases.load_parts(given.only or PARTS)
    orders = []
    for name, part in parts.items():
        count = given.cases if given.cases is not None else part.quick if given.quick else part.full
        orders += [(name, given.seed, index) for index in given.case or range(count)]
    until = time.monotonic() + 60 * given.minutes
    reports = []
    for report in cases.run_all(parts, orders, given.inside, workers=given.workers, until=until):
        reports.append(report)
        if report["problems"]:
            print(shown(report), file=sys.stderr, flush=True)
    print(json.dumps({"reports": reports, "processes left": clear_away()}))


def shown(report: dict[str, Any]) -> str:
    again = f"python tests/attack/run.py --seed {report['seed']} --only {report['part']} --case {report['index']}"
    return "\n    ".join([f"{report['part']} {report['index']}: {report['what']}", *report["problems"], again])


def outside(given: argparse.Namespace) -> int:
    """Let the cases run in a sandbox, and print a table of what came of them."""
    sandbox.warm_up()
    mark, isolates = uuid.uuid4().hex, sandbox.can_isolate()
    root = Path(tempfile.mkdtemp(prefix="daedal-attack-"))
    before, started = sandbox.repository_status(), time.monotonic()
    command = [sys.executable, "-W", "ignore", __file__, *sys.argv[1:], "--inside", str(root)]
    environment = sandbox.environment(root, isolates=isolates) | {MARK: mark}
    try:
        out = subprocess.run(
            sandbox.isolated(command) if isolates else command, env=environment, stdout=subprocess.PIPE, check=True
        ).stdout
    finally:
        shutil.rmtree(root)
    found = json.loads(out)
    found["processes left"] += marked(mark)
    found["files changed"] = sorted(sandbox.repository_status() ^ before)
    failures = [report for report in found["reports"] if report["problems"]]
    tried, failed = (Counter(report["part"] for report in some) for some in (found["reports"], failures))
    if given.json:
        print(json.dumps(found | {"tried": tried}))
    else:
        print(f"{'part':12}{'cases':>8}{'failed':>8}{'longest, s':>12}")
        for name in tried:
            longest = max(report["seconds"] for report in found["reports"] if report["part"] == name)
            print(f"{name:12}{tried[name]:8,}{failed[name]:8,}{longest:12.1f}")
        where = "in namespaces of its own" if isolates else "in a folder of its own, because this is not root on Linux"
        print(f"seed {given.seed}, {where}, {given.workers} workers, {(time.monotonic() - started) / 60:.1f} minutes")
        for what in ("processes left", "files changed"):
            print(f"{what}: {len(found[what])}", *found[what], sep="\n    ")
    return int(bool(failures or found["processes left"] or found["files changed"]))


if __name__ == "__main__":
    arguments = read_arguments()
    if arguments.inside is not None:
        inside(arguments)
    else:
        sys.exit(outside(arguments))
