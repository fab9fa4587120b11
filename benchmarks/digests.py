"""Digests of many small runs, to check that two versions of daedal give bit-for-bit identical results.

    python benchmarks/digests.py --check benchmarks/digests.json   # about two minutes

Each run of a population algorithm has a digest of its result: x, fitness, the number of evaluations, why the run
stopped, and the whole history with the model's figures. Times are left out. Each run without worker processes has a
second digest, under its name and ", candidates". It is the digest of the distinct candidates that the objective
received, in their order and with the bits in the objective's own order. Batch boundaries make no difference.

benchmarks/digests.json was written on an AMD EPYC. The runs without a network are those of commit 223fe27, the last one
with ask-and-tell optimizers; those of networks have been recorded again since networks are trained by NumPy alone.
Another processor may give other last digits, because its
vector units add numbers in another order. On such a machine, write a file with an older version first (`--write`), and
compare with that (`--check`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import daedal
from daedal.problems import HIFF, NK, OneMax, Trap

ALGORITHMS = ("dae-2015", "rbm", "boa", "hboa", "ecga", "tree", "pbil", "umda", "dae", "dae-search")
PROBLEMS = ("onemax:n=30", "trap:k=4,n=20", "hiff:n=32", "nk:n=20,k=3,seed=1", "own")
KINDS = {"onemax": OneMax, "trap": Trap, "hiff": HIFF, "nk": NK}
SEEDS = (0, 1, 2)
SIZE = {"popsize": 120, "max_generations": 6}
VARIABLES: dict[str, Any] = {"fast": daedal.Flag(), "threads": daedal.Integer(1, 11)}
VARIABLES |= {"kernel": daedal.Choice("a", "b", "c"), "jobs": daedal.Permutation(5)}
SPACE = daedal.Space(**VARIABLES, features=daedal.Subset(10, at_most=4))
START = {"fast": True, "threads": 3, "kernel": "b", "jobs": [4, 3, 2, 1, 0], "features": [0, 7]}


def own(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weighted sums of the bits, with a bonus for each pair of neighbors that differ."""
    weights = np.sin(np.arange(1, x.shape[1] + 1))
    # Not `@`: BLAS may round a row differently in another batch, and workers get other batches.
    return ((2 * x - 1) * weights).sum(axis=1) + 0.25 * (x[:, 1:] != x[:, :-1]).sum(axis=1)


def in_space(values: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return a function of all variables of SPACE, some of which interact."""
    jobs = (values["jobs"] * np.arange(5)).sum(axis=1) * (values["kernel"] == "b")
    features = (values["features"] * np.sin(np.arange(1, 11))).sum(axis=1)
    return values["threads"] * np.where(values["fast"], 0.5, 0.2) + jobs + 2 * features


def excess(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of ones above six."""
    return x.sum(axis=1) - 6


def pair(x: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the values of `own` and the violations of two constraints."""
    return own(x), np.stack([excess(x), 2 - x[:, :8].sum(axis=1)], axis=1)


def infinite(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values of `own`, but -inf for candidates with more than ten ones."""
    return np.where(x.sum(axis=1) > 10, -np.inf, own(x))


FUNCTIONS: dict[str, tuple[Any, Any]] = {"own": (own, 24), "own n=5": (own, 5), "space": (in_space, SPACE)}
FUNCTIONS |= {"pair": (pair, 24), "infinite": (infinite, 24)}
EYE = np.eye(20, dtype=np.uint8)
OPTIONS: dict[str, dict[str, Any]] = {
    "minimize": {"minimize": True},
    "truncation": {"selection": "truncation"},
    "rtr": {"replacement": "rtr"},
    "in order": {"shuffle": False},
    "repeated": {"deduplicate": False},
    "initial": {"initial": EYE},
    "cut": {"max_evaluations": 333},
    "default size": {"popsize": None, "max_generations": 1},
    "patience": {"patience": 1, "max_generations": 30},
    "target": {"target": 14, "max_generations": 30},
}
LATE = {"max_generations": 40}
AUTO = {"popsize": "auto", "max_generations": None, "max_evaluations": 3000}
MORE: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("umda boa dae", "space", "", {}),
    ("umda boa dae", "space", "minimize", {"minimize": True}),
    ("umda boa dae", "space", "initial", {"initial": START}),
    ("umda boa dae", "space", "workers 2", {"workers": 2}),
    ("umda hboa dae", "own", "constraints", {"constraints": [excess]}),
    ("umda hboa dae", "own", "constraints workers 2", {"constraints": [excess], "workers": 2}),
    ("umda hboa dae", "own", "never feasible", {"constraints": [excess, lambda x: 9 - x.sum(axis=1)]}),
    ("umda hboa dae", "pair", "", {"violations": True}),
    ("umda hboa dae", "pair", "minimize", {"minimize": True, "violations": True}),
    ("umda hboa dae", "infinite", "", {}),
    ("umda hboa", "hiff:n=32", "auto", AUTO),
    ("umda hboa", "own", "auto", AUTO),
    ("umda", "trap:k=4,n=20", "known", {"initial": (EYE, Trap(k=4, n=20).evaluate(EYE))}),
    ("umda", "own", "known", {"initial": (np.eye(24, dtype=np.uint8), own(np.eye(24, dtype=np.int64)))}),
    ("dae-2015 tree", "own", "cut late", LATE | {"max_evaluations": 500}),
    ("umda tree", "own", "converged", LATE),
    ("umda boa", "own n=5", "", LATE),
)


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each run and the arguments of `run`."""
    runs: list[tuple[str, str, int, str, dict[str, Any]]] = []
    for algorithm in ALGORITHMS:
        for problem in PROBLEMS:
            runs += [(algorithm, problem, seed, "", {}) for seed in SEEDS]
            runs.append((algorithm, problem, 0, "workers 2", {"workers": 2}))
        runs += [(algorithm, "trap:k=4,n=20", 7, name, options) for name, options in OPTIONS.items()]
    for algorithms, problem, name, options in MORE:
        runs += [(algorithm, problem, seed, name, options) for algorithm in algorithms.split() for seed in SEEDS]
    for algorithm, problem, seed, name, options in runs:
        how = {"algorithm": algorithm, "problem": problem, "seed": seed}
        yield f"{algorithm} {problem} seed {seed} {name}".rstrip(), how | options


def run(algorithm: str, problem: str, log: dict[bytes, None], minimize: bool = False, **options: Any) -> daedal.Result:
    """Run an algorithm on a problem; without worker processes, the log gets the candidates."""
    call = partial(daedal.minimize if minimize else daedal.maximize, algorithm=algorithm, **SIZE | options)
    objective, n = FUNCTIONS.get(problem, (problem, None))
    if "workers" in options:
        return call(objective, n)
    if problem in FUNCTIONS:
        return call(logged(objective, log), n)
    kind = KINDS[problem.partition(":")[0]]  # It is patched, because only a problem given by its name is shuffled.
    with mock.patch.object(kind, "evaluate", logged(kind.evaluate, log)):
        return call(objective, n)


def logged(function: Callable[..., Any], log: dict[bytes, None]) -> Callable[..., Any]:
    """Return a function, or a method, that logs the candidates that it receives."""

    def logging(*arguments: Any) -> Any:
        x = arguments[-1]
        if isinstance(x, dict):
            rows = zip(*(column.tolist() for column in x.values()), strict=True)
            log.update(dict.fromkeys(json.dumps(row).encode() for row in rows))
        # A row of zeros that comes first and alone is not logged: it only loads the kernels of a problem.
        elif log or len(x) > 1 or x.any():
            log.update(dict.fromkeys(row.tobytes() for row in x.astype(np.uint8)))
        return function(*arguments)

    return logging


def digest(result: daedal.Result) -> str:
    """Return the digest of a result without its times; floats count to their last bit."""
    history = [[one.generation, one.best.hex(), one.mean.hex(), _figures(one.info)] for one in result.history]
    told: list[Any] = [result.x.tolist(), float(result.fitness).hex(), result.evaluations]
    told += [result.generations, result.stop.value, history]
    told += [] if result.best is None else [result.best]
    told += [result.violation.hex()] if result.violation else []
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _figures(info: Any) -> list[list[str]]:
    return sorted([name, float(value).hex()] for name, value in info.items())


def main() -> int:
    """Write the digests, or compare them with those of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="Write the digests to this file instead of checking them.")
    parser.add_argument("--check", type=Path, default=Path(__file__).with_name("digests.json"), help="Expected values.")
    parser.add_argument("--only", default="", help="Run only the cases whose names contain this text. Default: all.")
    arguments = parser.parse_args()
    found: dict[str, str] = {}
    for name, how in cases():
        if arguments.only in name:
            log: dict[bytes, None] = {}
            found[name] = digest(run(log=log, **how))
            if "workers" not in how:
                found[f"{name}, candidates"] = hashlib.sha256(b"".join(log)).hexdigest()[:16]
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{len(found)} digests written to {arguments.write}")
        return 0
    known = json.loads(arguments.check.read_text(encoding="utf-8"))
    other = [f"differs: {name}" for name, value in found.items() if known.get(name) != value]
    print(f"{len(found) - len(other)} of {len(found)} digests are equal", *other, sep="\n")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
