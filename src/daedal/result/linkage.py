"""Which variables hang together: groups of linked variables, and an order in which they stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.result.interactions import interactions_of
from daedal.result.trace import Trace

NOTHING = "Nothing hangs together: no two variables depend on each other more than chance would have it."

TRUSTED = 0.5
"""Share of the variance that a fit to the evaluated rows has to explain to be believed rather than the search."""

_MOST_NAMED = 8  # variables of a group in a sentence
_DEVIATIONS = 8.0  # robust standard deviations above the middle of all pairs that make a link
_CLOSE = 0.5  # dependence, as a share of the strongest of each of two variables, that makes them one group
_BLOCK = 0.2  # dependence of the weakest pair of a group, as a share of its strongest, that makes it a block
_FAINT = 0.05  # share of the strongest dependence of all below which there is none


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """Dependence of pairs of variables, and the groups that they form.

    Attributes
    ----------
    strength
        Dependence of each pair, shape (n, n), from 0 to 1, which is the strongest; the diagonal is 0.
    order
        The variables, shape (n,), so that those that hang together stand side by side.
    groups
        Variables that hang together, strongest group first, each in rising order; none has fewer than two.
    source
        Where it was read off, for people.
    """

    strength: NDArray[np.float32]
    order: NDArray[np.intp]
    groups: tuple[tuple[int, ...], ...]
    source: str

    def sentences(self, labels: Sequence[str], most: int = 12) -> list[str]:
        """Say which variables act as one, or are linked in part, a sentence a group, at most so many."""
        if not self.groups:
            return [NOTHING]
        said = [f"{_listed([labels[i] for i in group])} {self._bond(group)}." for group in self.groups[:most]]
        if len(self.groups) > most:
            said.append(f"There are {len(self.groups) - most:,} more groups.")
        return said

    def _bond(self, group: tuple[int, ...]) -> str:
        """Say what a group is: a block, in which all pairs are linked, or something looser, such as a chain."""
        inner = self.strength[np.ix_(group, group)]
        pairs = inner[np.triu_indices(len(group), 1)]
        return "act as one" if pairs.min() >= _BLOCK * pairs.max() else "hang together, some only through others"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def linkage_of(trace: Trace | None) -> Linkage | None:
    """Give what is best known: what the evaluated rows say, or else what the search believed; None for neither.

    The rows are evidence, whatever the search made of them: a population that is too small to see a block has still
    evaluated rows that show it.
    """
    found = function_linkage(trace)
    return search_linkage(trace) if found is None else found


def function_linkage(trace: Trace | None) -> Linkage | None:
    """Give what the evaluated rows say; None where they are too few, or explain too little."""
    found = None if trace is None else interactions_of(trace)
    if found is None or (found.r2 < TRUSTED and not found.is_sum):
        return None
    share = "all" if found.r2 > 1 - 5e-4 else f"{100 * found.r2:.1f} %"
    source = f"a model of {found.rows:,} of the rows evaluated, which explains {share} of what it was not shown"
    return _linkage(found.strength, source)


def search_linkage(trace: Trace | None) -> Linkage | None:
    """Give what the search itself believed, in all its generations together; None where it has no view of pairs."""
    if trace is None or trace.linkage is None or len(trace.linkage) < 2:
        return None
    strength = np.maximum(trace.linkage, trace.linkage.T).astype(np.float64)
    linked = np.where(strength > link_threshold(strength), strength, 0.0)
    return _linkage(strength, trace.source, linked)


def _linkage(strength: NDArray[np.float64], source: str, linked: NDArray[np.float64] | None = None) -> Linkage:
    """Find the groups in the strengths of links, all pairs unless some of them are no links; show all of them."""
    strength = strength.copy()
    np.fill_diagonal(strength, 0.0)
    largest = float(strength.max())
    order, groups = cluster(strength if linked is None else linked)
    scaled = (strength / largest if largest > 0 else strength).astype(np.float32)
    return Linkage(strength=scaled, order=order, groups=groups, source=source)


def link_threshold(strength: NDArray[np.float64]) -> float:
    """Give the dependence from which on a pair is linked: what lies far outside the bulk of all pairs."""
    pairs = strength[np.triu_indices(len(strength), 1)]
    middle = float(np.median(pairs))
    spread = 1.4826 * float(np.median(np.abs(pairs - middle)))
    return middle + _DEVIATIONS * spread


def cluster(strength: NDArray[np.float64]) -> tuple[NDArray[np.intp], tuple[tuple[int, ...], ...]]:
    """Give variables in the order of an average-linkage tree, and the groups in it, strongest first.

    The tree is of strengths as a share of the strongest that each of two variables has, so that weak groups are found
    beside strong ones.
    """
    n, top = len(strength), float(strength.max())
    if n < 2 or top <= 0:
        return np.arange(n), ()
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # here, because SciPy is slow to load

    strength = np.where(strength < _FAINT * top, 0.0, strength)
    np.fill_diagonal(strength, 0.0)
    own = np.sqrt(np.maximum(strength.max(axis=1), np.finfo(float).tiny))
    tree = linkage((1.0 - strength / np.outer(own, own)).clip(0.0, 1.0)[np.triu_indices(n, 1)], "average")
    labels = fcluster(tree, 1.0 - _CLOSE, "distance")
    found = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups = [group for group in found if len(group) > 1]
    inner = [float(strength[np.ix_(group, group)].sum()) / (len(group) * (len(group) - 1)) for group in groups]
    ranked = sorted(range(len(groups)), key=lambda i: (-inner[i], int(groups[i][0])))
    return leaves_list(tree).astype(np.intp), tuple(tuple(groups[i].tolist()) for i in ranked)
