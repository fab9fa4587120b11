"""`ils`: iterated local search for few evaluations, some n to fifty n of them.

A climb by single flips goes first. Then the search continues from the best end of a climb by kicks and exchanges, or
from a random candidate. It remembers the gains of flips, and predicts from them which flip to try next, and which flips
to make together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine
from daedal.rng import Stream
from daedal.types import INFEASIBLE

Floats = NDArray[np.float64]

SIDE_BY_SIDE = 4
"""Flips of one climb that are evaluated at the same time, and candidates that wait for their values, at least."""

MOST_PAIRED = 256
"""Variables up to which gains are remembered with a table of pairs."""

UNTRIED = 1e200
"""Worth of a flip that was never tried: more than that of any other."""

_LEAST = 1e-3  # worth of a flip, as a share of a root mean square field, below which a climb does not try it
_ROUNDS = 20  # starts in a row that lead to known candidates alone, before one is evaluated because it is new
_MEMORY = 6.0  # evaluations, in multiples of n, after which what an arm has gained counts half
_ADAPTIVE = 0.7  # share of the evaluations that goes by what arms have gained

_NEAR = 8  # variables that differ, at most, if something is learned of pairs
_CONTEXT = 0.3  # variance of a pair that was seen, as a share of its square: other variables may change it
_REST = 0.03  # and as a share of the variance of one that was not seen
_PRIOR = 5.0  # gains seen, for which the first guess of the variance counts
_LARGEST = 1e100  # whose square is still a number
_TINY = 1e-300  # added to what is worth nothing, or has no variance
_FAR = 6.0  # standard deviations, beyond which a gain is taken as certain
_DENSITY = 1 / math.sqrt(2 * math.pi)
_INFEASIBLE_GAIN = -3.0  # the gain of an infeasible candidate, in root mean square gains


# ---------------------------------------------------------------- what is known of gains


class Gains:
    """Remembered gains of single flips, which predict the gains at any candidate, with a variance.

    With spins s = 2 x - 1, flipping variable i gains -2 s_i h_i, where the field h_i depends on the other variables.
    A field is known where i was last flipped. Elsewhere it differs by 2 c_ij s_j, as far as one knows, for every
    variable j that differs. The pairs c_ij are learned when gains are seen again: a Kalman filter that keeps only the
    diagonal shares each error out among the variables that differ, by their variance. With more than `MOST_PAIRED`
    variables there are no pairs: fields keep their last value, and their variance grows with the number of flips made.

    All methods take a candidate twice: as an integer, and as its spins, shape (n,).

    Parameters
    ----------
    n
        Number of variables.

    Attributes
    ----------
    flips
        Flips made so far by all climbs.
    unit
        The absolute value of the first gain: what fields and pairs are measured in.

    Examples
    --------
    >>> gains = Gains(2)
    >>> gains.learn(0, 0b01, np.array([1.0, -1.0]), 3.0)
    >>> gains.predict(0, 0b01, np.array([1.0, -1.0]))
    3.0
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.flips = 0
        self.unit = 0.0
        self._paired = n <= MOST_PAIRED
        side = n if self._paired else 0
        self._fields = np.zeros(n)
        self._tried = np.full(n, -1)  # flips made before the last try, -1: never tried
        self._untried = n
        self._at = [0] * n  # the candidate of the last try
        self._spins = np.zeros((side, side))  # and its spins
        self._pairs = np.zeros((side, side))  # symmetric
        self._variances = np.zeros((side, side))  # symmetric; 0 for pairs not seen
        self._unseen = 1.0 - np.eye(side)  # 1 for pairs not seen
        self._squares = self._errors = 0.0  # of first fields, and of guesses for each variable that differs
        self._square_count = self._error_count = 0

    @property
    def scale(self) -> float:
        """The root mean square field, in units of `unit`."""
        return math.sqrt(self._squares / max(1, self._square_count))

    @property
    def is_new(self) -> bool:
        """Whether some variables were never flipped."""
        return self._untried > 0

    def predict(self, i: int, at: int, spins: Floats) -> float:
        """Return the gain that is expected from flipping a variable."""
        return -2 * self._guess(i, at, spins) * float(spins[i]) * self.unit

    def worth(self, spins: Floats) -> Floats:
        """Return the expected improvement by flipping each variable of a candidate, shape (n,), in units of `unit`."""
        unseen = self._unseen_variance()
        if self._paired:
            differs = 1.0 - self._spins * spins  # 0 or 2
            fields = self._fields + (self._pairs * differs) @ spins
            variance = 2 * ((self._variances + unseen * self._unseen) * differs).sum(axis=1)
        else:
            fields = self._fields
            variance = 4 * unseen * np.minimum(self.flips - self._tried, self.n // 2)
        mean, deviation = -2 * fields * spins, 2 * np.sqrt(np.maximum(variance, _TINY))
        ratio = np.minimum(np.maximum(mean / deviation, -_FAR), _FAR)
        worth = mean * ndtr(ratio) + deviation * (np.exp(-0.5 * ratio * ratio) * _DENSITY)
        if self._untried:
            worth[self._tried < 0] = UNTRIED
        return np.asarray(np.maximum(worth, 0.0))

    def learn(self, i: int, at: int, spins: Floats, gain: float) -> None:
        """Learn what flipping a variable gained: -inf if that was infeasible."""
        finite = math.isfinite(gain)
        if finite:
            self.unit = self.unit or abs(gain)
            size = gain / self.unit if self.unit else 0.0
        else:
            size = _INFEASIBLE_GAIN * max(2 * self.scale, 1e-9)
        value = -0.5 * min(max(size, -_LARGEST), _LARGEST) * float(spins[i])
        if self._tried[i] < 0:
            self._untried -= 1
            if finite:
                self._squares += value * value
                self._square_count += 1
        elif finite:
            self._learn_pairs(i, at, spins, value)
        self._fields[i] = value
        self._tried[i] = self.flips
        self._at[i] = at
        if self._paired:
            self._spins[i] = spins

    def correct(self, i: int, at: int, spins: Floats, error: float) -> None:
        """Correct the gain that was last learned for a variable, if it was at this candidate, by an error."""
        if self.unit and self._at[i] == at and math.isfinite(error):
            value = float(self._fields[i]) - 0.5 * float(spins[i]) * error / self.unit
            self._fields[i] = min(max(value, -_LARGEST), _LARGEST)

    def _unseen_variance(self) -> float:
        """Return the variance of pairs that were not seen: at first as if all pairs counted alike."""
        prior = self._squares / max(1, self._square_count) / self.n
        return (_PRIOR * prior + self._errors) / (_PRIOR + self._error_count)

    def _guess(self, i: int, at: int, spins: Floats) -> float:
        """Return the field of a variable."""
        if not self._paired or at == self._at[i]:
            return float(self._fields[i])
        return float(self._fields[i] + self._pairs[i] @ (spins - self._spins[i]))

    def _learn_pairs(self, i: int, at: int, spins: Floats, value: float) -> None:
        """Share the error of a guess out among the variables that differ."""
        if self._paired:
            differing = (at ^ self._at[i]) & ~(1 << i)
            count = differing.bit_count()
        else:
            differing, count = 0, min(self.flips - int(self._tried[i]), self.n // 2)
        if not count:
            return
        error = value - self._guess(i, at, spins)
        unseen = self._unseen_variance()
        self._errors += error * error / (4 * count)
        self._error_count += 1
        if not self._paired or count > _NEAR:
            return
        variables = []
        while differing:
            lowest = differing & -differing
            variables.append(lowest.bit_length() - 1)
            differing ^= lowest
        known, new, pairs = self._variances, self._unseen, self._pairs
        variances = [unseen if new[i, j] else float(known[i, j]) for j in variables]
        if (total := sum(variances)) <= 0.0:
            return
        for j, variance in zip(variables, variances, strict=True):
            share = variance / total
            pair = float(pairs[i, j]) + 0.5 * float(spins[j]) * share * error
            variance = max(variance * (1 - share), _CONTEXT * pair * pair + _REST * unseen)
            pairs[i, j] = pairs[j, i] = pair
            known[i, j] = known[j, i] = variance
            new[i, j] = new[j, i] = 0.0


def gain_over(value: float, before: float) -> float:
    """Return how much better a value is than another one: infinitely, if only the first is feasible."""
    if value == before:
        return 0.0
    if (value <= INFEASIBLE) != (before <= INFEASIBLE):
        return math.inf if value > before else -math.inf
    return value - before


# ---------------------------------------------------------------- ways to continue after a climb


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A way to continue after a climb.

    Attributes
    ----------
    start
        Returns a candidate from the incumbent, the engine and random numbers.
    share
        Share of the evaluations as long as no arm has gained more than others.
    climbs
        If True, its candidates are climbed from; otherwise they are only evaluated.
    needs
        Evaluations that have to be left, in multiples of n, for it to be worthwhile.
    """

    start: Callable[[int, Engine, np.random.Generator], int]
    share: float
    climbs: bool = True
    needs: float = 0.0


def kick(x: int, f: Engine, rng: np.random.Generator) -> int:
    """Flip a fifteenth to a fifth of the variables, at least two."""
    n = f.n
    least, most = min(n, max(2, n // 15)), min(n, max(3, n // 5))
    return _flipped(x, rng.permutation(n)[: rng.integers(least, most + 1)])


def restart(x: int, f: Engine, rng: np.random.Generator) -> int:
    """Draw a random candidate."""
    return f.random(1, rng)[0]


def exchange(x: int, f: Engine, rng: np.random.Generator) -> int:
    """Flip a one and a zero, so that as many are ones as before; with probability 1/4, some more variables, any ones.

    If a capacity is used up, no single flip gains anything, but an exchange may.
    """
    n, size = f.n, 2
    while size < n and rng.random() < 0.25:
        size += 1
    row = to_rows([x], n)[0]
    ones, zeros = np.flatnonzero(row), np.flatnonzero(row == 0)
    if size > 2 or not len(ones) or not len(zeros):
        return _flipped(x, rng.permutation(n)[:size])
    return x ^ (1 << int(rng.choice(ones))) ^ (1 << int(rng.choice(zeros)))


def _flipped(x: int, variables: NDArray[np.int64]) -> int:
    for i in variables.tolist():
        x ^= 1 << i
    return x


ARMS = (
    Arm(start=kick, share=0.4, needs=0.25),
    Arm(start=restart, share=0.4, needs=1.0),
    Arm(start=exchange, share=0.2, climbs=False),
)


class Shares:
    """Shares of the evaluations that arms get, most of them in proportion to what each has gained lately.

    Parameters
    ----------
    n
        Number of variables.
    """

    def __init__(self, n: int) -> None:
        self._decay = 0.5 ** (1 / (_MEMORY * n))
        # Arms that evaluate single candidates begin, because it shows soon whether they gain.
        self._calls = [n / 3 if arm.climbs else 0.0 for arm in ARMS]
        self._gains = [0.0 for _ in ARMS]

    def choose(self, left: float) -> Arm | None:
        """Return the arm that is farthest behind its share; `left`: evaluations left, in multiples of n."""
        total = sum(self._gains)

        def used(k: int) -> float:
            share = ARMS[k].share
            if total > 0:
                share = (1 - _ADAPTIVE) * share + _ADAPTIVE * self._gains[k] / total
            return (self._calls[k] + 1) / share

        best = min((k for k, arm in enumerate(ARMS) if arm.needs <= left), key=used, default=None)
        return None if best is None else ARMS[best]

    def count(self, arm: Arm | None) -> None:
        """Count an evaluation for an arm, or for none."""
        self._calls = [calls * self._decay for calls in self._calls]
        self._gains = [gain * self._decay for gain in self._gains]
        if arm is not None:
            self._calls[ARMS.index(arm)] += 1.0

    def credit(self, arm: Arm | None, gain: float) -> None:
        """Count by how much an arm has improved the best value."""
        if arm is not None and math.isfinite(gain):
            self._gains[ARMS.index(arm)] += gain


# ---------------------------------------------------------------- climbs


@dataclass(eq=False, slots=True)
class Base:
    """A candidate whose flips are tried, maybe before its own value is known.

    Attributes
    ----------
    at, spins
        The candidate, and its bits as -1 and 1.
    value
        Its value; a prediction as long as it is not `known`, nan if there is none.
    known, asked
        Whether its value has arrived, and whether it has been asked for.
    offered
        Flips of it that were asked for.
    held
        Flips and their values that wait for the value of the base.
    trusted
        Flips whose gains were learned from a prediction of its value.
    """

    at: int
    spins: Floats
    value: float
    known: bool
    asked: bool = False
    offered: int = 0
    held: list[Probe] = field(default_factory=list)
    trusted: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Probe:
    """A candidate that a climb has asked for: its base with a variable flipped, or the base itself (flipped is None).

    Attributes
    ----------
    base, flipped, candidate
        The base, the variable, and what they give, repaired.
    value
        Its value; nan as long as that is not known.
    """

    base: Base
    flipped: int | None
    candidate: int
    value: float = math.nan


class Climb:
    """A climb by single flips, several of which are evaluated at the same time.

    It stands on a base and offers flips of it, the most promising ones first, with some randomness. When values arrive,
    it moves to the best improvement, and makes the other flips that gained, too. It does not wait for the value of all
    of them together: that is predicted, and evaluated with the next flips. If it is lower than the value of the best
    evaluated candidate, the climb goes back there.

    Parameters
    ----------
    search
        What all climbs share.
    at
        Where to begin.
    arm
        Where that comes from.
    side_by_side
        Flips that are evaluated at the same time, at most.
    """

    def __init__(self, search: Search, at: int, arm: Arm | None, side_by_side: int) -> None:
        self.search, self.arm, self.side_by_side = search, arm, side_by_side
        self.climbs = arm is None or arm.climbs
        self.waiting = 0  # candidates that it waits for
        self.failed = 0  # evaluations since the last improvement
        self.best, self.best_value = at, -math.inf  # of all candidates that it has seen
        self._ended, self._worth = False, np.empty(0)
        search.gains.flips += search.f.n // 2  # if only the number of flips counts: as if half had been made
        self._stand(self._base(at, search.f.archive.values.get(at)))
        if self.base.known:
            self.best_value = self.base.value

    @property
    def is_over(self) -> bool:
        """Whether it has no more to offer and waits for nothing."""
        return self._ended and self.base.asked and not self.waiting

    def offer(self) -> Probe | None:
        """Return what to evaluate next; None if nothing is worth it before other values arrive."""
        base, search = self.base, self.search
        if not base.asked and (self._ended or not self._is_trusted()):
            base.asked = True
            return Probe(base, None, base.at)
        if self._ended:
            return None
        promise = (self._worth + _TINY) * search.rng.random(len(self._worth))
        i = int(promise.argmax())
        if promise[i] < _LEAST * search.gains.scale or self._worth[i] < 0 or self.failed > search.f.n:
            self._ended = True
            return self.offer()
        self._worth[i] = -1.0  # tried
        base.offered += 1
        (candidate,) = search.f.repaired([base.at ^ (1 << i)], base.at)
        return Probe(base, i, candidate)

    def take(self, probes: list[Probe]) -> None:
        """Learn from values that have arrived, and move to what is better."""
        for probe in probes:
            if probe.value > self.best_value:
                self.best, self.best_value = probe.candidate, probe.value
        if not self.climbs:
            return
        better = self._learned(probes)
        base = self.base
        if self.best_value > base.value:
            base = self._base(self.best, self.best_value)
        if self.search.f.encoding is None and base.value > INFEASIBLE:
            base = self._joined(base, better)
        if base is not self.base:
            self.failed = 0
            self.search.gains.flips += 1
            self._stand(base)

    def _learned(self, probes: list[Probe]) -> list[Probe]:
        """Learn gains, and return the flips that gained, the best first."""
        gains, ready = self.search.gains, list[Probe]()
        for probe in probes:
            base = probe.base
            if probe.flipped is None:
                self._settle(base, probe.value)
                ready += base.held
                base.held = []
            elif base.known or not base.asked:
                ready.append(probe)
            else:
                base.held.append(probe)
        better = []
        for probe in ready:
            base, gain = probe.base, gain_over(probe.value, probe.base.value)
            if probe.flipped is not None and base.value > INFEASIBLE:
                gains.learn(probe.flipped, base.at, base.spins, gain)
                if not base.known:
                    base.trusted.append(probe.flipped)
            if gain > 0:
                better.append((gain, probe))
        better.sort(key=lambda pair: -pair[0])
        return [probe for _, probe in better]

    def _settle(self, base: Base, value: float) -> None:
        """Take the value of a base, and correct what was learned from its prediction."""
        if value > INFEASIBLE:
            for i in base.trusted:
                self.search.gains.correct(i, base.at, base.spins, value - base.value)
        base.value, base.known = value, True
        if base is self.base and value <= INFEASIBLE:
            self._stand(base)

    def _joined(self, base: Base, better: list[Probe]) -> Base:
        """Return a base with all flips made that gained elsewhere and should gain here, too."""
        search = self.search
        at, spins, value = base.at, base.spins, base.value
        for probe in better:
            i = probe.flipped
            if i is None or not (at ^ probe.candidate) >> i & 1:  # made already
                continue
            candidate, gain = at ^ (1 << i), search.gains.predict(i, at, spins)
            if gain > 0 and candidate not in search.f.archive.values and candidate not in search.under_way:
                at, value = candidate, value + gain
                spins = spins.copy()
                spins[i] = -spins[i]
        return base if at == base.at else Base(at, spins, value, known=False)

    def _stand(self, base: Base) -> None:
        """Begin to try flips of a base; of one that is infeasible nothing is known, and any flip may help."""
        self.base, self._ended = base, not self.climbs
        if -math.inf < base.value <= INFEASIBLE:
            self._worth = np.full(self.search.f.n, UNTRIED)
        elif self.climbs:
            self._worth = self.search.gains.worth(base.spins)

    def _is_trusted(self) -> bool:
        """Whether to try four flips of a base before its own value, which is only predicted.

        That is done until all variables were flipped. It saves one evaluation in four when gains are largest, and what
        is learned from a wrong prediction is corrected later.
        """
        base = self.base
        return base.offered < SIDE_BY_SIDE and not math.isnan(base.value) and self.search.gains.is_new

    def _base(self, at: int, value: float | None) -> Base:
        known = value is not None
        spins = 2.0 * to_rows([at], self.search.f.n)[0] - 1.0
        return Base(at, spins, math.nan if value is None else value, known, asked=known)


# ---------------------------------------------------------------- the search


class Search:
    """What climbs side by side share.

    Every candidate that is under way has a task of its own, which asks for the next one when its value has arrived. So
    the same number of candidates is always waiting, whatever order values arrive in.

    Parameters
    ----------
    f
        The engine.
    """

    def __init__(self, f: Engine) -> None:
        self.f = f
        self.rng = f.stream(Stream.SEARCH)
        self.gains = Gains(f.n)
        self.shares = Shares(f.n)
        self.under_way: dict[int, list[tuple[Climb, Probe]]] = {}  # candidate -> climbs that wait for it
        self.incumbent: int | None = None
        self.incumbent_value = self.best_value = -math.inf
        self._climbs: list[Climb] = []
        self._starts = 0  # of climbs, since the last new candidate
        self._searches = 0

    def begin(self, at: int, arm: Arm | None, side_by_side: int) -> None:
        """Begin a climb."""
        self._climbs.append(Climb(self, at, arm, side_by_side))
        self._starts += 1
        self._searches += 1
        self.f.report(searches=float(self._searches))

    async def evaluate(self) -> None:
        """Evaluate one candidate after the other, until none is left."""
        while (candidate := self._next()) is not None:
            owners = self.under_way.get(candidate)
            await self.f([candidate], owners[0][1].base.at if owners and owners[0][1].flipped is not None else None)
            self._absorb()

    def _next(self) -> int | None:
        """Return a new candidate; None if all have been evaluated."""
        while True:
            for climb in self._climbs:
                if (candidate := self._offered(climb)) is not None:
                    self._starts = 0
                    return candidate
            self._end_climbs()
            if self._starts < _ROUNDS:
                self._begin_by_arm()
                continue
            candidate = self.f.unseen(self.rng)
            if candidate is None or candidate in self.under_way:
                return candidate
            self.begin(candidate, None, SIDE_BY_SIDE)

    def _offered(self, climb: Climb) -> int | None:
        """Return a new candidate of a climb; None if it offers none now. Values of known ones are taken at once."""
        while climb.waiting < climb.side_by_side and (probe := climb.offer()) is not None:
            candidate = probe.candidate
            value = self.f.archive.values.get(candidate)
            if value is not None:
                probe.value = value
                climb.take([probe])
                continue
            climb.waiting += 1
            if candidate in self.under_way:
                self.under_way[candidate].append((climb, probe))
                continue
            self.under_way[candidate] = [(climb, probe)]
            climb.failed += 1
            self.shares.count(climb.arm)
            return candidate
        return None

    def _begin_by_arm(self) -> None:
        """Begin a climb where an arm says, or at a random candidate if no arm is worthwhile."""
        f, at = self.f, self.incumbent
        left = math.inf if f.left is None else (f.left - len(self.under_way)) / f.n
        arm = self.shares.choose(left) if at is not None else None
        if arm is None or at is None:
            self.begin(f.random(1, self.rng)[0], None, SIDE_BY_SIDE)
            return
        (start,) = f.repaired([arm.start(at, f, self.rng)], at)
        self.begin(start, arm, SIDE_BY_SIDE)

    def _absorb(self) -> None:
        """Let climbs take all values that have arrived."""
        values = self.f.archive.values
        arrived: dict[Climb, list[Probe]] = {}
        for candidate in [candidate for candidate in self.under_way if candidate in values]:
            value, owners = values[candidate], self.under_way.pop(candidate)
            if value > self.best_value:
                self.shares.credit(owners[0][0].arm, gain_over(value, self.best_value))
                self.best_value = value
            for climb, probe in owners:
                climb.waiting -= 1
                probe.value = value
                arrived.setdefault(climb, []).append(probe)
        for climb, probes in arrived.items():
            climb.take(probes)
        self._end_climbs()

    def _end_climbs(self) -> None:
        """Continue from where climbs have ended, if that is not worse."""
        for climb in self._climbs:
            if climb.is_over and climb.best_value >= self.incumbent_value:
                self.incumbent, self.incumbent_value = climb.best, climb.best_value
        self._climbs = [climb for climb in self._climbs if not climb.is_over]


async def ils(f: Engine) -> None:
    """Search by climbs of single flips, kicks, restarts and exchanges, for few evaluations.

    At least four candidates wait for their values at any time, and as many as can be evaluated at once. It is better to
    have a budget, because the search begins no long climb near its end.
    """
    search, width = Search(f), max(SIDE_BY_SIDE, f.width)
    if f.initial is None or not len(f.initial):
        (start,) = f.random(1, search.rng)
    else:
        values = await f(f.initial)
        start = f.repaired(to_candidates(f.initial))[int(values.argmax())]
        search.incumbent, search.incumbent_value = start, float(values.max())
        search.best_value = search.incumbent_value
    search.begin(start, None, width)
    await f.together((search.evaluate() for _ in range(width)), lambda: width)
