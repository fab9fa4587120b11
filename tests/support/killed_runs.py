"""A program that kills the runs of every algorithm with SIGKILL, again and again, and lets them go on; prints JSON.

    python killed_runs.py FOLDER

One process has all kernels ready, and its forks are killed: no time is lost with starting Python.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from daedal.run.checkpoint import load_checkpoint
from run_helpers import OWN_ALGORITHM, PAUSE, told

import daedal

KILLS = 5
N = 20
MOMENTS = ["in a call", "in the callback", "while it writes", "from outside", "from outside"]
DOUBLED = "hboa, doubled"
UNSIZED = ("auto", "ils", "mix", "neural-mix")
CACHED = ", cached"
ALGORITHMS = [*sorted(daedal.algorithms()), OWN_ALGORITHM, DOUBLED, *(f"{name}{CACHED}" for name in (*UNSIZED, "umda"))]


class Killed:
    """An objective, and all else in a run where the process may be killed: from the n-th call on, at some moment."""

    def __init__(self, moment: str = "", at: int = 0, steps: int = 0) -> None:
        self.moment = moment
        self.at = at
        self.steps = steps  # of writing that it survives, or calls after which it waits for the end
        self.counted = mmap.mmap(-1, 8)  # shared with the parent, who kills from outside

    @property
    def calls(self) -> int:
        return int.from_bytes(self.counted[:8], "little")

    def __call__(self, row: Any) -> float:
        self.counted[:8] = (self.calls + 1).to_bytes(8, "little")
        self._now("in a call")
        if self.calls == self.at - 3:
            time.sleep(PAUSE)  # so that what came is noted, and kept, in the middle of a batch
        while self.moment == "from outside" and self.calls >= self.at + self.steps:
            time.sleep(1)
        return float((row * np.sqrt(np.arange(1, N + 1))).sum() % 5)

    def callback(self, record: daedal.Generation) -> None:
        self._now("in the callback")

    def watch_writing(self) -> None:
        """Come between any two steps of a checkpoint's way to the disk."""
        for name in ("fsync", "link", "replace"):
            setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*words: Any, **named: Any) -> Any:
            self.steps -= self.calls >= self.at
            if self.steps < 0:
                self._now("while it writes")
            return real(*words, **named)

        return step

    def _now(self, moment: str) -> None:
        if moment == self.moment and self.calls >= self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def run(name: str, killed: Killed, /, **how: Any) -> daedal.Result:
    """Run from the beginning, with few rows a generation."""
    name = name.removesuffix(CACHED)
    sizes: dict[str, dict[str, Any]] = {
        OWN_ALGORITHM: {"flips": 0.3, "max_evaluations": 400},
        DOUBLED: {"popsize": "auto", "max_evaluations": 400},
    }
    size = sizes.get(name, {"popsize": 40, "max_generations": 20})
    if name in UNSIZED:
        size = {"max_evaluations": 400}
    return daedal.maximize(killed, N, vectorized=False, algorithm=algorithm(name), seed=11, **size, **how)


def algorithm(name: str) -> str:
    return "hboa" if name == DOUBLED else name.removesuffix(CACHED)


def with_cache(path: Path) -> dict[str, Any]:
    """Let a run that begins have a cache, which is empty: what a run that has no checkpoint put there is another's."""
    cache = path.with_suffix(".db")
    for end in ("", "-wal", "-shm"):
        cache.with_name(f"{cache.name}{end}").unlink(missing_ok=True)
    return {"cache": cache, "name": "killed"}


def run_or_resume(name: str, path: Path, killed: Killed, every: str | int) -> daedal.Result:
    if killed.moment == "while it writes":
        killed.watch_writing()
    how: dict[str, Any] = {"every": every, "callback": killed.callback}
    if path.exists():
        return daedal.resume(path, killed, algorithm=algorithm(name), **how)
    return run(name, killed, checkpoint=path, **how, **(with_cache(path) if name.endswith(CACHED) else {}))


def in_a_child(work: Callable[[], object], kill_when: Callable[[], bool] | None = None) -> int:
    """Do something in a fork of this process; give how it ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  it must not go on as the parent does
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if kill_when is not None:
        while not kill_when():
            ended, how = os.waitpid(child, os.WNOHANG)
            if ended:  # too early
                return how
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def evaluated(path: Path) -> int:
    """Give the rows that a checkpoint has."""
    if not path.exists():
        return 0
    state = load_checkpoint(path).part("evaluator")
    return state.whole("evaluated") + len(state.arrays.get("partial", ()))


def uncalled(path: Path) -> int:
    """Give the rows that the run which goes on need not call for: those of the checkpoint, or more in the cache."""
    cache = path.with_suffix(".db")
    if not path.exists() or not cache.exists():
        return evaluated(path)
    with closing(sqlite3.connect(cache)) as connection:
        return int(connection.execute("SELECT count(*) FROM evaluation").fetchone()[0])


def killed_and_resumed(name: str, path: Path, rng: random.Random) -> dict[str, Any]:
    """Run an algorithm to its end in as many processes as it takes."""
    expected = run(name, Killed())
    last = expected.evaluations - 20  # so that no run is over before it was killed
    moments = rng.sample(MOMENTS, KILLS)
    endings, stood = [], []
    for moment, at in zip(moments, sorted(rng.sample(range(1, last), KILLS)), strict=True):
        stood.append(evaluated(path))
        killed = Killed(moment, max(0, at - uncalled(path)), rng.randrange(4))
        every = 1 if moment == "while it writes" else rng.choice([1, "0.01s", "0.03s"])
        work = functools.partial(run_or_resume, name, path, killed, every)
        reached = functools.partial(lambda killed: killed.calls >= killed.at, killed)
        endings.append(in_a_child(work, reached if moment == "from outside" else None))
    answer = path.with_suffix(".json")
    endings.append(in_a_child(lambda: answer.write_text(as_json(run_or_resume(name, path, Killed(), 3)))))
    return {
        "expected": json.loads(as_json(expected)),
        "evaluated": expected.evaluations,
        "endings": endings,
        "stood": stood,
        "came": json.loads(answer.read_text()),
    }


def as_json(result: daedal.Result) -> str:
    return json.dumps(told(result), default=str)


if __name__ == "__main__":
    folder, rng = Path(sys.argv[1]), random.Random(2024)
    report = [killed_and_resumed(name, folder / f"{number}.ckpt", rng) for number, name in enumerate(ALGORITHMS)]
    print(json.dumps(dict(zip(ALGORITHMS, report, strict=True))))
