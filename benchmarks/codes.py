"""Codes of variables: what each takes to the optimum.

    python benchmarks/codes.py                     # 20 seeds
    python benchmarks/codes.py --seeds 5 --only choices

Prints Markdown: runs that reached the optimum, and calls up to it, for the default algorithm.

choices    20 choices of 5 values in traps of 4: a trap is worth 4 where all are right, else 3 less those that are
           right. "by hand": the same function of 60 bits, 3 for a choice, taken modulo 5, or cut at 4.
values     one of 40 values in each of 6 choices, where values have worths of their own and neighbors interact
integers   12 whole numbers from 0 to 99: the sum of squared distances from a point, and from each other's
cities     a traveling salesman of 12 cities, as a permutation; the optimum is of dynamic programming
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import daedal

CHOICES, VALUES, BLOCK = 20, 5, 4
Case = tuple[str, str, Callable[[int], dict[str, Any]], int]
"""A problem, a code, what makes the arguments of `maximize` from a seed, and the most calls."""


def traps(values: np.ndarray, right: np.ndarray) -> np.ndarray:
    good = (values == right).reshape(len(values), -1, BLOCK).sum(axis=2)
    return np.where(good == BLOCK, BLOCK, BLOCK - 1 - good).sum(axis=1)


def choices(code: str) -> Callable[[int], dict[str, Any]]:
    names = [f"c{i}" for i in range(CHOICES)]
    space = daedal.Space({name: daedal.Choice(*range(VALUES), code=code) for name in names})

    def make(seed: int) -> dict[str, Any]:
        right = np.random.default_rng(seed).integers(0, VALUES, CHOICES)
        return {
            "objective": lambda given: traps(np.stack([given[name] for name in names], axis=1), right),
            "n": space,
            "target": CHOICES,
        }

    return make


def by_hand(read: Callable[[np.ndarray], np.ndarray]) -> Callable[[int], dict[str, Any]]:
    def make(seed: int) -> dict[str, Any]:
        right = np.random.default_rng(seed).integers(0, VALUES, CHOICES)

        def function(x: np.ndarray) -> np.ndarray:
            return traps(read(x.reshape(len(x), CHOICES, 3) @ np.array([1, 2, 4])), right)

        return {"objective": function, "n": 3 * CHOICES, "target": CHOICES}

    return make


def many_values(code: str) -> Callable[[int], dict[str, Any]]:
    names = [f"c{i}" for i in range(6)]
    space = daedal.Space({name: daedal.Choice(*range(40), code=code) for name in names})

    def make(seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        pairs = rng.normal(size=(5, 40, 40))
        worth = np.zeros(40)
        for pair in pairs[::-1]:  # the optimum of a chain, from its end
            worth = (pair + worth).max(axis=1)

        def function(given: dict[str, np.ndarray]) -> np.ndarray:
            return sum(pairs[i][given[names[i]], given[names[i + 1]]] for i in range(5))

        return {"objective": function, "n": space, "target": float(worth.max())}

    return make


def integers(code: str) -> Callable[[int], dict[str, Any]]:
    names = [f"i{i}" for i in range(12)]
    space = daedal.Space({name: daedal.Integer(0, 99, code=code) for name in names})

    def make(seed: int) -> dict[str, Any]:
        point = np.random.default_rng(seed).integers(0, 100, 12)

        def function(given: dict[str, np.ndarray]) -> np.ndarray:
            away = np.stack([given[name] for name in names], axis=1) - point
            return -(away**2).sum(axis=1) - np.abs(np.diff(away, axis=1)).sum(axis=1)

        return {"objective": function, "n": space, "target": 0}

    return make


def cities(seed: int) -> dict[str, Any]:
    place = np.random.default_rng(seed).random((12, 2))
    far = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    return {
        "objective": lambda given: -far[given["tour"], np.roll(given["tour"], 1, axis=1)].sum(axis=1),
        "n": daedal.Space(tour=daedal.Permutation(12)),
        "target": -shortest_tour(far),
    }


def shortest_tour(far: np.ndarray) -> float:
    """Give the length of the shortest tour (Held and Karp): by the set of cities seen, and the last of them."""
    last, count = len(far) - 1, 1 << (len(far) - 1)
    length = np.full((count, last), np.inf)
    for j in range(last):
        length[1 << j, j] = far[last, j]
    for seen in range(count):
        for j, k in itertools.product(range(last), repeat=2):
            if seen >> j & 1 and not seen >> k & 1:
                longer = length[seen, j] + far[j, k]
                length[seen | 1 << k, k] = min(length[seen | 1 << k, k], longer)
    return float((length[-1] + far[:last, last]).min())


CASES: list[Case] = [
    *(("choices", f"Choice, {code}", choices(code), 200_000) for code in ("one-hot", "binary")),
    ("choices", "bits by hand, modulo 5", by_hand(lambda values: values % VALUES), 200_000),
    ("choices", "bits by hand, cut at 4", by_hand(lambda values: np.minimum(values, VALUES - 1)), 200_000),
    *(("values", f"Choice, {code}", many_values(code), 60_000) for code in ("one-hot", "binary")),
    *(("integers", f"Integer, {code}", integers(code), 60_000) for code in ("gray", "binary")),
    ("cities", "Permutation", cities, 60_000),
]


def rows(seeds: range, only: list[str] | None) -> Iterator[str]:
    for problem, code, make, most in CASES:
        if only and problem not in only:
            continue
        results = [daedal.maximize(**make(seed), seed=seed, max_evaluations=most) for seed in seeds]
        solved = [result.evaluations_to_best for result in results if result.success]
        calls = f"{statistics.fmean(solved):,.0f}" if solved else ""
        spent = statistics.fmean(result.evaluations for result in results)
        yield f"| {problem} | {code} | {len(solved)} of {len(results)} | {calls} | {spent:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=300, help="the first seed")
    parser.add_argument("--only", action="append", help="a problem; repeat it")
    given = parser.parse_args()
    print("| problem | code | solved | calls to the optimum, where solved | calls, all runs |\n|---|---|--:|--:|--:|")
    for row in rows(range(given.first, given.first + given.seeds), given.only):
        print(row, flush=True)


if __name__ == "__main__":
    main()
