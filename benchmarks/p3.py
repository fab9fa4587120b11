"""P3, the parameter-less population pyramid, from its published description (Goldman and Punch, 2014).

    python benchmarks/p3.py [--seeds 0-99] [--only trap]       its figures beside published ones

Again and again a random row is climbed to a local optimum by single flips, and then mixed, level by level, with the
rows of the pyramid: for each cluster of a level's linkage tree, smallest first, it takes over the cluster of a random
row that differs there, unless that makes it worse. Where it has improved on a level, it joins the next one.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np

from counting import Counting, Spent
from instances import Bits, Ints, make
from linkage_kernels import average_linkage, count_pairs, distances, donate, set_seed

SMALL = 1e-12  # Distances below are 0: the variables go together in all rows.


class Level:
    """The rows of one level, and the clusters of variables that their linkage tree gives."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.n, self._rng = n, rng
        self._rows, self.size = np.empty((16, n), dtype=np.uint8), 0
        self._counts = np.zeros((n, n, 4), dtype=np.int64)
        self._clusters: list[Ints] = []
        self._stale = True

    def add(self, x: Bits) -> None:
        if self.size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self.size] = x
        self.size += 1
        count_pairs(x, self._counts)
        self._stale = True

    def mix(self, x: Bits, value: float, function: Counting) -> tuple[Bits, float]:
        """Take over what is not worse, cluster by cluster."""
        if self._stale:
            self._build()
        donors, mixed, order = self._rows[: self.size], np.empty_like(x), np.arange(self.size)
        for cluster in self._clusters:
            if donate(x, donors, order, cluster, mixed):
                other = function.one(mixed)
                if other >= value:
                    x, value, mixed = mixed, other, np.empty_like(x)
        return x, value

    def _build(self) -> None:
        """Build the tree; without its root, and without the parts of clusters that always go together."""
        n = self.n
        shuffle = self._rng.permutation(n)  # so that equal distances are merged in random order
        merges, heights = average_linkage(distances(self._counts, self.size)[np.ix_(shuffle, shuffle)])
        clusters = [np.array([variable]) for variable in shuffle]
        useful = np.ones(2 * n - 1, dtype=bool)
        useful[-1] = False
        for (a, b), height in zip(merges, heights, strict=True):
            clusters.append(np.concatenate([clusters[a], clusters[b]]))
            if height < SMALL:
                useful[a] = useful[b] = False
        kept = [clusters[place] for place in self._rng.permutation(2 * n - 1) if useful[place]]
        self._clusters = sorted(kept, key=len)
        self._stale = False


def climb(x: Bits, function: Counting, rng: np.random.Generator) -> tuple[Bits, float]:
    """Flip bits in random order, keep what is better, until no single flip is."""
    value, n = function.one(x), len(x)
    tried: set[int] = set()
    while len(tried) < n:
        for i in rng.permutation(n).tolist():
            if i in tried:
                continue
            x[i] ^= 1
            other = function.one(x)
            if other > value:
                value = other
                tried.clear()
            else:
                x[i] ^= 1
            tried.add(i)
    return x, value


def p3(function: Counting, seed: int) -> Bits:
    """Run until the function says that its budget is spent."""
    rng, n = np.random.default_rng([seed, 0x93]), function.n
    set_seed(int(rng.integers(2**31)))
    pyramid: list[Level] = []
    known: set[bytes] = set()

    def join(level: int, x: Bits) -> None:
        if x.tobytes() not in known:
            known.add(x.tobytes())
            if level == len(pyramid):
                pyramid.append(Level(n, rng))
            pyramid[level].add(x)

    try:
        while True:
            x, value = climb(rng.integers(2, size=n, dtype=np.uint8), function, rng)
            join(0, x)
            level = 0
            while level < len(pyramid):
                before = value
                x, value = pyramid[level].mix(x, value, function)
                level += 1
                if value > before:
                    join(level, x)
    except Spent:
        return function.best_x


PUBLISHED_CALLS = {
    "trap:k=4,n=20": 777,
    "trap:k=4,n=40": 2133,
    "trap:k=4,n=60": 3681,
    "trap:k=5,n=25": 1798,
    "trap:k=5,n=50": 5144,
    "trap:k=5,n=75": 9323,
    "trap:k=5,n=100": 13039,
    "hiff:n=64": 3877,
    "hiff:n=128": 11998,
    "nk_30_4.1": 6011,
    "s3v80c1000-1": 29990,
    "spin_64_0": 3818,
    "spin_64_1": 6806,
    "spin_100_0": 7959,
    "spin_100_1": 16606,
    "maxcut_dense_50": 11042,
    "maxcut_sparse_100": 5431,
    "uf50-01": 13137,
}
"""Mean calls to the optimum that were published for P3 on these files and sizes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-99")
    parser.add_argument("--only", default="", help="part of a name")
    words = parser.parse_args()
    first, _, last = words.seeds.partition("-")
    print("| function | solved | calls, mean +- standard error | published | ratio |\n|---|---|---|---|---|")
    for name, expected in PUBLISHED_CALLS.items():
        if words.only not in name:
            continue
        calls = []
        seeds = range(int(first), int(last or first) + 1)
        for seed in seeds:
            function = Counting(make(name), seed, 1_000_000)
            p3(function, seed)
            if function.calls_to_optimum is not None:
                calls.append(function.calls_to_optimum)
        mean, error = statistics.fmean(calls), statistics.stdev(calls) / len(calls) ** 0.5
        solved = f"{len(calls)}/{len(seeds)}"
        print(f"| {name} | {solved} | {mean:,.0f} +- {error:,.0f} | {expected:,} | {mean / expected:.2f} |", flush=True)


if __name__ == "__main__":
    main()
