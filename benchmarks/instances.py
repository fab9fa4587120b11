"""Functions to compare optimizers on: by name, with their optimum where it is known.

    make("trap:k=5,n=50")        make("nk:n=60,k=3", 7)        make("spin_64_0")

The second argument is the number of the instance, for families that are drawn at random. `sd=2` in a name adds noise
of that standard deviation, which the counting wrapper draws. Files are those of $DAEDAL_DATA (default ../shared/data).
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from daedal.problems import LABS, NK, QUBO, Knapsack, MaxSat, Problem
from daedal.problems.registry import find_problem

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Generator = np.random.Generator

CLOSE = 1e-6
"""A value this close to the optimum is the optimum."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A function of n bits, to be maximized."""

    name: str
    n: int
    evaluate: Callable[[Bits], Floats]
    """Gives the value of each row, shape (rows, n), without noise."""
    optimum: float | None = None
    solution: Bits | None = None
    noise: float = 0.0

    def with_noise(self, sd: float) -> Instance:
        return replace(self, noise=sd)


def with_optimum(name: str, problem: Problem) -> Instance:
    """Make a function whose optimum is to be found."""
    return Instance(name, problem.n, problem.evaluate, problem.optimum, getattr(problem, "solution", None))


def without_optimum(name: str, problem: Problem) -> Instance:
    """Make a function of which the best value at some budget counts, whatever its optimum is."""
    return Instance(name, problem.n, problem.evaluate)


def from_tables(name: str, n: int, scopes: Sequence[Sequence[int]], rows: Sequence[Floats]) -> Instance:
    """Make a sum of tables, each over the variables of its scope; the first is the index's most significant bit."""
    starts = np.cumsum([0, *map(len, scopes)]).astype(np.int64)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)[:-1]
    flat = np.array([variable for scope in scopes for variable in scope], dtype=np.int64)
    return from_kernel(name, n, tables, starts, flat, offsets, np.concatenate(rows).astype(np.float64))


def from_kernel(name: str, n: int, kernel: Callable[..., None], *arguments: object) -> Instance:
    """Make a function that a kernel computes."""

    def evaluate(x: Bits) -> Floats:
        out = np.empty(len(x))
        kernel(x, *arguments, out)
        return out

    return Instance(name, n, evaluate)


DATA = Path(os.environ.get("DAEDAL_DATA", "../shared/data"))

KNOWN = {"s3v80c1000-1": 956.0}
"""Optima that neither the file says nor daedal finds out."""

FILES: dict[str, tuple[str, str]] = {
    "nk_30_4.1": ("nk", "nk/nk_30_4.1"),
    "s3v80c1000-1": ("maxsat", "maxsat/s3v80c1000-1.cnf"),
    **{f"uf50-0{i}": ("maxsat", f"maxsat/uf50-0{i}.cnf") for i in (1, 2, 3)},
    **{f"spin_{n}_{i}": ("ising", f"ising/IsingSpinGlass_pm_{n}_{i}.txt") for n in (36, 64, 100) for i in (0, 1)},
    "maxcut_dense_25": ("maxcut", "maxcut/dense-n0000025i00.txt"),
    "maxcut_dense_50": ("maxcut", "maxcut/dense-n0000050i00.txt"),
    "maxcut_sparse_49": ("maxcut", "maxcut/sparse-n0000049i00.txt"),
    "maxcut_sparse_100": ("maxcut", "maxcut/sparse-n0000100i00.txt"),
}
"""What kind of problem each instance is, and its file."""


def from_file(name: str, folder: Path = DATA) -> Instance:
    """Read an instance from its file."""
    kind, file = FILES[name]
    problem = find_problem(f"{kind}:{folder / file}")
    optimum = KNOWN.get(name, problem.optimum)
    return Instance(name, problem.n, problem.evaluate, optimum, getattr(problem, "solution", None))


def by_name(name: str, _: Generator, **settings: int) -> Instance:
    """Make a problem of daedal that is called the same."""
    family = name.partition(":")[0]
    words = ",".join(f"{key}={value}" for key, value in settings.items())
    return with_optimum(name, find_problem(f"{SAME.get(family, family)}:{words}"))


def nk(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make random neighbors, random tables; its optimum is left open."""
    return without_optimum(name, random_nk(rng, n, k))


def nk_exact(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make random neighbors and tables, with the exact optimum: for n up to about 34."""
    return with_optimum(name, random_nk(rng, n, k))


def random_nk(rng: Generator, n: int, k: int) -> NK:
    neighbors = [[i, *rng.choice(np.delete(np.arange(n), i), size=k, replace=False)] for i in range(n)]
    return NK(np.array(neighbors), rng.random((n, 2 ** (k + 1))))


def nk_ring(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make each variable's table look at the k next ones: an optimum by dynamic programming."""
    neighbors = (np.arange(n)[:, None] + np.arange(k + 1)) % n
    return with_optimum(name, NK(neighbors, rng.random((n, 2 ** (k + 1)))))


def clauses(rng: Generator, n: int, count: int, planted: Bits | None = None) -> list[list[int]]:
    """Draw clauses of three variables, each by the variables and the one setting of them that fails it."""
    drawn: list[list[int]] = []
    while len(drawn) < count:
        scope = rng.choice(n, size=3, replace=False).tolist()
        fail = f"{int(rng.integers(8)):03b}"
        if planted is None or "".join(str(planted[v]) for v in scope) != fail:
            drawn.append([-(v + 1) if bit == "1" else v + 1 for v, bit in zip(scope, fail, strict=True)])
    return drawn


def sat(name: str, rng: Generator, *, n: int, ratio: float = 4.2) -> Instance:
    """Make 3-SAT that a hidden row satisfies: the number of clauses satisfied."""
    planted = rng.integers(2, size=n, dtype=np.uint8)
    formula = MaxSat(n, clauses(rng, n, round(ratio * n), planted))
    return Instance(name, n, formula.evaluate, formula.total, planted)


def weighted_sat(name: str, rng: Generator, *, n: int, ratio: float = 4.5) -> Instance:
    """Make random 3-SAT with weights of 1 to 10; not all of it can be satisfied."""
    drawn = clauses(rng, n, round(ratio * n))
    return without_optimum(name, MaxSat(n, drawn, rng.integers(1, 11, size=len(drawn)).tolist()))


def interact(name: str, rng: Generator, *, n: int) -> Instance:
    """Make weights of single variables, of n pairs that are both one, and of n/2 triples."""
    orders = [1] * n + [2] * n + [3] * (n // 2)
    scopes = [[i] for i in range(n)]
    scopes += [rng.choice(n, size=order, replace=False).tolist() for order in orders[n:]]
    weights = rng.normal(0.0, 1.0, size=len(orders)) * np.sqrt(orders)
    rows = [np.where(np.arange(2**order) == 2**order - 1, w, 0.0) for order, w in zip(orders, weights, strict=True)]
    return from_tables(name, n, scopes, rows)


def knapsack(name: str, rng: Generator, *, n: int) -> Instance:
    """Make a knapsack of half the weight; the penalty for a unit above it is the best profit that a unit has."""
    profits = rng.integers(10, 101, size=n)
    weights = rng.integers(10, 101, size=n)
    bag, penalty = Knapsack(profits, weights[None], np.array([weights.sum() // 2])), float((profits / weights).max())
    return Instance(name, n, lambda x: bag.evaluate(x) - penalty * np.maximum(0.0, bag.violations(x)[:, 0]))


def qubo(name: str, rng: Generator, *, n: int) -> Instance:
    rows, columns = np.triu_indices(n)
    return without_optimum(name, QUBO(n, np.stack([rows, columns], axis=1), rng.normal(size=(n, n))[rows, columns]))


def labs(name: str, _: Generator, *, n: int) -> Instance:
    return without_optimum(name, LABS(n=n))


def features(name: str, rng: Generator, *, n: int = 64) -> Instance:
    """Choose pixels of scikit-learn's digits for naive Bayes: 300 rows with noise, three folds, 0.001 a pixel."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    chosen = rng.choice(len(digits.target), size=300, replace=False)
    pixels = digits.data[chosen] + rng.normal(0.0, 1.0, size=(300, 64))
    label = digits.target[chosen].astype(np.int64)
    fold = np.arange(300) % 3
    likelihood, prior = np.empty((64, 300, 10)), np.empty((300, 10))
    for test in range(3):
        seen, cases = fold != test, fold == test
        for digit in range(10):
            rows = pixels[seen & (label == digit)]
            likelihood[:, cases, digit] = log_normal(pixels[cases], rows.mean(axis=0), rows.var(axis=0) + 0.1).T
            prior[cases, digit] = math.log(max(len(rows), 1) / seen.sum())
    return from_kernel(name, n, pixel_score, likelihood, prior, label, 0.001)


def log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (np.log(variance) + (x - mean) ** 2 / variance), dtype=np.float64)


SAME = {"overlap": "cyclictrap"}
"""What daedal calls a family that is called otherwise here."""

FAMILIES: dict[str, Callable[..., Instance]] = {
    **dict.fromkeys(("trap", "steptrap", "overlap", "bimodal", "onemax", "hiff", "leadingones"), by_name),
    "nk": nk,
    "nkring": nk_ring,
    "nkexact": nk_exact,
    "sat": sat,
    "wsat": weighted_sat,
    "interact": interact,
    "knapsack": knapsack,
    "qubo": qubo,
    "labs": labs,
    "features": features,
}


def number(text: str) -> Any:
    return float(text) if "." in text else int(text)


@lru_cache(maxsize=64)
def make(name: str, instance: int = 0) -> Instance:
    """Make a function from its name and, where it is drawn at random, the number of the instance."""
    if name in FILES:
        return from_file(name)
    family, _, words = name.partition(":")
    settings = {key: number(value) for key, value in (word.split("=") for word in words.split(",") if word)}
    noise = float(settings.pop("sd", 0.0))
    plain = f"{family}:" + ",".join(f"{key}={value}" for key, value in settings.items())
    rng = np.random.default_rng([zlib.crc32(plain.encode()), instance])
    return FAMILIES[family](name, rng, **settings).with_noise(noise)


# ------------------------------------------------------------ kernels


@njit(cache=True)
def disguise(x: Bits, order: Ints, mask: Bits) -> Bits:
    """Give the rows that the function sees: variable i is x[order[i]], flipped where the mask is one."""
    rows, n = x.shape
    y = np.empty((rows, n), dtype=np.uint8)
    for r in range(rows):
        for i in range(n):
            y[r, i] = x[r, order[i]] ^ mask[i]
    return y


@njit(cache=True)
def tables(x: Bits, starts: Ints, scopes: Ints, offsets: Ints, entries: Floats, out: Floats) -> None:
    """Sum one entry per table; the first variable of a scope is the most significant bit of the index."""
    for r in range(x.shape[0]):
        total = 0.0
        for t in range(starts.shape[0] - 1):
            index = 0
            for p in range(starts[t], starts[t + 1]):
                index = 2 * index + x[r, scopes[p]]
            total += entries[offsets[t] + index]
        out[r] = total


@njit(cache=True)
def pixel_score(x: Bits, likelihood: Floats, prior: Floats, label: Ints, price: float, out: Floats) -> None:
    """Give the share of rows that naive Bayes puts in their class, less a price for each feature it looks at.

    `likelihood`, shape (features, cases, classes), and `prior`, shape (cases, classes), are logarithms, each case's
    from the folds that it is not in.
    """
    rows, n = x.shape
    cases, classes = prior.shape
    for r in range(rows):
        score = prior.copy()
        for i in range(n):
            if x[r, i]:
                for c in range(cases):
                    for k in range(classes):
                        score[c, k] += likelihood[i, c, k]
        right = 0
        for c in range(cases):
            right += 1 if np.argmax(score[c]) == label[c] else 0
        out[r] = right / cases - price * x[r].sum()
