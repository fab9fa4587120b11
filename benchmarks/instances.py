"""Functions to compare optimizers on: by name, with their optimum where it is known.

    make("trap:k=5,n=50")        make("nk:n=60,k=3", 7)        make("spin_64_0")

The second argument is the number of the instance, for families that are drawn at random. `sd=2` in a name adds noise
of that standard deviation, which the counting wrapper draws. Files are those of $DAEDAL_DATA (default ../shared/data).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import instance_kernels as kernels
from daedal.problems import LABS, NK, QUBO, Knapsack, MaxSat
from daedal.problems.registry import find_problem
from instance import Instance, from_kernel, from_tables, with_optimum, without_optimum
from instance_files import FILES, from_file
from instance_kernels import Bits, Floats

Generator = np.random.Generator


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
    return from_kernel(name, n, kernels.features, likelihood, prior, label, 0.001)


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
