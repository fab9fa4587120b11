"""Kill runs with SIGKILL at random moments, resume them, and compare with runs that were left alone.

    python benchmarks/kills.py               # 20 kills of each of nine kinds of runs: about 15 minutes
    python benchmarks/kills.py --kills 2     # to try it

A run is killed after a random number of evaluations, again and again, until it has been killed often enough and ends.
It has to end as the undisturbed run of the same seed, and must not make an evaluation again that was on disk. An
asynchronous run depends on the order in which values arrive, so there the evaluations on disk have to stay in their
order. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import daedal
from daedal.run.run_file import Key, read_run

FORK = multiprocessing.get_context("fork")  # a child has daedal loaded and compiled
SPACE = daedal.Space(size=daedal.Integer(1, 40), order=daedal.Permutation(6), kind=daedal.Choice(*"abcde"))
WEIGHTS = np.random.default_rng(0).normal(size=(60, 8))


class Kind(NamedTuple):
    """A kind of run: the worth of a candidate, and the keywords of `maximize`."""

    worth: Callable[[Any], Any]
    keywords: dict[str, Any]
    is_noisy: bool = False


def rugged(row: NDArray[np.int64]) -> float:
    """Return the value of a row of 60 bits."""
    return float(np.round(np.cos(row @ WEIGHTS).sum(), 9))


def constrained(row: NDArray[np.int64]) -> tuple[float, float]:
    """Return the value of a row, and by how much more than 25 of its bits are set."""
    return rugged(row), float(row.sum() - 25)


def design(values: dict[str, Any]) -> float:
    """Return the value of a candidate of the space."""
    moved = sum(abs(at - item) for at, item in enumerate(values["order"]))
    return float(np.cos(values["size"]) + moved + "abcde".index(values["kind"]) / 10)


async def climber(f: Any, *, n: int, rng: np.random.Generator) -> None:
    """Climb bit by bit from random candidates."""
    while True:
        (x,) = f.random(1, rng)
        (value,) = await f([x])
        for bit in rng.permutation(n).tolist():
            (tried,) = await f([x ^ (1 << bit)])
            x, value = (x ^ (1 << bit), tried) if tried > value else (x, value)


BITS = {"n": 60, "max_evaluations": 700}
KINDS = {
    "default": Kind(rugged, BITS),
    "dae": Kind(rugged, BITS | {"algorithm": "dae", "popsize": 200}),
    "boa": Kind(rugged, BITS | {"algorithm": "boa", "popsize": 200}),
    "own algorithm": Kind(rugged, BITS | {"algorithm": climber}),
    "space": Kind(design, {"n": SPACE, "max_evaluations": 400}),
    "constraints": Kind(constrained, BITS | {"violations": True}),
    "noise": Kind(rugged, BITS | {"noisy": True}, is_noisy=True),
    "two workers": Kind(rugged, BITS | {"workers": 2, "algorithm": "mix"}),
    "asynchronous": Kind(rugged, BITS | {"workers": 2, "algorithm": "mix", "asynchronous": True}),
}


class Objective:
    """An objective that sleeps, and logs what it is called for.

    Parameters
    ----------
    kind
        What it returns.
    log
        A file that gets one line per call.
    pause
        Seconds of a call.
    counts
        How often each candidate was evaluated before. Noise depends on that, so that it does not depend on kills.
    """

    def __init__(self, kind: Kind, log: Path, pause: float, counts: Counter[str]) -> None:
        self.kind, self.log, self.pause, self.counts = kind, log, pause, counts

    def __call__(self, candidate: Any) -> Any:
        name = named(candidate)
        with self.log.open("a") as log:
            log.write(name + "\n")
        time.sleep(self.pause)
        worth = self.kind.worth(candidate)
        if self.kind.is_noisy:
            self.counts[name] += 1
            seed = [self.counts[name], *name.encode()]
            worth += np.random.default_rng(seed).normal(scale=0.3)
        return worth


def named(candidate: Any) -> str:
    """Return the name of a candidate in the log: its bits, or its values."""
    if isinstance(candidate, dict):
        return " ".join(f"{key}={candidate[key]}" for key in sorted(candidate))
    return "".join(map(str, candidate))


def name_of_key(key: Key) -> str:
    """Return the name in the log of a candidate of a run file."""
    if isinstance(key, str):
        return named(json.loads(key))
    return "".join(map(str, np.unpackbits(np.frombuffer(key, np.uint8), count=60, bitorder="little")))


def on_disk(path: Path) -> list[str]:
    """Return the candidates of the evaluations in a run file, in their order."""
    if not path.exists():
        return []
    try:
        file = read_run(path)
    except ValueError:  # it was killed before the run was described
        return []
    with file:
        return [name_of_key(evaluation.key) for evaluation in file.evaluations() if not evaluation.known]


def run(kind: Kind, path: Path, log: Path, pause: float) -> dict[str, Any]:
    """Begin or continue a run, and return what it found."""
    objective = Objective(kind, log, pause, Counter(on_disk(path)))
    result = daedal.maximize(objective, run=path, seed=5, vectorized=False, **kind.keywords)
    return {
        "x": "".join(map(str, result.x)),
        "value": result.fitness,
        "evaluations": result.evaluations,
        "batches": result.batches,
        "generations": result.generations,
        "repeated": result.repeated,
    }


def in_child(kind: Kind, path: Path, log: Path, pause: float, pipe: Any) -> None:
    """Run in a process of its own, and send the result."""
    warnings.simplefilter("ignore")
    pipe.send(run(kind, path, log, pause))


def lines(log: Path) -> list[str]:
    """Return the calls in a log."""
    return log.read_text().splitlines() if log.exists() else []


def killed(
    kind: Kind, folder: Path, kills: int, whole: list[str], rng: random.Random
) -> tuple[dict[str, Any], list[str]]:
    """Run with so many kills; return the result of the last part, and what went wrong with the evaluations."""
    path, faults, hits, total = folder / "run.db", [], [], Counter(whole)
    is_ordered = not kind.keywords.get("asynchronous")
    part = 0
    while True:
        part += 1
        log, known = folder / f"{part}.log", on_disk(path)
        receiver, sender = FORK.Pipe(duplex=False)
        child = FORK.Process(target=in_child, args=(kind, path, log, 0.003, sender))
        child.start()
        sender.close()
        if kills:
            # Wait for progress, not for time: start-up takes longer on a busy machine.
            after = rng.randint(1, max(2, (len(whole) - len(known)) * 2 // (kills + 1)))
            while len(lines(log)) < after and child.is_alive():
                time.sleep(0.002)
        if kills and child.is_alive():
            os.kill(child.pid or 0, signal.SIGKILL)
            child.join()
            kills -= 1
            hits.append(len(known))
            wait_for_workers(log)
        else:
            result = receiver.recv()
            child.join()
        called = Counter(lines(log))
        again = Counter(known) + called - (total if is_ordered else Counter(set(known) | set(called)))
        if again:
            faults.append(f"part {part} made {again.total()} evaluations again")
        if not is_ordered and on_disk(path)[: len(known)] != known:
            faults.append(f"part {part} changed the order of evaluations on disk")
        if child.exitcode == 0:
            if kills:  # it ended before it was killed often enough: once more from the start
                path.unlink()
                continue
            print(f"    evaluations on disk when it was resumed: {[*hits[1:], len(known)]}", file=sys.stderr)
            return result, faults


def wait_for_workers(log: Path) -> None:
    """Wait until no worker that outlived its parent writes into a log."""
    before = -1
    while before != (size := log.stat().st_size if log.exists() else 0):
        before = size
        time.sleep(0.05)


def compare(kind: Kind, folder: Path, kills: int, seed: int) -> list[str]:
    """Return how the killed run differs from the undisturbed one."""
    for name in ("alone", "killed"):
        (folder / name).mkdir(parents=True)
    pause = 0.003 if kind.keywords.get("asynchronous") else 0.0
    expected = run(kind, folder / "alone" / "run.db", folder / "alone" / "log", pause)
    whole = on_disk(folder / "alone" / "run.db")
    came, faults = killed(kind, folder / "killed", kills, whole, random.Random(seed))
    last = on_disk(folder / "killed" / "run.db")
    if kind.keywords.get("asynchronous"):
        again = run(kind, folder / "killed" / "run.db", folder / "again", pause)
        del again["batches"], came["batches"]  # how values were fetched, which is not recorded
        if again != came or lines(folder / "again"):
            faults.append(f"the replay of the finished run is {again} instead of {came}")
        if came["evaluations"] != expected["evaluations"]:
            faults.append(f"{came['evaluations']} evaluations instead of {expected['evaluations']}")
        return faults
    for name, value in came.items():
        if value != expected[name]:
            faults.append(f"{name} is {value!r} instead of {expected[name]!r}")
    if last != whole:
        faults.append("the evaluations on disk differ")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="of each kind of run")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    differing = 0
    print("| run | kills | resumed run |\n|---|--:|---|")
    for name in given.kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            left, faults, part = given.kills, [], 0
            while left > 0:  # five kills of each run
                kills = min(5, left)
                faults += compare(KINDS[name], Path(folder, str(part)), kills, given.seed * 1000 + part)
                left, part = left - kills, part + 1
        differing += bool(faults)
        print(f"| {name} | {given.kills} | {'; '.join(faults) or 'the same'} |", flush=True)
    print(f"\n{differing} of {len(given.kinds.split(','))} kinds differ.")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
