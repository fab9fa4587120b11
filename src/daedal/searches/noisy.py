"""Noisy objectives: any search, and a contest that measures again what it has found.

`averaged` spends most of the evaluations on a search. Of thousands of noisy values the best is mostly a lucky one, so
the rest is spent on contenders: candidates that the search itself would answer with, maxima of models of all values,
and candidates that had the best values. They are measured in rounds, and the better half stays (successive halving).
The winner is measured once more. Only these last values are reported, because they had no part in the choice.

`univariate_populations` is a search that suits noise, because a population averages over it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine, Search
from daedal.limits import meets
from daedal.models.univariate import UMDA
from daedal.rng import Stream
from daedal.searches.eda import POPULATION_GENERATIONS, POPULATION_PATIENCE, eda
from daedal.searches.presets import fits_memory
from daedal.surrogates.ridge import ridge
from daedal.surrogates.walsh import FEWEST, Walsh

SHARE = 0.12
"""Share of the evaluations that is reserved for the contest."""

FRESH, CHECKS = 3, 10
"""One in three evaluations of a contest is for the winner alone; at most one in ten of all is for checking a target."""

LEAST_CONTEST, FEW_RESERVED = 120, 6
"""Minimum evaluations of a contest without a budget, and with one (but then at most a third of the budget)."""

MOST_CONTENDERS, ROUND = 16, 3
"""Maximum number of contenders; it is halved until each gets about three measurements per round."""

CHECKED = 10
"""Measurements of a candidate that seems to have reached the target, unless `repeats` says otherwise."""

INTERIM = 500
"""Evaluations before the first contest if the end of the run is not known in evaluations; they double from then on."""

DOUBT, UNSURE = 1.0, 3.0
"""Standard errors by which another contender has to be better than the first one, and those below its mean at which a
candidate is ranked: by so much the best of many single values is too good."""

TOPS = 64
"""Candidates with the best values that are remembered."""

MODELED = 10_000
"""Candidates that the models are fitted to, at most, evenly spread over the run. The first ones differ most, and say
most about single variables."""

_MODEL, _MAXIMA = Walsh(screened=0), 2
# True value of the answer, seeds 0-39, with both models / without Walsh's / without any: OneMax n=50 (sd 5, 300
# evaluations) 45.3 / 45.3 / 37.2; trap k=4 n=40 (sd 2, 3,000) 33.7 / 30.9 / 30.0; interact n=60 (sd 2, 1,000) 41.6 /
# 40.5 / 39.1.


async def averaged(f: Engine, search: Callable[[Engine], Search], *, repeats: int | None = None) -> None:
    """Let a search spend most of the evaluations, and choose the answer by repeated measurements with the rest.

    Every candidate that the search asks for is evaluated, also one that was evaluated before. If the end of the run is
    not known in evaluations, because there is no budget or a limit on the time, contests take place on the way, too.
    A candidate that seems to reach the target is measured again at once.

    Parameters
    ----------
    f
        The engine.
    search
        Makes the search, such as `univariate_populations`. It sees its own share of the budget as `f.left`.
    repeats
        How often the answer is measured at least, if the budget allows it. Default: a share of the budget.
    """
    contest = Contest(f, repeats)
    contest.hear(f.archive.order, [f.archive[c] for c in f.archive.order])
    f.repeat, f.on_values = True, contest.hear

    def is_share_spent() -> bool:
        return f.left == 0 or f.over is not None

    while True:
        f.reserved = 0 if f.left is None else f.left - search_share(f.left, repeats)
        searching = f.start(search(f))
        try:
            while not searching.finished and not is_share_spent():
                await f.values_arrive()
                if contest.is_due:
                    await f.until(contest.hold(everything=False), is_share_spent)
                elif contest.is_target_in_sight:
                    await f.until(contest.check(), is_share_spent)
            ended, is_spent = searching.finished or f.over is not None, f.left == 0
        finally:
            f.end(searching)
            f.reserved = 0
        await contest.hold(everything=is_spent)
        if ended or not f.left:
            return
        f.seed = int(f.stream(Stream.RESTART, contest.heard).integers(2**63))  # the budget has grown


# ---------------------------------------------------------------- the contest


@dataclass(slots=True)
class Mean:
    """The mean of the measurements of one candidate; -inf if one of them is -inf."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared differences from the mean (Welford's method)

    def add(self, value: float) -> None:
        """Take one more measurement."""
        self.count += 1
        if -math.inf in (value, self.mean):
            self.mean, self.squares = -math.inf, 0.0
            return
        before = self.mean
        self.mean += value / self.count - before / self.count
        self.squares += (value - before) * (value - self.mean)

    @property
    def error(self) -> float | None:
        """Standard error of the mean; None for fewer than two measurements."""
        if self.count < 2 or self.mean == -math.inf:
            return None
        return math.sqrt(max(0.0, self.squares) / (self.count - 1) / self.count)


def noise_of(means: Iterable[Mean]) -> float:
    """Return the standard deviation of the values of one candidate, from all candidates; 0 if none has two values."""
    repeated = [one for one in means if one.count > 1 and one.mean > -math.inf]
    times = sum(one.count - 1 for one in repeated)
    variance = sum(one.squares for one in repeated) / times if times else 0.0
    return math.sqrt(variance) if 0 <= variance < math.inf else 0.0


class Contest:
    """Takes all values that arrive, says what the answer is, and measures contenders.

    The answer is updated as values arrive, since the run may end with any of them.
    """

    def __init__(self, f: Engine, repeats: int | None) -> None:
        self.f, self.repeats = f, repeats
        self._first = len(f.archive)  # climbs of `auto` before that mislead models: 25.3 against 26.5 on trap k=4, 300
        self.heard = 0  # values that arrived
        self._check_size = CHECKED if repeats is None else max(2, repeats)
        self._checked = 0  # evaluations that were spent on checks
        self._interim = INTERIM
        self._is_settled = False  # whether the answer was measured on purpose
        self._tops: dict[int, Mean] = {}  # candidates with the best values
        self._rounds: dict[int, Mean] = {}  # contenders, with the values of this contest
        self._leader: int | None = None  # the best one of them after a round
        self._winner: int | None = None  # the candidate that is measured once more
        self._fresh, self._wanted = Mean(), 0  # of its last values alone, and how many there will be
        self._is_final = False  # whether it has won a contest, or is only checked
        self._agreed = deque([f.contenders], maxlen=16)  # what the last populations would answer
        self._said: str | Callable[[], str] = ""  # what the search has to say

    def hear(self, candidates: Sequence[int], values: Sequence[float]) -> None:
        """Take values of candidates, and update the answer.

        Of a batch that was broken off, only those of the winner count: the luckiest other value would be the answer,
        because nothing is left to measure it again.
        """
        is_partial = self.f.is_broken_off and self.heard > 0
        for c, value in zip(candidates, values, strict=True):
            if c == self._winner:
                self._fresh.add(value)
            if is_partial:
                continue
            self._tops.setdefault(c, Mean()).add(value)
            if c in self._rounds:
                self._rounds[c].add(value)
        self.heard += len(candidates)
        if len(self._tops) > 2 * TOPS:
            kept = set(self._ranked()[:TOPS])
            self._tops = {c: mean for c, mean in self._tops.items() if c in kept}
        if self.f.contenders not in self._agreed:
            self._agreed.append(self.f.contenders)
        if self.f.explanation != self.explain:
            self._said, self.f.explanation = self.f.explanation, self.explain
        if self.heard:
            self._update_answer()

    def _update_answer(self) -> None:
        fresh, target = self._fresh, self.f.target
        is_complete = self._winner is not None and fresh.count >= self._wanted
        is_met = is_complete and fresh.count > 1 and target is not None and meets(fresh.mean, target)
        if self._winner is not None and (is_met or (self._is_final and is_complete)):
            self._is_settled = True
            answer, found = self._winner, fresh
        elif self._is_settled:
            return
        elif self._winner is not None and self._is_final and fresh.count > 1:  # unless the run ends here
            answer, found = self._winner, fresh
        elif self._leader is not None:
            answer, found = self._leader, self._rounds[self._leader]
        else:
            answer = self._ranked()[0]
            found = self._tops[answer]
        self.f.is_measured = self._is_settled
        self.f.answer(answer, found.mean, error=found.error, measurements=found.count)

    def _ranked(self) -> list[int]:
        """Return the candidates with the best values, the one that is most surely good first."""
        tops, noise = self._tops, noise_of(self._tops.values())
        return sorted(tops, key=lambda c: UNSURE * noise / math.sqrt(tops[c].count) - tops[c].mean)

    def explain(self) -> str:
        """Return what the search has to say, and how the answer was chosen."""
        said = self._said if isinstance(self._said, str) else self._said()
        if not self._is_settled:
            return said
        return f"{said} The answer was chosen by the means of repeated measurements.".strip()

    @property
    def is_due(self) -> bool:
        """Whether it is time for a contest although the search has not ended."""
        return (self.f.left is None or self.f.timed) and self.heard >= self._interim

    @property
    def is_target_in_sight(self) -> bool:
        """Whether a candidate seems to reach the target, and there are enough evaluations to check that."""
        target, left, wanted = self.f.target, self.f.left, self._check_size
        is_paid = self._checked + wanted <= max(wanted, self.heard // CHECKS) and (left is None or left >= wanted)
        return is_paid and target is not None and meets(self._tops[self._ranked()[0]].mean, target)

    async def check(self) -> None:
        """Measure the candidate again that seems to reach the target."""
        self._checked += self._check_size
        await self._measure_alone(self._ranked()[0], self._check_size, is_final=False)

    async def hold(self, *, everything: bool) -> None:
        """Measure contenders, halve them until one is left, and measure that one; see `plan_contest`."""
        f, plan = self.f, plan_contest(self.heard, self.f.left, self.repeats, everything=everything)
        chosen = self._choose(plan.contenders) if self.heard and plan.final else []
        if not chosen:
            return
        self._rounds, halving = {c: Mean() for c in chosen}, plan.halving
        try:
            while len(chosen) > 1:
                rounds = (len(chosen) - 1).bit_length()
                times = max(1, halving // (rounds * len(chosen)))  # all rounds cost alike
                halving = max(0, halving - times * len(chosen))
                await f.measure(chosen * times)
                ranked = self._ranked_contenders(chosen)
                self._leader = ranked[0]
                stays = ranked[: -(-len(chosen) // 2)]
                chosen = [c for c in chosen if c in stays]
            rest = f.left if everything and f.left is not None else halving + plan.final
            await self._measure_alone(chosen[0], rest, is_final=True)
        finally:
            self._rounds, self._leader = {}, None
            if not everything:
                self._interim = 2 * self.heard

    async def _measure_alone(self, candidate: int, times: int, *, is_final: bool) -> None:
        self._winner, self._is_final, self._fresh, self._wanted = candidate, is_final, Mean(), times
        if list(self._tops) == [candidate]:  # there was no choice at all, so all its values count
            self._fresh, self._wanted = replace(self._tops[candidate]), self.heard + times
        try:
            await self.f.measure([candidate] * times)
        finally:
            self._winner = None

    def _ranked_contenders(self, chosen: list[int]) -> list[int]:
        """Return contenders, the best first; the first one stays that until another one is surely better."""
        means, noise, first = self._rounds, noise_of(self._rounds.values()), chosen[0]

        def key(c: int) -> float:
            error = noise * math.sqrt(1 / means[c].count + 1 / means[first].count)
            return (0.0 if c == first else DOUBT * error) - means[c].mean

        return sorted(chosen, key=key)

    def _choose(self, contenders: int) -> list[int]:
        """Return the contenders, at least one, those first that are most likely to be good."""
        f = self.f
        own = [c for ask in reversed(self._agreed) for c in ask()]
        ranked, found = self._ranked(), own
        if contenders > 1:
            maxima = model_maxima(f, self._first, own or ranked[:1], f.stream(Stream.CONTEST, self.heard))
            found = maxima[:1] + own + maxima[1:]
        if self._is_settled and f.best is not None:
            found = [*found, f.best]
        return list(dict.fromkeys(f.repaired(found + ranked)))[:contenders]


def model_maxima(f: Engine, first: int, start: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return the maxima of a linear and of a Walsh model, which average over the noise of all but the first values."""
    places = np.arange(first, len(f.archive), 1 + (len(f.archive) - first) // MODELED)
    rows, values = f.archive.rows(places), np.array([f.archive[f.archive.order[at]] for at in places])
    if np.isfinite(values).sum() < FEWEST:
        return []
    values, found = np.where(np.isfinite(values), values, values[np.isfinite(values)].min()), [rows[:0]]
    weights, r2 = ridge(rows, values)
    if r2 > 0:
        found.append((weights > 0).astype(np.uint8)[None])
    function = _MODEL.fit(rows, values, rng=rng)
    if function.r2 > 0:
        found.append(function.maxima(_MAXIMA, rng=rng, start=to_rows(start, f.n)))
    return to_candidates(np.concatenate(found))


# ---------------------------------------------------------------- how the evaluations are shared out


class Plan(NamedTuple):
    """The number of contenders, and the evaluations for halving them and for the winner alone."""

    contenders: int
    halving: int
    final: int


def search_share(evaluations: int, repeats: int | None = None) -> int:
    """Return how many of the evaluations are for the search: all but a share for the contest, and at least one.

    Examples
    --------
    >>> search_share(1000), search_share(1000, 500), search_share(10, 5), search_share(2, 5), search_share(1)
    (880, 420, 4, 1, 1)
    """
    few = min(FEW_RESERVED, evaluations // 3)
    return min(evaluations, max(1, evaluations - _contest_share(evaluations, repeats or 0, few=few)))


def _contest_share(evaluations: int, repeats: int, *, few: int) -> int:
    """Return the evaluations of a contest: a share of all, or those for `repeats` and for the choice before."""
    share = round(SHARE * evaluations)
    choice = share - share // FRESH
    return max(few, share, repeats + min(choice, max(0, evaluations - repeats) // 2))


def plan_contest(spent: int, left: int | None, repeats: int | None = None, *, everything: bool) -> Plan:
    """Return how the evaluations of a contest are shared out.

    It gets all that are left if `everything` is True, and else the share that belongs to those that are spent.
    """
    least = repeats or 0
    total = _contest_share(math.ceil(spent / (1 - SHARE)), least, few=LEAST_CONTEST + least)
    if left is not None:
        total = left if everything else min(left, total)
    final = min(total, max(least, -(-total // FRESH)))
    contenders = 1  # as many as the evaluations can tell apart
    while contenders < MOST_CONTENDERS and 2 * contenders * ROUND * contenders.bit_length() <= total - final:
        contenders *= 2
    return Plan(contenders, total - final, final) if contenders > 1 else Plan(1, 0, total)


# ---------------------------------------------------------------- a search for noise

POPULATIONS, FIRST_POPSIZE, LEAST_POPSIZE = 4, 100, 10
"""Number of populations and size of the first one without a budget, and the smallest size."""


async def univariate_populations(f: Engine, *, because: str = "the objective is noisy") -> None:
    """Run populations of independent bits (UMDA), one after the other, each twice as large as the one before.

    A population averages over noise, while a climber follows chance: the bits that most members agree on are better
    than the candidate that happened to get the best value.
    """
    f.explanation = f"umda, because {because}."
    popsize, initial, seed, restarts = noisy_popsize(f.left), f.initial, f.seed, 0
    while True:
        await eda(
            f,
            model=UMDA(),
            popsize=popsize,
            seed=seed,
            initial=None if initial is None else initial[:popsize],
            max_generations=POPULATION_GENERATIONS,
            patience=POPULATION_PATIENCE,
        )
        restarts += 1
        if f.left is None and restarts == POPULATIONS:
            return
        if fits_memory(2 * popsize, f.n):
            popsize *= 2
        initial, seed = None, int(f.stream(Stream.RESTART, restarts).integers(2**63))


def noisy_popsize(evaluations: int | None) -> int:
    """Return a population size that is large enough for chance not to decide, and small enough to converge.

    The power was chosen on seeds 0-19: with 2.2 times the root of the evaluations, trap k=4 n=40 (noise of sd 2) comes
    to 32.8 after 3,000 evaluations instead of 35.5; OneMax and `interact` are level.

    Examples
    --------
    >>> noisy_popsize(300), noisy_popsize(3000)
    (38, 215)
    """
    if evaluations is None:
        return FIRST_POPSIZE
    most = min(evaluations, 10**9)
    return max(LEAST_POPSIZE, min(most // 3, round(0.53 * math.pow(most, 0.75))))
