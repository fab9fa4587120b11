"""Kernels of P3: how often pairs of variables have which values, the tree over variables, and donors."""

from __future__ import annotations

import numpy as np
from numba import njit

from instances import Bits, Floats, Ints


@njit(cache=True)
def count_pairs(x: Bits, counts: Ints) -> None:
    """Add one row, shape (n,), to counts, shape (n, n, 4): entry 2 x_i + x_j for i < j, and x_i for i = j."""
    n = x.shape[0]
    for i in range(n):
        counts[i, i, x[i]] += 1
        for j in range(i + 1, n):
            counts[i, j, 2 * x[i] + x[j]] += 1


@njit(cache=True)
def entropy(counts: Ints, rows: int) -> float:
    """Give the entropy of a variable, or a pair, from how often each value was seen."""
    total = 0.0
    for count in counts:
        if count > 0:
            share = count / rows
            total -= share * np.log(share)
    return total


@njit(cache=True)
def distances(counts: Ints, rows: int) -> Floats:
    """Give 2 - (H(i) + H(j)) / H(i, j), shape (n, n): 0 where one variable tells the other, 1 where nothing."""
    n = counts.shape[0]
    single = np.empty(n)
    for i in range(n):
        single[i] = entropy(counts[i, i], rows)
    distance = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            joint = entropy(counts[i, j], rows)
            value = 2.0 - (single[i] + single[j]) / joint if joint > 0.0 else 0.0
            distance[i, j] = distance[j, i] = value
    return distance


@njit(cache=True)
def nearest(distance: Floats, alive: Bits, node: int, previous: int) -> int:
    """Give the nearest other cluster; at equal distance the previous one of the chain, else the first."""
    best = previous
    for other in range(alive.shape[0]):
        if alive[other] and other != node and (best < 0 or distance[node, other] < distance[node, best]):
            best = other
    return best


@njit(cache=True)
def average_linkage(distance: Floats) -> tuple[Ints, Floats]:
    """Merge the closest clusters, by the mean distance of their variables (chains of nearest neighbors).

    Give the merged pairs, shape (n - 1, 2), in an order in which parts come before wholes, and their distances; merge m
    makes cluster n + m. `distance` is overwritten.
    """
    n = distance.shape[0]
    merges, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    alive, size = np.ones(n, dtype=np.uint8), np.ones(n)
    name = np.arange(n)
    chain, length = np.empty(n, dtype=np.int64), 0
    for m in range(n - 1):
        if length == 0:
            chain[0], length = np.argmax(alive), 1
        while True:
            last = chain[length - 1]
            previous = chain[length - 2] if length > 1 else -1
            found = nearest(distance, alive, last, previous)
            if found == previous:
                break
            chain[length] = found
            length += 1
        length -= 2
        a, b = chain[length], chain[length + 1]
        merges[m, 0], merges[m, 1], heights[m] = name[a], name[b], distance[a, b]
        for other in range(n):
            if alive[other] and other != a and other != b:
                mean = (size[a] * distance[a, other] + size[b] * distance[b, other]) / (size[a] + size[b])
                distance[a, other] = distance[other, a] = mean
        size[a] += size[b]
        alive[b] = 0
        name[a] = n + m
    return merges, heights


@njit(cache=True)
def set_seed(seed: int) -> None:
    """Begin the stream of random numbers that kernels draw from."""
    np.random.seed(seed)  # noqa: NPY002, which is how Numba's own is set


@njit(cache=True)
def donate(x: Bits, donors: Bits, order: Ints, cluster: Ints, mixed: Bits) -> bool:
    """Copy x into mixed with the cluster of a random donor that differs there; whether there is any.

    `order` holds every row's number once, in any order, and is shuffled as far as rows are looked at.
    """
    for place in range(donors.shape[0]):
        other = np.random.randint(place, donors.shape[0])  # noqa: NPY002
        order[place], order[other] = order[other], order[place]
        row = order[place]
        for variable in cluster:
            if donors[row, variable] != x[variable]:
                mixed[:] = x
                for v in cluster:
                    mixed[v] = donors[row, v]
                return True
    return False
