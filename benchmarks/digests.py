"""Results to the bit: digests of many small runs, to compare two versions of daedal, or two machines.

    python benchmarks/digests.py --write digests.json     # with the old version
    python benchmarks/digests.py --check digests.json     # with the new one

The committed benchmarks/digests.json was written by the version before the code was laid out anew. Another processor
may give other last digits (its vector units add in another order); there, write the file with the old version first:

    git worktree add /tmp/old COMMIT
    PYTHONPATH=/tmp/old/src python benchmarks/digests.py --write /tmp/old.json
    python benchmarks/digests.py --check /tmp/old.json

What is dae-2016 was called dae when the file was written. The runs "cut" by max_evaluations of dae-2016, dae-2015,
tree, pbil and rbm were written anew when rows that are known became free: four of them meet such rows, and rbm draws
its last batch in full before it is cut.

Each digest is of x, fitness, evaluations, evaluations_to_best, generations, the stop and the whole history, model's
information included; times are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import daedal

ALGORITHMS = ("dae-2016", "dae-2015", "rbm", "boa", "hboa", "ecga", "tree", "pbil", "umda")
PROBLEMS = ("onemax:n=30", "trap:k=4,n=20", "hiff:n=32", "nk:n=20,k=3,seed=1", "own")
SEEDS = (0, 1, 2)
SIZE = {"popsize": 120, "max_generations": 6}


def own(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give a function of a user's own: weights that may be negative, and a bonus for neighbours that differ."""
    weights = np.sin(np.arange(1, x.shape[1] + 1))
    # Not `@`: BLAS may round a row differently in another batch, and workers get other batches.
    return ((2 * x - 1) * weights).sum(axis=1) + 0.25 * (x[:, 1:] != x[:, :-1]).sum(axis=1)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every run: its name, and what `run` takes."""
    for algorithm in ALGORITHMS:
        for problem in PROBLEMS:
            for seed in SEEDS:
                yield f"{algorithm} {problem} seed {seed}", {"algorithm": algorithm, "problem": problem, "seed": seed}
            how = {"algorithm": algorithm, "problem": problem, "seed": 0, "workers": 2}
            yield f"{algorithm} {problem} seed 0 workers 2", how
        for name, options in OPTIONS.items():
            how = {"algorithm": algorithm, "problem": "trap:k=4,n=20", "seed": 7, **options}
            yield f"{algorithm} trap:k=4,n=20 seed 7 {name}", how


OPTIONS: dict[str, dict[str, Any]] = {
    "minimize": {"minimize": True},
    "truncation": {"selection": "truncation"},
    "rtr": {"replacement": "rtr"},
    "in order": {"shuffle": False},
    "repeated": {"deduplicate": False},
    "initial": {"initial": np.eye(20, dtype=np.uint8)},
    "cut": {"max_evaluations": 333},
    "default size": {"popsize": None, "max_generations": 1},
}


def run(algorithm: str, problem: str, *, minimize: bool = False, **options: Any) -> daedal.Result:
    objective, n = (own, 24) if problem == "own" else (problem, None)
    optimise = daedal.minimize if minimize else daedal.maximize
    return optimise(objective, n, algorithm=algorithm, **SIZE | options)


def digest(result: daedal.Result) -> str:
    """Give the digest of all that a result tells, but for the clocks; floats to their last bit."""
    history = [
        [one.generation, one.evaluations, one.best.hex(), one.mean.hex(), _told(one.info)] for one in result.history
    ]
    told = [result.x.tolist(), float(result.fitness).hex(), result.evaluations, result.evaluations_to_best]
    evaluated = getattr(result, "evaluated", None)  # which older versions call carried_out
    told += [result.generations, result.stop.value, result.carried_out if evaluated is None else evaluated]
    told += [result.cached, history]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _told(info: Any) -> list[list[str]]:
    return sorted([name, float(value).hex()] for name, value in info.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", type=Path)
    what.add_argument("--check", type=Path)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    words = parser.parse_args()
    found = {}
    for name, how in cases():
        if words.only in name:
            found[name] = digest(run(**how))
    if words.write:
        words.write.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{len(found)} digests written to {words.write}")
        return 0
    known = json.loads((words.check or Path(__file__).with_name("digests.json")).read_text(encoding="utf-8"))
    other = [name for name, value in found.items() if known.get(name) != value]
    print(f"{len(found) - len(other)} of {len(found)} runs are the same to the bit")
    for name in other:
        print(f"differs: {name}")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
