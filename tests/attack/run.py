"""Attack daedal from outside, and say what was tried and what failed.

    python tests/attack/run.py                                     # all of it
    python tests/attack/run.py --quick                             # what `make test` does
    python tests/attack/run.py --only commands --case 1234 --seed 7  # one case again

Cases are drawn from the seed and their number. Exit code 1 where anything failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

import sandbox
from crew import make_all
from parts import PARTS
from process_helpers import MARK, marked
from processes import adopt_orphans, clear_away
from rich.console import Console
from rich.table import Table

Reports = list[dict[str, Any]]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(PARTS), help="a part; repeat it")
    parser.add_argument("--case", action="append", type=int, help="the number of a case of that part; repeat it")
    parser.add_argument("--cases", type=int, help="make so many cases of each part")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--quick", action="store_true", help="the small size")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", action="store_true", help="print every failure as JSON")
    parser.add_argument("--show", type=int, default=10, help="failures of each part to show")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def orders_of(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Give the cases to make, part by part."""
    found = []
    for name in given.only or PARTS:
        part = PARTS[name]
        count = given.cases if given.cases is not None else part.quick if given.quick else part.full
        found += [{"part": name, "seed": given.seed, "index": index} for index in given.case or range(count)]
    return found


def inside(given: argparse.Namespace) -> None:
    """Make the attacks; what came of them goes to standard output as JSON."""
    adopt_orphans()
    sandbox.furnish(given.inside)
    reports: Reports = []
    orders = orders_of(given)
    left = Counter(order["part"] for order in orders)

    def done(report: dict[str, Any]) -> None:
        reports.append(report)
        part = report["part"]
        left[part] -= 1
        if left[part] == 0:
            mine = [one for one in reports if one["part"] == part]
            failed = sum(bool(one["problems"]) for one in mine)
            print(f"{part}: {len(mine):,} tried, {failed:,} failed", file=sys.stderr, flush=True)

    until = time.monotonic() + 60 * given.minutes
    make_all(orders, given.inside, workers=given.workers, until=until, done=done)
    print(json.dumps({"reports": reports, "left": clear_away()}))


def outside(given: argparse.Namespace) -> int:
    """Have the attacks made in a sandbox; show what came of them, and what has changed around it."""
    sandbox.warm_up()
    mark, isolates = uuid.uuid4().hex, sandbox.can_isolate()
    root = Path(tempfile.mkdtemp(prefix="daedal-attack-"))
    around = sandbox.Outside(root, isolates=isolates)
    command = [sys.executable, __file__, *sys.argv[1:], "--inside", str(root)]
    own = {MARK: mark} | ({"DAEDAL_ATTACK_ISOLATED": "1"} if isolates else {})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started, cpu = time.monotonic(), os.times()
    process = subprocess.Popen(
        sandbox.isolated(command) if isolates else command, env=os.environ | own, stdout=subprocess.PIPE, text=True
    )
    try:
        out = _output(process)
    finally:
        process.kill()
        process.wait()
    shutil.rmtree(root)
    found = json.loads(out)
    spent = os.times()
    facts = {
        "files changed outside": around.changes(),
        "processes left": found["left"] + marked(mark),
        "isolated": isolates,
        "minutes": (time.monotonic() - started) / 60,
        "CPU minutes": (spent.children_user + spent.children_system - cpu.children_user - cpu.children_system) / 60,
    }
    return show(found["reports"], facts, given)


def _output(process: subprocess.Popen[str]) -> str:
    """Wait for the end; Ctrl-C ends the attacks, and what they found until then is shown."""
    while True:
        try:
            return process.communicate()[0]
        except KeyboardInterrupt:
            continue


def show(reports: Reports, facts: dict[str, Any], given: argparse.Namespace) -> int:
    """Print the table, and each failure with the command that makes it again."""
    failures = [report | {"again": _again(report)} for report in reports if report["problems"]]
    bad = bool(failures or facts["files changed outside"] or facts["processes left"])
    if given.json:
        tried, seconds = Counter(report["part"] for report in reports), Counter[str]()
        for report in reports:
            seconds[report["part"]] += report["seconds"]
        print(json.dumps({"tried": tried, "seconds": seconds, "failures": failures, **facts}))
        return int(bad)
    rows = [_row(name, reports) for name in given.only or PARTS]
    rows.append(("all", "", *(sum(int(row[at]) for row in rows) for at in (2, 3)), ""))
    _print_table(rows, markdown=given.markdown)
    where = "in namespaces of its own" if facts["isolated"] else "in a folder of its own (not root: no namespaces)"
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(
        f"\nseed {given.seed}, {where}, {given.workers} workers, {facts['minutes']:.1f} minutes, "
        f"{facts['CPU minutes']:.1f} of CPU, load {load}; "
        f"processes left: {len(facts['processes left'])}; files changed outside: {len(facts['files changed outside'])}"
    )
    for line in (*facts["processes left"], *facts["files changed outside"]):
        print(f"    {line}")
    for name in dict.fromkeys(report["part"] for report in failures):
        _print_failures([report for report in failures if report["part"] == name], given.show)
    return int(bad)


def _row(name: str, reports: Reports) -> tuple[Any, ...]:
    mine = [report for report in reports if report["part"] == name]
    failed = sum(bool(report["problems"]) for report in mine)
    longest = max((report["seconds"] for report in mine), default=0.0)
    return name, PARTS[name].says, len(mine), failed, f"{longest:.1f}"


def _print_table(rows: list[tuple[Any, ...]], *, markdown: bool) -> None:
    heads = ("part", "what was tried", "cases", "failed", "longest, s")
    if markdown:
        for row in (heads, ("---", "---", "--:", "--:", "--:"), *rows):
            print("| " + " | ".join(f"{one:,}" if isinstance(one, int) else one for one in row) + " |")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="left" if head in heads[:2] else "right")
    for row in rows:
        table.add_row(*(f"{one:,}" if isinstance(one, int) else one for one in row))
    Console(highlight=False).print(table)


def _again(report: dict[str, Any]) -> str:
    return f"python tests/attack/run.py --seed {report['seed']} --only {report['part']} --case {report['index']}"


def _print_failures(failures: Reports, most: int) -> None:
    for report in failures[:most]:
        print(f"\n{report['part']} {report['index']}: {report['what']}")
        for problem in report["problems"]:
            print(f"    {problem}")
        print(f"    {report['again']}")
    if len(failures) > most:
        print(f"\nand {len(failures) - most:,} others of {failures[0]['part']}; --show shows more")


if __name__ == "__main__":
    arguments = read_arguments()
    if arguments.inside is not None:
        inside(arguments)
    else:
        sys.exit(outside(arguments))
