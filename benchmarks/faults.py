"""A long run under faults: workers killed every few seconds, full disks, the parent killed and resumed.

    python benchmarks/faults.py                  # an hour
    python benchmarks/faults.py --minutes 2      # to try it

It has to end with the same bits as the undisturbed run of the same seed. Prints a report as Markdown; exit code 1 where
the two differ. The objective sleeps, so that the run takes as long as it should; that of the undisturbed run does not.
For root on Linux the checkpoint is on a small disk of its own; for others a limit on the size of files fills it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

N, WORKERS, PAUSE = 60, 2, 0.05
ROWS_A_SECOND = 27
"""Measured under faults; batches are too small here to keep two workers busy all the time."""

DISK = 64 * 2**20
KILL_WORKER, KILL_PARENT, FILL_DISK, END_PARENT = "worker killed", "parent killed", "disk full", "parent told to end"
SECONDS_BETWEEN = {KILL_WORKER: 5.0, KILL_PARENT: 90.0, FILL_DISK: 70.0, END_PARENT: 110.0}
"""On average; the more seldom ones come at least once, however short the run."""

OBJECTIVE = """\
import os, time
import numpy as np

WEIGHTS = np.random.default_rng(0).normal(size=({n}, 8))
PAUSE = float(os.environ.get("PAUSE", 0))

def f(row):
    time.sleep(PAUSE)
    return float(np.round(np.cos(row @ WEIGHTS).sum(), 9))
"""


class Run:
    """A run of the command line, begun or gone on with."""

    def __init__(self, folder: Path, budget: int, pause: float) -> None:
        self.folder = folder
        self.checkpoint = folder / "disk" / "run.ckpt"
        command = [sys.executable, "-m", "daedal"]
        how = ["--json", "--history", "--workers", str(WORKERS if pause else 1), "--every", "2s"]
        anew = ["solve", "slow.py:f", "--by-row", "--n", str(N), "--seed", "1", "--max-evaluations", str(budget)]
        anew += ["--on-error", "retry:9", "--checkpoint", str(self.checkpoint)]
        again = ["resume", str(self.checkpoint), "slow.py:f"]
        self.resumed = self.checkpoint.exists()
        self.out = (folder / "out.json").open("w+")
        environment = os.environ | {"PAUSE": str(pause)}
        self.process = subprocess.Popen(
            [*command, *(again if self.resumed else anew), *how],
            cwd=folder, env=environment, stdout=self.out, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def workers(self) -> list[int]:
        """Give the processes that evaluate: children that are Python, as the guard of process groups is not."""
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            return [int(pid) for pid in children if b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return []  # one of them has just ended

    def report(self) -> dict[str, Any]:
        """Wait for the end, and give what was reported, without what the clock says."""
        _, err = self.process.communicate()
        if self.process.returncode:
            raise SystemExit(f"exit code {self.process.returncode}: {err}")
        self.out.seek(0)
        return timeless(json.load(self.out))


def timeless(report: Any) -> Any:
    if isinstance(report, dict):
        return {name: timeless(value) for name, value in report.items() if "seconds" not in name}
    return [timeless(one) for one in report] if isinstance(report, list) else report


class Faults:
    """What goes wrong, and when."""

    def __init__(self, folder: Path, seconds: float, *, own_disk: bool) -> None:
        self.rng = random.Random(1)
        self.filler = folder / "disk" / "filler"
        self.own_disk = own_disk
        self.counts: Counter[str] = Counter()
        self.due = {kind: min(self._soon(kind), seconds * 0.3) for kind in SECONDS_BETWEEN}

    def _soon(self, kind: str) -> float:
        return self.rng.uniform(0.5, 1.5) * SECONDS_BETWEEN[kind]

    def strike(self, run: Run, now: float) -> None:
        """Do what is due; nothing to a run that has not begun to evaluate."""
        if not run.workers():
            return
        for kind in [kind for kind, at in self.due.items() if at <= now]:
            if run.process.poll() is not None:
                return
            self.due[kind] = now + self._soon(kind)
            self.counts[kind] += 1
            if kind == KILL_WORKER:
                with contextlib.suppress(ProcessLookupError, IndexError):
                    os.kill(self.rng.choice(run.workers()), signal.SIGKILL)
            elif kind == FILL_DISK:
                self._fill(run)
            else:
                run.process.send_signal(signal.SIGKILL if kind == KILL_PARENT else signal.SIGTERM)

    def _fill(self, run: Run) -> None:
        if self.own_disk:
            about = os.statvfs(self.filler.parent)
            room = self.rng.randrange(20_000)
            with contextlib.suppress(OSError):  # it may be full already
                self.filler.write_bytes(bytes(max(0, about.f_bavail * about.f_frsize - room)))
        else:
            limit = self.rng.randrange(20_000)
            resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def make_room(self) -> None:
        """Give the disk back what was taken, and what a command that was killed left of a checkpoint half written."""
        self.filler.unlink(missing_ok=True)
        for left in self.filler.parent.glob(".run.ckpt.*"):
            left.unlink()


def disturbed(
    folder: Path, budget: int, seconds: float, *, own_disk: bool
) -> tuple[dict[str, Any], Faults, Counter[str]]:
    """Run to the end in as many processes as it takes."""
    faults, endings = Faults(folder, seconds, own_disk=own_disk), Counter[str]()
    started = time.monotonic()
    while True:
        run = Run(folder, budget, PAUSE)
        endings["resumed"] += run.resumed
        while run.process.poll() is None:
            faults.strike(run, time.monotonic() - started)
            time.sleep(0.1)
        code = run.process.returncode
        if code == 0:
            return run.report(), faults, endings
        _, err = run.process.communicate()
        last = err.strip().splitlines()[-1:]
        print(f"{time.monotonic() - started:8.0f} s: exit code {code} {last}", file=sys.stderr, flush=True)
        if code not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM, 2) or "Traceback" in err:
            raise SystemExit(f"ended with exit code {code}: {err}")
        endings[f"exit code {code}"] += 1
        faults.make_room()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    own_disk = os.geteuid() == 0 and sys.platform == "linux"
    if own_disk and "OWN_MOUNTS" not in os.environ:
        return subprocess.call(["unshare", "--mount", sys.executable, *sys.argv], env=os.environ | {"OWN_MOUNTS": "1"})
    seconds = 60 * given.minutes
    budget = int(seconds * ROWS_A_SECOND)
    with tempfile.TemporaryDirectory() as name:
        quiet, loud = Path(name) / "quiet", Path(name) / "loud"
        for folder in (quiet, loud):
            (folder / "disk").mkdir(parents=True)
            (folder / "slow.py").write_text(OBJECTIVE.format(n=N))
        expected = Run(quiet, budget, 0.0).report()
        if own_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "disk", loud / "disk"], check=True)
        started = time.monotonic()
        try:
            came, faults, endings = disturbed(loud, budget, seconds, own_disk=own_disk)
        finally:
            if own_disk:
                subprocess.run(["umount", "--lazy", loud / "disk"], check=True)
    return show(came, expected, faults, endings, time.monotonic() - started)


def show(came: dict[str, Any], expected: dict[str, Any], faults: Faults, endings: Counter[str], seconds: float) -> int:
    """Print the report."""
    odd = [name for name in sorted(came.keys() | expected.keys()) if came.get(name) != expected.get(name)]
    load = " ".join(f"{one:.2f}" for one in os.getloadavg())
    print(f"{seconds / 60:.1f} minutes, {WORKERS} workers, load {load}, Python {platform.python_version()}\n")
    print("| fault | times |\n|---|--:|")
    for kind in SECONDS_BETWEEN:
        print(f"| {kind} | {faults.counts[kind]:,} |")
    print("\n| what came of it | times |\n|---|--:|")
    for kind, times in sorted(endings.items()):
        print(f"| {kind} | {times:,} |")
    names = ("x", "fitness", "evaluations", "failed", "repeated", "batches", "generations")
    print("\n| | undisturbed | under faults |\n|---|---|---|")
    for name in names:
        print(f"| {name} | {expected.get(name)} | {came.get(name)} |")
    print(f"\nAll that both report, the history of {len(came['history']):,} generations included, is", end=" ")
    print("equal." if not odd else f"NOT equal: {', '.join(odd)} differ.")
    return int(bool(odd) or not all(faults.counts[kind] for kind in SECONDS_BETWEEN))  # a calm hour shows nothing


if __name__ == "__main__":
    sys.exit(main())
