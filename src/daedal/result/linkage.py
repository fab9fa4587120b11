"""Which variables hang together: groups of linked variables, and an order in which they stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.result.trace import Trace

NOTHING = "Nothing hangs together: no two variables depend on each other more than chance would have it."
_MOST_NAMED = 8  # variables of a group in a sentence
_DEVIATIONS = 8.0  # robust standard deviations above the middle of all pairs that make a link


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """What a search has found out about pairs of variables, and the groups that they form.

    Attributes
    ----------
    strength
        Dependence of each pair, shape (n, n), from 0 to 1, which is the strongest; the diagonal is 0.
    order
        The variables, shape (n,), so that those that hang together stand side by side.
    groups
        Variables that act as one, strongest group first, each in rising order; none has fewer than two.
    source
        Where it was read off, for people.
    """

    strength: NDArray[np.float32]
    order: NDArray[np.intp]
    groups: tuple[tuple[int, ...], ...]
    source: str

    def sentences(self, labels: Sequence[str], most: int = 12) -> list[str]:
        """Say which variables act as one, a sentence a group, at most so many."""
        if not self.groups:
            return [NOTHING]
        said = [f"{_listed([labels[i] for i in group])} act as one." for group in self.groups[:most]]
        if len(self.groups) > most:
            said.append(f"So do {len(self.groups) - most:,} other groups.")
        return said


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def linkage_of(trace: Trace | None) -> Linkage | None:
    """Find the groups in what a run has learned; None where it has learned nothing of pairs."""
    if trace is None or trace.linkage is None or len(trace.linkage) < 2:
        return None
    strength = np.maximum(trace.linkage, trace.linkage.T).astype(np.float64)
    np.fill_diagonal(strength, 0.0)
    largest = strength.max()
    least = link_threshold(strength)
    order, groups = cluster(strength, least)
    scaled = (strength / largest if largest > 0 else strength).astype(np.float32)
    return Linkage(strength=scaled, order=order, groups=groups, source=trace.source)


def link_threshold(strength: NDArray[np.float64]) -> float:
    """Give the dependence from which on a pair is linked: what lies far outside the bulk of all pairs."""
    pairs = strength[np.triu_indices(len(strength), 1)]
    middle = float(np.median(pairs))
    spread = 1.4826 * float(np.median(np.abs(pairs - middle)))
    return middle + _DEVIATIONS * spread


def cluster(strength: NDArray[np.float64], least: float) -> tuple[NDArray[np.intp], tuple[tuple[int, ...], ...]]:
    """Give variables in the order of an average-linkage tree, and the groups in it that are linked, strongest first."""
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # here, because SciPy is slow to load

    n, top = len(strength), float(strength.max())
    if top <= 0:
        return np.arange(n), ()
    distances = (top - strength)[np.triu_indices(n, 1)]
    tree = linkage(distances, "average")
    labels = fcluster(tree, max(0.0, top - least), "distance")
    found = [np.flatnonzero(labels == label) for label in np.unique(labels)] if top > least else []
    groups = [group for group in found if len(group) > 1]
    inner = [strength[np.ix_(group, group)].sum() / (len(group) * (len(group) - 1)) for group in groups]
    ranked = sorted(range(len(groups)), key=lambda i: (-inner[i], int(groups[i][0])))
    return leaves_list(tree).astype(np.intp), tuple(tuple(groups[i].tolist()) for i in ranked)
