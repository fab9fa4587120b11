"""`mix`: climb, mix what has climbed, and begin again with more members when nothing improves.

A candidate climbs by trying all flips at once and merging those that gain. The climbed candidates are a population, and
its linkage tree shows which variables interact. Such groups of variables are copied from member to member if that makes
the member no worse. When no member improves any more, the search begins again with a larger population.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import squareform

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine
from daedal.rng import Stream
from daedal.searches.algorithm import Insight, information
from daedal.searches.mix_model import Model
from daedal.types import INFEASIBLE, Bits

MEMBERS = 14
"""Members of the first population: with fewer, a building block is too often in none of them."""

GROWTH = 1.4
"""Factor by which the population grows when it no longer improves."""

SIDE_BY_SIDE = 16
"""Climbs or mixings under way at the same time, at most, unless more candidates can be evaluated at once."""

EARLY, EARLY_FOR = 3, 16
"""Climbs side by side, at most, at first, and evaluations per variable for which that holds. The model is fitted then,
and needs fewer candidates if they come one climb after the other (spin_64_0: 853 evaluations with 16, 723 with 4)."""

WIDE = 8
"""Candidates of a wide batch per member. A mixing then tries 16 groups at once instead of 2."""

MOST_BITS = 2**22
"""Bits of all the probes that one climb asks for at once, at most."""

LARGEST_TREE = 2048
"""Variables in one linkage tree, at most, because its distances are a matrix."""

ROUNDING, ADDITIVE, PROVEN = 1e-9, 1e-6, 4
"""Share of the largest gain below which a gain is rounding; by which gains may miss their sum; and the number of single
merges in a row whose gains added up, after which two are tried together again."""

JITTER, INSEPARABLE = 1e-9, 1e-6
"""Random part of distances, which decides between equal ones, and the distance below which a group is not split."""

_QUIET = 8  # generations without a new candidate, after which one is evaluated because it is new


@dataclass
class Pace:
    """How many gains are merged at once, which all climbs learn together."""

    chunk: int = 2  # gains
    proven: int = 0  # single merges in a row whose gains added up
    ended: int = 0  # climbs


async def mix(f: Engine, *, members: int = MEMBERS, model: bool = True) -> None:
    """Climb and mix with ever larger populations, until every candidate has been evaluated.

    Parameters
    ----------
    f
        The engine.
    members
        Members of the first population.
    model
        If True, a sparse Walsh model is fitted to differences of values, and its maxima are evaluated, too.
    """
    rng, pace = f.stream(Stream.START), Pace()
    draw = random.Random(int(rng.bit_generator.random_raw())).random
    is_wide = f.width > SIDE_BY_SIDE
    if is_wide:
        members = max(members, -(-f.width // WIDE))
    known = quiet = 0
    climbed: list[int] = []
    population: list[int] = []
    f.insight = lambda: _insight(f, population or climbed)
    f.explanation = lambda: _explanation(f, members, model=model)

    def width() -> int:
        """Return how many climbs or mixings go side by side: one until one climb is not enough, then ever more.

        At least one for each worker that has to be kept busy: with 8, they are then busy 0.79 and not 0.66 of the time
        on trap:k=5,n=50 (`benchmarks/workers.py --virtual`).
        """
        if not pace.ended and pace.chunk > 1:
            return 1
        if is_wide:
            return max(SIDE_BY_SIDE, -(-f.width // 2))
        most = EARLY if len(f.archive) < EARLY_FOR * f.n else SIDE_BY_SIDE
        return max(f.width, min(most, 1 + len(f.archive) // f.n))

    async def is_exhausted() -> bool:
        """After some generations without a new candidate, evaluate one; tell whether none is left."""
        nonlocal known, quiet
        quiet = 0 if len(f.archive) > known else quiet + 1
        known = len(f.archive)
        if quiet < _QUIET:
            return False
        quiet = 0
        candidate = f.unseen(rng)
        if candidate is not None:
            await f([candidate])
        return candidate is None

    learned = Model(f)
    learning = f.start(learned.learn()) if model else None
    try:
        starts = [] if f.initial is None else await _best_first(f, to_candidates(f.initial))
        starts = starts[:members] + f.random(members - len(starts), rng)
        while True:
            f.report(**{**f.info, "members": members})
            climbed += await f.together((climb(f, x, pace) for x in starts), width)
            climbed = list(dict.fromkeys(climbed))
            population, improved = climbed[:members], True
            while improved and len(set(population)) > 1:
                before = sorted(population, key=f.archive.values.__getitem__, reverse=True)
                groups = linkage_groups(before, f.n, rng, units=_units(f))
                learned.begin(before)
                donors = [before[i] for i in rng.permutation(len(before)).tolist()]
                mixings = (mix_into(f, x, donors, groups, draw, learned, at_once=16 if is_wide else 2) for x in before)
                population = await f.together(mixings, width)
                improved = any(f.archive[y] > f.archive[x] for x, y in zip(before, population, strict=True))
                if await is_exhausted():
                    return
            await polish(f, pace)
            if await is_exhausted():
                return
            members = math.ceil(GROWTH * members)
            count = max(0, members - len(climbed))
            starts = learned.offered[: -(-count // 2)]
            starts += f.random(count - len(starts), rng)
            learned.offered = []
    finally:
        if learning is not None:
            f.end(learning)


async def climb(f: Engine, x: int, pace: Pace) -> int:
    """Try all flips at once, then make those that gain, the best first, in chunks as long as gains add up."""
    await evaluate(f, [x])
    flipped, gains = await _try_flips(f, x)
    top = max(flipped, key=f.archive.values.__getitem__)
    while _is_better_base(f.archive[top], f.archive[x]):
        x = top
        flipped, gains = await _try_flips(f, x)
        top = max(flipped, key=f.archive.values.__getitem__)
    largest = max((abs(gain) for gain in gains if math.isfinite(gain)), default=0.0)
    better = sorted((i for i, gain in enumerate(gains) if gain > ROUNDING * largest), key=lambda i: -gains[i])
    if (units := _units(f)) is not None:  # of one unit, only the flip that gains most
        better = list({units[i]: i for i in reversed(better)}.values())[::-1]
    if not better:
        pace.ended += 1
        return x
    x, done = flipped[better[0]], 1
    while done < len(better):
        chunk = better[done : done + pace.chunk]
        before, (y,) = f.archive[x], f.repaired([x ^ sum(1 << i for i in chunk)], x)
        expected = before + sum(gains[i] for i in chunk)
        (value,) = await evaluate(f, [y], parent=x)
        if len(chunk) == 1:
            x = y if value >= before else x
            done += 1
            pace.proven = pace.proven + 1 if abs(value - expected) <= ADDITIVE * largest else 0
            if pace.chunk == 1 and pace.proven >= PROVEN:
                pace.chunk, pace.proven = 2, 0
        elif value >= expected - ADDITIVE * largest:
            x, done = y, done + len(chunk)
            pace.chunk = max(pace.chunk, min(2 * len(chunk), f.n))
        else:
            pace.chunk = max(1, min(pace.chunk, len(chunk) // 2))
    pace.ended += 1
    return x


async def _try_flips(f: Engine, x: int) -> tuple[list[int], list[float]]:
    """Return the candidates that differ from x in one bit, and how much better each is."""
    flipped, values, at_once = list[int](), list[float](), max(1, MOST_BITS // f.n)
    for first in range(0, f.n, at_once):
        some = f.repaired([x ^ (1 << i) for i in range(first, min(first + at_once, f.n))], x)
        flipped += some
        values += await evaluate(f, some, parent=x)
    before = f.archive[x]
    if before > INFEASIBLE:
        return flipped, [value - before if value > INFEASIBLE else -math.inf for value in values]
    return flipped, [0.0 if v == before else v - before if v <= INFEASIBLE else math.inf for v in values]


def _is_better_base(value: float, before: float) -> bool:
    """Tell whether gains over `value` say more than those over `before`, which is infeasible."""
    return before <= INFEASIBLE < value or before == -math.inf < value


async def polish(f: Engine, pace: Pace) -> None:
    """Climb from the best candidate as long as that helps: where single flips gain, nothing else tries them all."""
    value = -math.inf
    while f.best is not None and f.archive[f.best] > value:
        value = f.archive[f.best]
        await climb(f, f.best, pace)


async def mix_into(
    f: Engine,
    x: int,
    donors: Sequence[int],
    groups: Sequence[int],
    draw: Callable[[], float],
    model: Model,
    *,
    at_once: int,
) -> int:
    """Copy groups of variables from other members into x, and keep them if x gets no worse.

    Parameters
    ----------
    f
        The engine.
    x
        The member.
    donors
        All members.
    groups
        Groups of variables as masks. Those that follow each other and do not overlap are tried at once.
    draw
        Draws uniform numbers from 0 to 1.
    model
        May propose the values of a group instead of another member, the more often the more successful it is.
    at_once
        Groups that are tried at once, at most.

    Returns
    -------
    int
        The member with all that was kept.
    """
    values, count, place = f.archive.values, len(groups), 0
    some = every = x
    for donor in donors:
        some |= donor
        every &= donor
    while place < count:
        before, trials = values[x], dict[int, bool]()  # each with whether the model proposed it
        taken, share = 0, model.share
        differing = (some & ~x) | (x & ~every)  # variables in which any donor differs from x
        while place < count and len(trials) < at_once and not (group := groups[place]) & taken:
            place += 1
            several = group & (group - 1)
            y = model.proposal(x, group) if several and share and draw() < share else x
            is_modeled = y != x
            if not is_modeled:
                if not group & differing:
                    continue
                y ^= (y ^ _choose_donor(x, donors, group, draw)) & group if several else group
            if values.get(y, before) >= before:  # otherwise it is known to be worse
                trials[y] = is_modeled
                taken |= group
        if not trials:
            continue
        if f.encoding is not None:
            trials = dict(zip(f.repaired(list(trials), x), trials.values(), strict=True))
        new = [y for y in trials if y not in values]
        if new:
            await f(new, x)
            if share:
                for y in new:
                    if (x ^ y) & ((x ^ y) - 1):
                        model.credit(trials[y], values[y] > max(before, model.wanted))
        good = [y for y in trials if values[y] >= before]
        if not good:
            continue
        best = max(good, key=values.__getitem__)
        if len(good) > 1:
            union = x
            for y in good:
                union ^= x ^ y
            (union,) = f.repaired([union], best)
            (value,) = await evaluate(f, [union], parent=best)
            best = union if value >= values[best] else best
        x = best
    return x


def _choose_donor(x: int, donors: Sequence[int], group: int, draw: Callable[[], float]) -> int:
    """Return the first donor that differs from x in a group, from a random one on; there is at least one."""
    own, at = x & group, int(draw() * len(donors))
    while donors[at] & group == own:
        at -= 1
    return donors[at]


async def evaluate(f: Engine, candidates: Sequence[int], parent: int | None = None) -> list[float]:
    """Return the values of candidates; only those that are not in the archive are passed to the engine."""
    values = f.archive.values
    missing = [x for x in candidates if x not in values]
    if missing:
        await f(missing, parent)
    return [values[x] for x in candidates]


def linkage_groups(
    population: Sequence[int], n: int, rng: np.random.Generator, *, units: Sequence[int] | None = None
) -> list[int]:
    """Return the groups of variables of the linkage tree, as masks: average linkage on mutual information.

    Parameters
    ----------
    population
        Candidates.
    n
        Number of variables.
    rng
        Decides between equal distances and the order of groups of one size.
    units
        Numbers of bits, shape (n,): groups do not split bits of the same number.

    Returns
    -------
    list of int
        Masks, the smallest groups first. Groups that no member splits are not split, and the group of all variables is
        left out.

    Examples
    --------
    >>> sorted(linkage_groups([0b0000, 0b0011, 0b1100, 0b1111], 4, np.random.default_rng(0)))
    [3, 12]
    """
    rows, variables = to_rows(population, n), np.arange(n)
    if n > LARGEST_TREE:  # several trees, of random variables
        rng.shuffle(variables)
    masks, sizes = list[int](), list[float]()
    for some in np.array_split(variables, -(-n // LARGEST_TREE)):
        _add_tree(rows[:, some], some, None if units is None else np.asarray(units)[some], rng, masks, sizes)
    order = np.argsort(np.array(sizes) + 0.5 * rng.random(len(sizes)), kind="stable")
    return [masks[g] for g in order.tolist()]


def _add_tree(
    rows: Bits, variables: NDArray[np.intp], units: NDArray[np.int64] | None, rng: np.random.Generator,
    masks: list[int], sizes: list[float],
) -> None:  # fmt: skip
    """Add the groups of one linkage tree over some variables."""
    n = len(variables)
    groups = [1 << i for i in variables.tolist()]
    members, kept = [1.0] * n, [True] * (2 * n - 1)
    if n > 1:
        distances = 1.0 - information(rows)
        constant = np.flatnonzero(rows.min(axis=0) == rows.max(axis=0))
        distances[np.ix_(constant, constant)] = 0.0
        if units is not None:
            distances[units[:, None] == units] = 0.0
        distances = np.triu(distances + JITTER * rng.random((n, n)), 1)
        for a, b, height, size in average(squareform(distances + distances.T, checks=False)).tolist():
            groups.append(groups[int(a)] | groups[int(b)])
            members.append(size)
            if height < INSEPARABLE:
                kept[int(a)] = kept[int(b)] = False
    for g in range(2 * n - 2):
        if kept[g]:
            masks.append(groups[g])
            sizes.append(members[g])


async def _best_first(f: Engine, candidates: Sequence[int]) -> list[int]:
    """Evaluate candidates and return the different ones, the best first."""
    await evaluate(f, candidates)
    return sorted(dict.fromkeys(candidates), key=f.archive.values.__getitem__, reverse=True)


def _units(f: Engine) -> Sequence[int] | None:
    """Return which bits are codes of the same value; None for plain bits."""
    return None if f.encoding is None else f.encoding.units.tolist()


def _insight(f: Engine, members: Sequence[int]) -> Insight | None:
    if not members:
        return None
    return Insight.of_rows(to_rows(members, f.n), np.array([f.archive[x] for x in members]))


def _explanation(f: Engine, members: int, *, model: bool) -> str:
    wide = f" of {f.width} candidates at once" if f.width > SIDE_BY_SIDE else ""
    fitted = ("a fitted model, also of the constraints" if f.archive.outputs else "a fitted model") if model else ""
    how = ", ".join(filter(None, ["hill climbing", f"recombination{wide}", fitted]))
    return f"mix ({how}), with a population of {members:,} at the end"
