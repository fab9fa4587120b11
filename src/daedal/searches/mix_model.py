"""The model of `mix`: a sparse Walsh function, fitted when it is likely to pay.

Nothing is evaluated for the model's sake. Every candidate that is a small change of another one is an equation: the
difference of their values, and the variables that were flipped. The model's maxima are evaluated, climbs may begin
there, and it proposes values for groups of variables when candidates are mixed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine
from daedal.rng import Stream
from daedal.searches.mix_constraints import Constraints
from daedal.types import Bits, Fitness, is_feasible

if TYPE_CHECKING:
    from daedal.surrogates.walsh import Walsh
    from daedal.surrogates.walsh_function import WalshFunction

FIRST, FULL = 10, 60
"""Equations per variable from which on the model is fitted: pairs alone, and sets of up to five variables. Spin glasses
and MaxCut are found exactly from 10 to 16, pairs explain no more than 0.75 there of anything else. Larger sets help on
NK and MAX-SAT only (3,341 and 10,176 evaluations from 60 on, 3,987 and 11,387 from the start: no difference), and cost
20 times as much."""

SOON, LATER, RARELY, HOPE, DECIDED = 1.25, 1.6, 4.0, 0.7, 13
"""Factors by which the equations grow until the next fit: of a model that has got much better with few equations per
variable; that explains much or has larger sets; and of any other. On HIFF, where pairs explain 0.5 to 0.85 however many
equations there are, that makes two fits instead of five. With larger sets from 60 equations per variable on instead of
RARELY, nk_30_4.1 takes 0.87 times the evaluations (130 runs), but steptrap:k=5,n=50 twice as many (36 runs)."""

BETTER, GOOD, LEAST = 0.85, 0.9, 0.05
"""Share of the error left by a fit that has got much better; r2 of a model that may become exact at any time, and at
whose maxima climbs begin; and r2 below which a model is not used."""

MAXIMA = 8
"""Maxima of the model that are evaluated after each fit, unless more candidates can be evaluated at once."""

LEVEL, SHARE, OPTIMISM, DECAY = 0.5, 0.02, (1.0, 4.0), 1 - 1 / 256
"""When groups are mixed, the model competes with other members: share of the population that a candidate has to exceed
to be a success; least share of each source; successes and trials that each is credited with at first; and the factor by
which older ones count less. This saves 0.21 of the evaluations on
nk_30_4.1, 0.34 on s3v80c1000-1, and 0.31 on hiff:n=128."""

_MOST_ENTRIES = 2**28  # bits of all equations of a fit


class Model:
    """What is known of the objective: a Walsh function, and how often its proposals were successful.

    Parameters
    ----------
    f
        The engine.

    Attributes
    ----------
    function
        The last function that was fitted and is worth using; None without one.
    r2
        Share of the variance that the last fit explains of what it has not seen.
    offered
        Maxima at which climbs of the next population should begin.
    members
        The population when the generation began.
    wanted
        Value that a candidate has to exceed to be a success.
    share
        How often the function proposes the values of a group; otherwise, another member does.
    """

    def __init__(self, f: Engine) -> None:
        self.f = f
        self.function: WalshFunction | None = None
        self.r2 = 0.0
        self.offered: list[int] = []
        self.members: list[int] = []
        self.wanted = -math.inf
        self.share = 0.0
        self._draws = np.array([f.stream(Stream.FIT).bit_generator.random_raw()], dtype=np.uint64)
        self._last, self._row = 0, np.zeros(f.n, np.uint8)  # of the last proposal
        self._inside: dict[int, NDArray[np.intp]] = {}  # the variables of groups
        self._trials, self._successes = [0.0, 0.0], [0.0, 0.0]  # of other members, and of the function

    def begin(self, members: list[int]) -> None:
        """Begin a generation with these members: the nearest of them counts as the parent of a maximum."""
        self.members = members
        self._inside.clear()
        self.wanted = sorted(self.f.archive[x] for x in members)[int(LEVEL * (len(members) - 1))]

    # ------------------------------------------------------------ learning

    async def learn(self) -> None:
        """Fit the function again and again as equations arrive, and evaluate its maxima."""
        f, seen, equations, due, fits = self.f, 0, 0, FIRST * self.f.n, 0
        while not f.archive.outputs:
            equations += sum(parent is not None for parent in f.archive.parents[seen:])
            seen = len(f.archive.parents)
            if equations < due:
                await f.values_arrive()
                continue
            before, fits, full = self.r2, fits + 1, equations >= FULL * f.n
            rng = f.stream(Stream.FIT, fits)
            self._fit(full, rng)
            is_better = 1 - self.r2 < BETTER * (1 - min(before, 0.999))
            promising = is_better and (full or self.r2 >= GOOD or equations < DECIDED * f.n)
            growth = SOON if promising else LATER if full or (is_better and self.r2 >= HOPE) else RARELY
            if self.function is not None:
                await self._evaluate_maxima(self.function, rng)
            due = int(growth * equations) + 1
        await self._learn_constraints(fits)

    async def _learn_constraints(self, fits: int) -> None:
        """Model the objective and each constraint instead, since there are constraints."""
        self.function, self.share = None, 0.0
        f, constraints = self.f, Constraints(self.f, lambda: walsh_for(self.f.n, full=True))
        while True:
            if not constraints.is_due:
                await f.values_arrive()
                continue
            fits += 1
            candidates = constraints.propose(max(MAXIMA, f.width // 4), f.stream(Stream.FIT, fits))
            self.r2 = constraints.r2
            f.report(**{**f.info, "r2": self.r2})
            await self._evaluate(f.repaired(candidates), offer=not constraints.is_probing)

    def _fit(self, full: bool, rng: np.random.Generator) -> None:
        model = walsh_for(self.f.n, full=full)
        x, d, df = self._equations(2 * model.max_rows, rng)
        function = model.fit_differences(x, d, df, rng=rng, previous=self.function)
        self.r2 = function.r2
        self.function = function if function.r2 >= LEAST else None
        self._update_share()
        self.f.report(**self.f.info | {"r2": self.r2, "terms": len(function.terms)})

    def _equations(self, most: int, rng: np.random.Generator) -> tuple[Bits, Bits, Fitness]:
        """Return a random part of the equations: candidates, the variables flipped, and the differences of values."""
        archive, n = self.f.archive, self.f.n
        most = min(most, max(1, _MOST_ENTRIES // n))
        places = range(len(archive.order))
        if len(places) > most:
            places = np.sort(rng.choice(len(places), most, replace=False, shuffle=False)).tolist()
        pairs = [(p, archive.order[at]) for at in places if (p := archive.parents[at]) is not None and p in archive]
        before = np.array([archive.values[p] for p, _ in pairs])
        after = np.array([archive.values[c] for _, c in pairs])
        x = to_rows([p for p, _ in pairs], n)
        d = x ^ to_rows([c for _, c in pairs], n)
        kept = is_feasible(before) & is_feasible(after) & (d.sum(axis=1) <= max(2, n // 4))
        return x[kept], d[kept], after[kept] - before[kept]

    async def _evaluate_maxima(self, function: WalshFunction, rng: np.random.Generator) -> None:
        """Evaluate maxima of the function."""
        f = self.f
        assert f.best is not None
        rows = function.maxima(max(MAXIMA, f.width // 4), rng=rng, start=to_rows([f.best], f.n))
        await self._evaluate(f.repaired(to_candidates(rows)), offer=True)

    async def _evaluate(self, maxima: list[int], *, offer: bool) -> None:
        """Evaluate candidates of a model, and offer them for climbs if it is good."""
        f = self.f
        if offer and self.r2 >= GOOD:
            self.offered = maxima
        assert f.best is not None
        near = self.members or [f.best]
        new = [x for x in maxima if x not in f.archive]
        parents = [min(near, key=lambda other: (other ^ x).bit_count()) for x in new]
        await f.together((f([x], parent) for x, parent in zip(new, parents, strict=True)), lambda: len(new))

    # ------------------------------------------------------------ proposals

    def proposal(self, x: int, group: int) -> int:
        """Return x with a local maximum of the function within a group of variables, climbed to from random bits."""
        assert self.function is not None
        inside = self._inside.get(group)
        if inside is None:
            inside = self._inside[group] = np.flatnonzero(to_rows([group], self.f.n)[0])
        if x != self._last:
            self._last, self._row = x, to_rows([x], self.f.n)[0]
        row = self._row.copy()
        self.function.climb_within(row, inside, self._draws)
        return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")

    def credit(self, by_function: bool, success: bool) -> None:
        """Note whether a proposal was successful: a source is used by the square of its rate of success."""
        for source in (0, 1):
            self._trials[source] *= DECAY
            self._successes[source] *= DECAY
        self._trials[by_function] += 1
        self._successes[by_function] += success
        self._update_share()

    def _update_share(self) -> None:
        if self.function is None:
            self.share = 0.0
            return
        successes, trials = OPTIMISM
        of_members, of_function = (
            (successes + good) ** 2 / (trials + tried) ** 2
            for good, tried in zip(self._successes, self._trials, strict=True)
        )
        self.share = SHARE + (1 - 2 * SHARE) * of_function / (of_members + of_function)


def walsh_for(n: int, *, full: bool) -> Walsh:
    """Return how the function is fitted: pairs alone, or larger sets, too."""
    from daedal.surrogates.walsh import Walsh  # here, because Numba is slow to load

    rows = 3000 if n <= 60 else 8000
    if full:
        return Walsh(max_rows=rows, candidates=1000, screened=0)
    return Walsh(max_rows=min(rows, max(3000, 25 * n)), max_order=2, screened=0)
