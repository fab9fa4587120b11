"""Iterated local search for few evaluations: climbs by single flips that remember gains, kicks, restarts, exchanges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine
from daedal.rng import Stream
from daedal.types import INFEASIBLE

Floats = NDArray[np.float64]

K = dict(depth=4, kappa=1.0, delay=0, first=99, joins=9, starts=1, jump=0, jumps=99, kickjump=0)
S = dict(accept=0, probes=0, join=0, joinok=0, climbs=0, jump=0, back=0)

UNTRIED = 1e200
_LEAST = 1e-3
_TINY = 1e-300
_ROUNDS = 20
MOST_PAIRED = 256
_NEAR = 8
_CONTEXT = 0.3
_REST = 0.03
_PRIOR = 5.0
_LARGEST = 1e100
_INFEASIBLE_GAIN = -3.0
_MEMORY = 6.0


def gain_over(value: float, before: float) -> float:
    if value == before:
        return 0.0
    if (value <= INFEASIBLE) != (before <= INFEASIBLE):
        return np.inf if value > before else -np.inf
    return value - before


class Gains:
    def __init__(self, n: int) -> None:
        self.n = n
        side = n if n <= MOST_PAIRED else 0
        self.paired = side > 0
        self.fields = np.zeros(n)
        self.tried = np.full(n, -1)
        self.flips = 0
        self.at = np.zeros((side, side))
        self.pairs = np.zeros((side, side))
        self.doubts = np.full((side, side), -1.0)
        np.fill_diagonal(self.doubts, 0.0)
        self.errors = self.squares = self.unit = 0.0
        self.error_count = self.square_count = 0

    @property
    def scale(self) -> float:
        return math.sqrt(self.squares / max(1, self.square_count))

    def unseen(self) -> float:
        prior = self.squares / max(1, self.square_count) / self.n
        return (_PRIOR * prior + self.errors) / (_PRIOR + self.error_count)

    def guess(self, i: int, s: Floats, unseen: float) -> tuple[float, float, NDArray[np.intp] | int]:
        if not self.paired:
            differing = min(self.flips - int(self.tried[i]), self.n // 2)
            return float(self.fields[i]), 4 * unseen * differing, differing
        which = np.flatnonzero(self.at[i] != s)
        which = which[which != i]
        doubts = self.doubts[i, which]
        doubts[doubts < 0] = unseen
        return float(self.fields[i] + 2 * self.pairs[i, which] @ s[which]), 4 * float(doubts.sum()), which

    def predicted(self, i: int, s: Floats) -> tuple[float, float]:
        h, variance, _ = self.guess(i, s, self.unseen())
        return -2 * h * float(s[i]) * self.unit, 2 * math.sqrt(variance) * self.unit

    def means(self, s: Floats) -> tuple[Floats, Floats]:
        unseen = self.unseen()
        if self.paired:
            differs = self.at != s
            np.fill_diagonal(differs, False)
            h = self.fields + 2 * (self.pairs * differs) @ s
            variance = 4 * np.where(differs, np.where(self.doubts < 0, unseen, self.doubts), 0.0).sum(axis=1)
        else:
            h = self.fields
            variance = 4 * unseen * np.minimum(self.flips - self.tried, self.n // 2)
        return -2 * h * s, 2 * np.sqrt(np.maximum(variance, 1e-300))

    def appraise(self, s: Floats) -> Floats:
        mean, deviation = self.means(s)
        ratio = mean / deviation
        worth = deviation * np.exp(-0.5 * np.minimum(ratio * ratio, 1400)) * 0.3989422804014327 + mean * ndtr(ratio)
        worth[ratio < -6.0] = 0.0
        worth[self.tried < 0] = UNTRIED
        return worth

    def learn(self, i: int, s: Floats, gain: float) -> None:
        finite = math.isfinite(gain)
        if self.unit == 0.0 and finite:
            self.unit = abs(gain)
        if not finite:
            size = _INFEASIBLE_GAIN * max(2 * self.scale, 1e-9)
        else:
            size = gain / self.unit if self.unit > 0 else 0.0
        h = -0.5 * min(max(size, -_LARGEST), _LARGEST) * float(s[i])
        if finite and self.tried[i] < 0:
            self.squares += h * h
            self.square_count += 1
        elif finite:
            self._learn_pairs(i, s, h)
        self.fields[i] = h
        self.tried[i] = self.flips
        if self.paired:
            self.at[i] = s

    def _learn_pairs(self, i: int, s: Floats, h: float) -> None:
        unseen = self.unseen()
        guessed, variance, which = self.guess(i, s, unseen)
        differing = which if isinstance(which, int) else len(which)
        if differing == 0:
            return
        error = h - guessed
        self.errors += error * error / (4 * differing)
        self.error_count += 1
        if isinstance(which, int) or differing > _NEAR or variance <= 0.0:
            return
        doubts = self.doubts[i, which]
        doubts[doubts < 0] = unseen
        share = 4 * doubts / variance
        pair = self.pairs[i, which] + 0.5 * s[which] * share * error
        doubts = np.maximum(doubts * (1 - share), _CONTEXT * pair * pair + _REST * unseen)
        self.pairs[i, which] = self.pairs[which, i] = pair
        self.doubts[i, which] = self.doubts[which, i] = doubts


@dataclass(frozen=True, kw_only=True)
class Arm:
    name: str
    start: Callable[[int, Engine, np.random.Generator], int]
    share: float
    climbs: bool = True
    needs: float = 0.0


def kick(x: int, f: Engine, rng: np.random.Generator) -> int:
    n = f.n
    least, most = min(n, max(2, n // 15)), min(n, max(3, n // 5))
    return flip(x, rng.permutation(n)[: rng.integers(least, most + 1)])


def restart(x: int, f: Engine, rng: np.random.Generator) -> int:
    return f.random(1, rng)[0]


def exchange(x: int, f: Engine, rng: np.random.Generator) -> int:
    n, size = f.n, 2
    while size < n and rng.random() < 0.25:
        size += 1
    row = to_rows([x], n)[0]
    ones = np.flatnonzero(row)
    if size > 2 or len(ones) in (0, n):
        return flip(x, rng.permutation(n)[:size])
    zeros = np.flatnonzero(row == 0)
    return flip(x, np.array([ones[rng.integers(len(ones))], zeros[rng.integers(len(zeros))]]))


def flip(x: int, variables: NDArray[np.int64]) -> int:
    for i in variables.tolist():
        x ^= 1 << i
    return x


ARMS = (
    Arm(name="kick", start=kick, share=0.4, needs=0.25),
    Arm(name="restart", start=restart, share=0.4, needs=1.0),
    Arm(name="exchange", start=exchange, share=0.2, climbs=False),
)


class Shares:
    def __init__(self, n: int, adaptive: float = 0.7) -> None:
        self.adaptive = adaptive
        self._decay = 0.5 ** (1 / (_MEMORY * n))
        self._calls = [n / 3 if arm.climbs else 0.0 for arm in ARMS]
        self._gains = [0.0 for _ in ARMS]

    def choose(self, left: float) -> int | None:
        total = sum(self._gains)

        def used(k: int) -> float:
            fixed = ARMS[k].share
            share = (1 - self.adaptive) * fixed + self.adaptive * self._gains[k] / total if total > 0 else fixed
            return (self._calls[k] + 1) / max(share, 1e-9)

        return min((k for k, arm in enumerate(ARMS) if arm.needs <= left), key=used, default=None)

    def count_call(self, arm: int) -> None:
        self._calls = [calls * self._decay for calls in self._calls]
        self._gains = [gain * self._decay for gain in self._gains]
        if arm >= 0:
            self._calls[arm] += 1.0

    def credit(self, arm: int, gain: float) -> None:
        if arm >= 0 and np.isfinite(gain):
            self._gains[arm] += gain


def spins_of(x: int, n: int) -> Floats:
    return 2.0 * to_rows([x], n)[0] - 1.0


class Base:
    """A candidate whose flips are tried."""

    def __init__(self, at: int, n: int, value: float, known: bool) -> None:
        self.at, self.value, self.known = at, value, known
        self.spins = spins_of(at, n)
        self.asked = known  # whether its own value is under way
        self.held: list[tuple[int, int, float]] = []
        self.offered = 0


class Climb:
    def __init__(self, search: Search, at: int, arm: int, *, climbs: bool, depth: int) -> None:
        self.search, self.arm, self.climbs, self.depth = search, arm, climbs, depth
        self.flight = 0
        self.closed = not climbs
        self.failed = 0
        self.asked = 0
        value = search.f.archive.values.get(at)
        search.gains.flips += search.f.n // 2
        self.base = Base(at, search.f.n, math.nan if value is None else value, value is not None)
        self.best, self.best_value = at, -np.inf if value is None else value
        self.anchor = self.base
        if climbs:
            self.stand()
        elif value is not None:
            self.closed = True

    def stand(self) -> None:
        self.closed = False
        base = self.base
        if -np.inf < base.value <= INFEASIBLE:
            self.worth = np.full(self.search.f.n, UNTRIED)
        else:
            self.worth = self.search.gains.appraise(base.spins)

    def jump(self, kappa: float, most: int) -> None:
        f, gains = self.search.f, self.search.gains
        if f.encoding is not None or self.base.value <= INFEASIBLE:
            return
        y, s, total = self.base.at, self.base.spins.copy(), 0.0
        for k in range(most):
            mean, sd = gains.means(s)
            sure = np.where((mean > kappa * sd) & (gains.tried >= 0), mean - kappa * sd, 0.0)
            i = int(sure.argmax())
            if sure[i] <= 1e-6 * gains.scale:
                break
            y ^= 1 << i
            s[i] = -s[i]
            total += float(mean[i]) * gains.unit
        if y != self.base.at and y not in self.search.flying and y not in f.archive:
            S["jump"] += 1
            self.base = Base(y, f.n, self.base.value + total, False)

    def offer(self) -> tuple[int, int, int | None] | None:
        """Give the flipped variable (-1: none), the candidate and its parent."""
        base, f = self.base, self.search.f
        if not base.asked and (base.offered >= K["delay"] or math.isnan(base.value) or self.closed):
            base.asked = True
            return -1, base.at, None if base is self.anchor else self.anchor.at
        if self.closed:
            return None
        least = _LEAST * self.search.gains.scale
        worth = self.worth
        u = (worth + _TINY) * self.search.rng.random(f.n)
        i = int(u.argmax())
        if u[i] < least or worth[i] < 0 or self.failed > f.n:
            self.closed = True
            return self.offer()
        worth[i] = -1.0
        base.offered += 1
        (z,) = f.repaired([base.at ^ (1 << i)], base.at)
        return i, z, base.at

    @property
    def over(self) -> bool:
        return self.closed and self.flight == 0 and self.base.asked

    def take(self, results: list[tuple[Base, int, int, float]]) -> None:
        gains, better = self.search.gains, []
        for base, i, z, value in results:
            if value > self.best_value:
                self.best, self.best_value = z, value
        if not self.climbs:
            return
        todo = []
        fallback = False
        for base, i, z, value in results:
            if i < 0:
                base.known = True
                if not math.isnan(base.value):
                    S["join"] += 1
                    S["joinok"] += value > self.anchor.value
                    fallback = fallback or value < base.value
                base.value = value
                if base is self.base and -np.inf < value <= INFEASIBLE:
                    self.stand()
                if base is not self.base and value > self.base.value:
                    todo.append((base, -1, z, value))
                todo += [(base, *one) for one in base.held]
                base.held = []
            elif not base.known and K["delay"] == 0:
                base.held.append((i, z, value))
            else:
                todo.append((base, i, z, value))
        for base, i, z, value in todo:
            S["probes"] += 1
            if i >= 0 and base.value > INFEASIBLE and math.isfinite(base.value):
                gains.learn(i, base.spins, gain_over(value, base.value))
            if i < 0 or value > base.value:
                better.append((value - base.value if i >= 0 else 0.0, i, z, value, base))
        current = self.base
        if (current.known and current.value > self.anchor.value) or self.anchor.value != self.anchor.value:
            self.anchor = current
        moved = False
        top = max(better, key=lambda one: one[3], default=None)
        if top is not None and top[3] > self.anchor.value and (top[3] > current.value or current.known):
            self.base = self.anchor = Base(top[2], self.search.f.n, top[3], True)
            moved = True
        elif current.known and current is not self.anchor:
            self.base = self.anchor
            moved = True
        joined = 0
        if self.search.f.encoding is None and K["kappa"] < 50 and self.base.value > INFEASIBLE:
            for _, i, z, value, base in sorted(better, key=lambda one: -one[0]):
                if i < 0 or joined >= K["joins"]:
                    continue
                now = self.base
                if (now.at ^ z) >> i & 1 == 0:  # made already
                    continue
                mean, sd = gains.predicted(i, now.spins)
                if mean > K["kappa"] * sd and mean > 0:
                    y = now.at ^ (1 << i)
                    if y in self.search.f.archive or y in self.search.flying:
                        continue
                    self.base = Base(y, self.search.f.n, now.value + mean, False)
                    joined += 1
                    moved = True
        if moved and K["jump"]:
            self.jump(K["jump"], K["jumps"])
        if moved:
            S["accept"] += 1
            self.failed = 0
            gains.flips += 1
            self.stand()
        else:
            for _, i, *_rest in todo:
                pass


class Search:
    def __init__(self, f: Engine) -> None:
        self.f = f
        self.rng = f.stream(Stream.SEARCH)
        self.gains = Gains(f.n)
        self.shares = Shares(f.n)
        self.width = max(4, f.width)
        self.climbs: list[Climb] = []
        self.flying: dict[int, list[tuple[Climb, Base, int]]] = {}
        self.arm_of: dict[int, int] = {}
        self.incumbent: int | None = None
        self.incumbent_value = -np.inf
        self.top = -np.inf
        self.starts: list[int] = []
        self.rounds = 0
        self.searches = 0

    async def prober(self) -> None:
        while (asked := self.next()) is not None:
            candidate, parent = asked
            await self.f([candidate], parent)
            self.absorb()

    def next(self) -> tuple[int, int | None] | None:
        while True:
            for climb in self.climbs:
                while climb.flight < climb.depth and (offer := climb.offer()) is not None:
                    i, z, parent = offer
                    value = self.f.archive.values.get(z)
                    if value is not None:
                        climb.take([(climb.base, i, z, value)])
                        continue
                    climb.flight += 1
                    interested = self.flying.get(z)
                    if interested is not None:
                        interested.append((climb, climb.base, i))
                        continue
                    self.flying[z] = [(climb, climb.base, i)]
                    climb.failed += 1
                    climb.asked += 1
                    self.shares.count_call(climb.arm)
                    return z, parent
            if any(climb.over for climb in self.climbs):
                self.finish()
            if not self.start():
                return None

    def finish(self) -> None:
        for climb in self.climbs:
            if climb.over:
                self.rounds = 0 if climb.asked else self.rounds + 1
                if climb.best_value >= self.incumbent_value:
                    self.incumbent, self.incumbent_value = climb.best, climb.best_value
        self.climbs = [climb for climb in self.climbs if not climb.over]

    def start(self) -> bool:
        self.searches += 1
        S["climbs"] += 1
        f = self.f
        arm, climbs, depth = -1, True, K["depth"]
        if self.starts:
            x, depth = self.starts.pop(0), min(K["first"], self.width)
        elif self.rounds >= _ROUNDS:
            found = f.unseen(self.rng)
            if found is None:
                return False
            x, self.rounds = found, 0
        else:
            left = math.inf if f.left is None else (f.left - len(self.flying)) / f.n
            chosen = self.shares.choose(left)
            at = self.incumbent if self.incumbent is not None else f.best
            if chosen is None or at is None:
                x = f.random(1, self.rng)[0]
            else:
                arm, climbs = chosen, ARMS[chosen].climbs
                x = ARMS[arm].start(at, f, self.rng)
                (x,) = f.repaired([x], at)
                if K["kickjump"] and arm == 0:
                    x = self.descended(x, K["kickjump"])
                    S["back"] += x == at
        self.climbs.append(Climb(self, x, arm, climbs=climbs, depth=depth))
        return True

    def descended(self, y: int, kappa: float) -> int:
        s = spins_of(y, self.f.n)
        for _ in range(self.f.n):
            mean, sd = self.gains.means(s)
            sure = np.where((mean > kappa * sd) & (self.gains.tried >= 0), mean - kappa * sd, 0.0)
            i = int(sure.argmax())
            if sure[i] <= 1e-6 * self.gains.scale:
                break
            y ^= 1 << i
            s[i] = -s[i]
        return y

    def absorb(self) -> None:
        values = self.f.archive.values
        results: dict[int, tuple[Climb, list]] = {}
        for z in [z for z in self.flying if z in values]:
            value = values[z]
            owners = self.flying.pop(z)
            if value > self.top:
                self.shares.credit(owners[0][0].arm, value - self.top if self.top > INFEASIBLE else np.inf)
                self.top = value
            for climb, base, i in owners:
                climb.flight -= 1
                results.setdefault(id(climb), (climb, []))[1].append((base, i, z, value))
        for climb, own in results.values():
            climb.take(own)
        self.finish()


async def ils(f: Engine) -> None:
    search = Search(f)
    if f.initial is not None and len(f.initial):
        values = await f(f.initial)
        rows = f.repaired(to_candidates(f.initial))
        best = int(np.argmax(values))
        search.starts = [rows[best]]
        search.incumbent, search.incumbent_value = rows[best], float(values[best])
        search.top = float(values[best])
    else:
        search.starts = f.random(1, search.rng)
    await f.together((search.prober() for _ in range(search.width)), lambda: search.width)
