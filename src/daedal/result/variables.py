"""What a run has learned about its variables: their names, which of them interact, and how much each matters.

Nothing more is evaluated. A linear function, or a sparse Walsh function, is fitted to candidates that the run has
evaluated, and to the differences between candidates that differ in one variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.result.trace import Trace
from daedal.spaces.variables import Permutation, Subset
from daedal.types import Bits, Fitness

if TYPE_CHECKING:
    from daedal.result.result import Result

MOST_VARIABLES = 2000
"""Variables up to which pairs are looked at."""

TRUSTED = 0.5
"""Share of the variance that a fit has to explain before it is believed rather than the search."""

NO_INTERACTIONS = "No two variables interact more than chance would explain."

# Interactions
_SPARE = 2  # candidates beyond the unknowns of a linear function, which have to fit it, too
_EXACT = 1e-9  # share of the variance that an exact linear function may miss
_NEARLY = 1e-3  # the same if a model of pairs explains no more
_ALL = 1 - 5e-4  # share of the variance from which on a model counts as complete
_HELPS = 0.8  # share of a linear function's error below which a model of pairs has explained something
_LEAST_ROWS = 2  # candidates per variable below which pairs are not fitted
_EQUATIONS = 4  # differences per variable from which on these are fitted, too
_CLIMBED = 1 / 3  # differences per candidate from which on candidates come from climbs
_VALUES = 0.2  # weight of the fit to values beside the one to differences: candidates of a climb are all alike
_FEW, _ENOUGH = 2000, 0.8  # candidates of a first fit, and the share of the variance from which on it is the only one
_MORE, _PRODUCTS, _SCREENED = 4000, 10**6, 20_000  # of the other: candidates, variables of all of them, and sets

# Groups
_MOST_NAMED = 8  # variables of a group in a sentence
_DEVIATIONS = 8.0  # robust standard deviations above the median of all pairs from which on a pair is linked
_CLOSE = 0.5  # dependence, as a share of the strongest of each of two variables, that makes them one group
_BLOCK = 0.2  # dependence of the weakest pair of a group, as a share of its strongest, that makes it a block
_FAINT = 0.05  # share of the strongest dependence of all below which there is none

# Importance
_ROUNDING = 1e-9  # share of the largest loss below which a loss is rounding


# ---------------------------------------------------------------- names


@dataclass(frozen=True, eq=False)
class Variables:
    """Names of variables: bits, or variables of a space; a permutation or a subset has one for each item.

    Attributes
    ----------
    labels
        Their names, shape (variables,).
    of_bit
        The variable that each bit belongs to, shape (n,), in ascending order.
    """

    labels: tuple[str, ...]
    of_bit: NDArray[np.intp]

    @property
    def are_bits(self) -> bool:
        """Whether each variable is one bit."""
        return len(self.labels) == len(self.of_bit)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first bit of each variable, shape (variables,)."""
        return np.searchsorted(self.of_bit, np.arange(len(self.labels)))

    @cached_property
    def bit_labels(self) -> tuple[str, ...]:
        """The name of each bit, shape (n,): that of its variable, with a number if this has several."""
        sizes = np.bincount(self.of_bit, minlength=len(self.labels))
        return tuple(
            self.labels[k] if sizes[k] == 1 else f"{self.labels[k]}.{bit - self.starts[k]}"
            for bit, k in enumerate(self.of_bit.tolist())
        )


def variables_of(result: Result) -> Variables:
    """Return the names of a result's variables.

    Examples
    --------
    >>> import daedal
    >>> space = daedal.Space(size=daedal.Integer(1, 8), parts=daedal.Subset(["a", "b"]))
    >>> result = daedal.maximize(lambda values: values["size"], space, seed=1, max_evaluations=20)
    >>> found = variables_of(result)
    >>> found.labels, found.bit_labels
    (('size', 'parts: a', 'parts: b'), ('size.0', 'size.1', 'size.2', 'parts: a', 'parts: b'))
    """
    if result.space is None or result.names is not None:
        return Variables(result.names or tuple(f"x{i}" for i in range(result.n)), np.arange(result.n))
    units = result.space.encoding.units.astype(np.intp)
    labels: list[str] = []
    for name, variable in result.space.items():
        parts = len(variable.field.unit_widths)
        if isinstance(variable, Permutation | Subset):
            labels += [f"{name}: {variable.item(item)}" for item in range(parts)]
        else:
            labels += [name] * parts
    spare = int(units[-1]) + 1 - len(labels)  # if all variables are fixed, there is a bit that has no use
    return Variables((*labels, *["unused"] * spare), units)


# ---------------------------------------------------------------- interactions


@dataclass(frozen=True, kw_only=True, eq=False)
class Interactions:
    """How strongly pairs of variables interact, according to a fit to evaluated candidates.

    Attributes
    ----------
    strength
        Strength of each pair, shape (n, n); 0 if the two do not interact.
    r2
        Share of the variance of held-out values, or differences, that the fit explains.
    rows
        Number of candidates it was fitted to.
    effect
        Change of the fitted function if one variable of the best candidate is flipped, shape (n,).
    """

    strength: NDArray[np.float64]
    r2: float
    rows: int
    effect: Fitness

    @property
    def is_sum(self) -> bool:
        """Whether no variables interact: each has an effect of its own only."""
        return not self.strength.any()


@lru_cache(maxsize=8)
def interactions_of(trace: Trace) -> Interactions | None:
    """Fit what a run has evaluated; None if that is too little, or there are too many variables."""
    x, values = trace.seen, trace.seen_fitness
    rows, n = x.shape
    if rows < n + 1 + _SPARE or not 2 <= n <= MOST_VARIABLES or not len(trace.top):
        return None
    scale = float(values.std())
    if scale == 0.0:
        return None
    effects, error = _fit_linear(x, values / scale)
    if error < _EXACT:
        effect = -2.0 * scale * effects * (1.0 - 2.0 * trace.top[0])
        return Interactions(strength=np.zeros((n, n)), r2=1.0, rows=rows, effect=effect)
    return None if rows < _LEAST_ROWS * n else _fit_pairs(trace, values / scale, scale, error)


def _fit_linear(x: Bits, values: Fitness) -> tuple[Fitness, float]:
    """Return the effects of single variables, shape (n,), and the mean squared error.

    The error is that of held-out candidates, or of all if there are hardly more of them than unknowns.
    """
    signs = np.c_[np.ones(len(x)), 1.0 - 2.0 * x]
    held_out = np.arange(len(x)) % 5 == 0
    enough = np.count_nonzero(~held_out) > signs.shape[1] + _SPARE
    train, test = (~held_out, held_out) if enough else (slice(None), slice(None))
    found = np.linalg.lstsq(signs[train], values[train], rcond=None)[0]
    return found[1:], float(np.square(values[test] - signs[test] @ found).mean())


def _fit_pairs(trace: Trace, values: Fitness, scale: float, error: float) -> Interactions | None:
    """Fit sparse Walsh functions; if they explain no more than a linear function, nothing interacts, or None."""
    from daedal.surrogates.walsh import Walsh  # here, because SciPy is slow to load

    x = trace.seen
    more = min(_MORE, max(_FEW, _PRODUCTS // x.shape[1]))
    near, flipped, far = neighbors(x)
    d = np.zeros((len(near), x.shape[1]), np.uint8)
    d[np.arange(len(near)), flipped] = 1
    climbed = len(near) >= max(_EQUATIONS * x.shape[1], _CLIMBED * len(x))
    for model in (Walsh(max_rows=_FEW, screened=0), Walsh(max_rows=more, screened=_SCREENED)):
        rng = np.random.default_rng(0)
        function = model.fit(x, values, rng=rng)
        strength, r2 = function.pair_strengths(), function.r2
        if climbed:
            by_differences = model.fit_differences(x[near], d, values[far] - values[near], rng=rng)
            strength = _scaled(by_differences.pair_strengths()) + _VALUES * _scaled(strength)
            r2 = by_differences.r2
        if r2 >= _ENOUGH:
            break
    if not climbed and 1.0 - function.r2 > _HELPS * error:
        if error > _NEARLY:
            return None
        strength = np.zeros_like(strength)
    flips = trace.top[:1] ^ np.eye(x.shape[1], dtype=np.uint8)
    effect = scale * (function.predict(flips) - function.predict(trace.top[:1]))
    return Interactions(strength=strength, r2=r2, rows=min(len(x), model.max_rows), effect=effect)


def _scaled(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    return strength / (float(strength.max()) or 1.0)


def neighbors(x: Bits) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of rows of x, shape (rows, n), that differ in one variable: a row, the variable, the other row.

    Rows are compared by hashes: the exclusive or of a random word for each variable that is one.
    """
    words: NDArray[np.uint64] = np.random.default_rng(1).integers(0, 2**63, size=(x.shape[1],), dtype=np.uint64)
    hashes = np.array([np.bitwise_xor.reduce(words[row != 0]) for row in x], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    found = []
    for variable, word in enumerate(words):
        zeros = np.flatnonzero(x[:, variable] == 0)
        wanted = hashes[zeros] ^ word
        at = np.minimum(np.searchsorted(ranked, wanted), len(x) - 1)
        hits = np.flatnonzero(ranked[at] == wanted)
        found.append((zeros[hits], np.full(len(hits), variable), order[at[hits]]))
    near, flipped, far = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return near, flipped, far


# ---------------------------------------------------------------- groups


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """Dependence of pairs of variables, and the groups that they form.

    Attributes
    ----------
    strength
        Dependence of each pair, shape (n, n), from 0 to 1, which is the strongest; the diagonal is 0.
    order
        The variables, shape (n,), so that those that interact are neighbors.
    groups
        Variables that interact, strongest group first, each in ascending order; none has fewer than two.
    source
        A text that says where the strengths come from.
    """

    strength: NDArray[np.float32]
    order: NDArray[np.intp]
    groups: tuple[tuple[int, ...], ...]
    source: str

    def sentences(self, labels: Sequence[str], most: int = 12) -> list[str]:
        """Return a sentence for each group, up to `most` of them."""
        if not self.groups:
            return [NO_INTERACTIONS]
        said = [self._sentence(group, labels) for group in self.groups[:most]]
        return said + ([f"There are {len(self.groups) - most:,} more groups."] if len(self.groups) > most else [])

    def _sentence(self, group: tuple[int, ...], labels: Sequence[str]) -> str:
        named = ", ".join(labels[i] for i in group[:_MOST_NAMED])
        more = f" and {len(group) - _MOST_NAMED:,} others" if len(group) > _MOST_NAMED else ""
        pairs = self.strength[np.ix_(group, group)][np.triu_indices(len(group), 1)]
        is_block = pairs.min() >= _BLOCK * pairs.max()
        return f"{named}{more} interact{'' if is_block else ', some only through others'}."


def learned_linkage(result: Result, variables: Variables) -> Linkage | None:
    """Return which variables interact, as far as the run has learned; if it kept many candidates, it takes seconds."""
    return _of_variables(linkage_of(result.trace), variables)


def believed_linkage(result: Result, variables: Variables) -> Linkage | None:
    """Return which variables interact as the search itself believed, which takes no time; None if it has no view."""
    return _of_variables(search_linkage(result.trace), variables)


def linkage_of(trace: Trace | None) -> Linkage | None:
    """Return which bits interact: what the candidates show, or else what the search believed; None for neither.

    The candidates are better evidence: a population that is too small to see a block has still evaluated candidates
    that show it.
    """
    return function_linkage(trace) or search_linkage(trace)


def function_linkage(trace: Trace | None) -> Linkage | None:
    """Return which bits interact according to the evaluated candidates; None if they are too few."""
    found = None if trace is None else interactions_of(trace)
    if found is None or (found.r2 < TRUSTED and not found.is_sum):
        return None
    share = "all" if found.r2 > _ALL else f"{100 * found.r2:.1f}%"
    source = f"a model of {found.rows:,} evaluated candidates, which explains {share} of the variance it has not seen"
    return _linkage(found.strength, found.strength, source)


def search_linkage(trace: Trace | None) -> Linkage | None:
    """Return which bits interact as the search believed, in all its generations together."""
    if trace is None or trace.linkage is None or len(trace.linkage) < 2:
        return None
    strength = np.maximum(trace.linkage, trace.linkage.T).astype(np.float64)
    pairs = strength[np.triu_indices(len(strength), 1)]
    middle = float(np.median(pairs))
    spread = 1.4826 * float(np.median(np.abs(pairs - middle)))
    return _linkage(strength, np.where(strength > middle + _DEVIATIONS * spread, strength, 0.0), trace.source)


def _linkage(strength: NDArray[np.float64], linked: NDArray[np.float64], source: str) -> Linkage:
    """Return the groups of pairs that are linked, with the strengths of all pairs."""
    strength = strength.copy()
    np.fill_diagonal(strength, 0.0)
    order, groups = cluster(linked)
    return Linkage(strength=_scaled(strength).astype(np.float32), order=order, groups=groups, source=source)


def cluster(strength: NDArray[np.float64]) -> tuple[NDArray[np.intp], tuple[tuple[int, ...], ...]]:
    """Return variables in the order of an average-linkage tree, and the groups in it, strongest first.

    The tree is of strengths as a share of the strongest that each of two variables has, so that weak groups are found
    beside strong ones.
    """
    n, top = len(strength), float(strength.max(initial=0.0))
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


def _of_variables(linkage: Linkage | None, variables: Variables) -> Linkage | None:
    """Return the linkage of variables from that of their bits: two are as dependent as any of their bits."""
    if linkage is None or variables.are_bits:
        return linkage
    starts, of_bit = variables.starts, variables.of_bit
    strength = np.maximum.reduceat(np.maximum.reduceat(linkage.strength, starts, axis=0), starts, axis=1)
    np.fill_diagonal(strength, 0.0)
    groups: list[set[int]] = []
    for bits in linkage.groups:
        group = set(of_bit[list(bits)].tolist())
        for other in [one for one in groups if one & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    several = tuple(tuple(sorted(group)) for group in groups if len(group) > 1)
    order = list(dict.fromkeys([*(k for group in several for k in group), *of_bit[linkage.order].tolist()]))
    return Linkage(strength=strength, order=np.array(order, np.intp), groups=several, source=linkage.source)


# ---------------------------------------------------------------- importance


def losses(result: Result, variables: Variables) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Return by how much the best value gets worse with another value of each variable, and whether by that alone.

    If no candidate tells, a loss is taken from a model, provided that the model explains all candidates; else it is
    nan.
    """
    trace = result.trace
    if trace is None:
        return None
    sign = 1.0 if result.minimize else -1.0
    with np.errstate(invalid="ignore"):
        seen = sign * (trace.others - result.fitness)
        alone = sign * np.where(np.isnan(trace.flips), _modeled_flips(result, trace), trace.flips)
    exact = ~np.isnan(alone)
    if variables.are_bits:
        return _without_rounding(np.where(exact, alone, seen)), exact
    # Another value of a variable differs in some of its bits, and in whatever else was changed with them.
    return _without_rounding(np.fmin.reduceat(seen, variables.starts)), np.zeros(len(variables.labels), np.bool_)


def _modeled_flips(result: Result, trace: Trace) -> Fitness:
    """Return the change of the value if each bit of x is flipped alone, shape (n,), from a complete model; else nan.

    In a space, a flip need not lead to another value. A flip that would improve the best candidate, and was not tried,
    is not allowed, or the model is wrong.
    """
    unknown = np.full(result.n, np.nan)
    if result.space is not None or not len(trace.top) or (trace.top[0] != result.x).any():
        return unknown
    found = interactions_of(trace) if np.isnan(trace.flips).any() else None
    if found is None or found.r2 < _ALL:
        return unknown
    is_worse = found.effect >= 0 if result.minimize else found.effect <= 0
    return np.where(is_worse, found.effect, np.nan)


def ranked(loss: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the variables whose loss is known, the most important first; equal ones stay in their order."""
    known = np.flatnonzero(np.isfinite(loss))
    largest = np.abs(loss[known]).max(initial=0.0)
    rounded = np.rint(loss[known] / largest / _ROUNDING) if largest > 0 else loss[known]
    return known[np.argsort(-rounded, kind="stable")]


def _without_rounding(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.abs(loss[np.isfinite(loss)]).max(initial=0.0)
    return np.where(np.abs(loss) <= _ROUNDING * largest, 0.0, loss)
