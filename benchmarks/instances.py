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
from daedal.problems import NK
from instance import Instance, from_tables
from instance_files import FILES, from_file
from instance_kernels import Bits, Floats

Generator = np.random.Generator


def unitation(name: str, n: int, k: int, values: list[float], step: int = 0) -> Instance:
    """Make a sum over blocks of a function of the number of ones; all ones is the best, or one of the best."""
    arguments = (k, step or k, np.array(values, dtype=np.float64))
    optimum = max(values) * (n // (step or k))
    return Instance(name, n, kernels.blocks, arguments, optimum, np.ones(n, dtype=np.uint8))


def trap_values(k: int) -> list[float]:
    return [float(k if ones == k else k - 1 - ones) for ones in range(k + 1)]


def trap(name: str, _: Generator, *, n: int, k: int) -> Instance:
    return unitation(name, n, k, trap_values(k))


def step_trap(name: str, _: Generator, *, n: int, k: int, s: int = 2) -> Instance:
    """Make traps whose values are cut to steps of s, so that there are plateaus (Goldman and Punch)."""
    return unitation(name, n, k, [float(((k - s) % s + value) // s) for value in trap_values(k)])


def overlapping_trap(name: str, _: Generator, *, n: int, k: int) -> Instance:
    """Make a ring of traps, each of which shares a variable with the next."""
    return unitation(name, n, k, trap_values(k), step=k - 1)


def bimodal(name: str, _: Generator, *, n: int, k: int) -> Instance:
    """Make bimodal deceptive blocks: none or all ones is best, half of them the hump that misleads."""
    values = [k / 2 if ones in (0, k) else k / 2 - abs(ones - k / 2) - 1 for ones in range(k + 1)]
    return unitation(name, n, k, values)


def onemax(name: str, _: Generator, *, n: int) -> Instance:
    return unitation(name, n, 1, [0.0, 1.0])


def hiff(name: str, _: Generator, *, n: int) -> Instance:
    return Instance(name, n, kernels.hiff, (), n * (math.log2(n) + 1), np.ones(n, dtype=np.uint8))


def leadingones(name: str, _: Generator, *, n: int) -> Instance:
    return Instance(name, n, kernels.leadingones, (), float(n), np.ones(n, dtype=np.uint8))


def nk(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make random neighbours, random tables; its optimum is left open."""
    scopes = [[i, *rng.choice(np.delete(np.arange(n), i), size=k, replace=False)] for i in range(n)]
    return from_tables(name, n, scopes, list(rng.random((n, 2 ** (k + 1)))))


def nk_ring(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make each variable's table look at the k next ones: an optimum by dynamic programming."""
    neighbours = (np.arange(n)[:, None] + np.arange(k + 1)) % n
    problem = NK(neighbours, rng.random((n, 2 ** (k + 1))))
    rows = [list(row) for row in neighbours]
    return from_tables(name, n, rows, list(problem.tables), problem.optimum, problem.solution)


def nk_exact(name: str, rng: Generator, *, n: int, k: int) -> Instance:
    """Make random neighbours and tables, with the exact optimum: for n up to about 34."""
    others = [[i, *rng.choice(np.delete(np.arange(n), i), size=k, replace=False)] for i in range(n)]
    problem = NK(np.array(others), rng.random((n, 2 ** (k + 1))))
    return from_tables(name, n, others, list(problem.tables), problem.optimum, problem.solution)


def clauses(rng: Generator, n: int, count: int, planted: Bits | None = None) -> tuple[list[list[int]], list[int]]:
    """Draw clauses of three variables: their scopes, and the one setting of each, as an index, that fails it."""
    scopes, fails = [], []
    while len(scopes) < count:
        scope = rng.choice(n, size=3, replace=False).tolist()
        fail = int(rng.integers(8))
        if planted is None or int("".join(str(planted[v]) for v in scope), 2) != fail:
            scopes.append(scope)
            fails.append(fail)
    return scopes, fails


def sat(name: str, rng: Generator, *, n: int, ratio: float = 4.2) -> Instance:
    """Make 3-SAT that a hidden row satisfies: the number of clauses satisfied."""
    planted = rng.integers(2, size=n, dtype=np.uint8)
    scopes, fails = clauses(rng, n, round(ratio * n), planted)
    rows = [1.0 - (np.arange(8) == fail) for fail in fails]
    return from_tables(name, n, scopes, rows, float(len(rows)), planted)


def weighted_sat(name: str, rng: Generator, *, n: int, ratio: float = 4.5) -> Instance:
    """Make random 3-SAT with weights of 1 to 10; not all of it can be satisfied."""
    scopes, fails = clauses(rng, n, round(ratio * n))
    weights = rng.integers(1, 11, size=len(fails))
    return from_tables(name, n, scopes, [w * (1.0 - (np.arange(8) == f)) for w, f in zip(weights, fails, strict=True)])


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
    profits = rng.integers(10, 101, size=n).astype(np.float64)
    weights = rng.integers(10, 101, size=n).astype(np.float64)
    penalty = float((profits / weights).max())
    return Instance(name, n, kernels.knapsack, (profits, weights, float(weights.sum() // 2), penalty))


def qubo(name: str, rng: Generator, *, n: int) -> Instance:
    return Instance(name, n, kernels.quadratic, (np.triu(rng.normal(size=(n, n))),))


def labs(name: str, _: Generator, *, n: int) -> Instance:
    return Instance(name, n, kernels.labs, ())


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
    return Instance(name, n, kernels.features, (likelihood, prior, label, 0.001))


def log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (np.log(variance) + (x - mean) ** 2 / variance), dtype=np.float64)


FAMILIES: dict[str, Callable[..., Instance]] = {
    "trap": trap,
    "steptrap": step_trap,
    "overlap": overlapping_trap,
    "bimodal": bimodal,
    "onemax": onemax,
    "hiff": hiff,
    "leadingones": leadingones,
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
