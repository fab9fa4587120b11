"""Slow, obvious twins of climbing and mixing, on tuples of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Row = tuple[int, ...]
Value = Callable[[Row], float]

_MASK = 2**64 - 1


class SplitMix:
    """splitmix64, as published."""

    def __init__(self, state: int) -> None:
        self.state = state

    def word(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, most: int) -> int:
        return ((self.word() >> 32) * most) >> 32


def flip(x: Row, variables: Sequence[int]) -> Row:
    return tuple(bit ^ (i in variables) for i, bit in enumerate(x))


def climb(x: Row, value: Value, pace: int = 2, proven: int = 0) -> tuple[Row, int, int]:
    """Probe all flips, take the best, merge the others in chunks; give where it ends, and the pace."""
    start = value(x)
    gains = []
    for i in range(len(x)):
        probe = value(flip(x, [i]))
        gains.append(0.0 if probe == start else probe - start)
    top = max(range(len(x)), key=lambda i: value(flip(x, [i])))
    if start == -float("inf") < value(flip(x, [top])):
        return climb(flip(x, [top]), value, pace, proven)
    finite = [abs(gain) for gain in gains if abs(gain) < float("inf")]
    largest = max(finite, default=0.0)
    order = sorted(range(len(x)), key=lambda i: -gains[i])
    better = [i for i in order if gains[i] > 1e-9 * largest]
    if not better:
        return x, pace, proven
    x, rest = flip(x, better[:1]), better[1:]
    while rest:
        chunk = rest[: max(1, min(pace, len(rest)))]
        before, merged = value(x), flip(x, chunk)
        expected, reached = before + sum(gains[i] for i in chunk), value(merged)
        if len(chunk) == 1:
            x = merged if reached >= before else x
            rest = rest[1:]
            proven = proven + 1 if abs(reached - expected) <= 1e-6 * largest else 0
            if pace == 1 and proven >= 4:
                pace, proven = 2, 0
        elif reached >= expected - 1e-6 * largest:
            x, rest, pace = merged, rest[len(chunk) :], max(pace, min(2 * len(chunk), len(x)))
        else:
            pace = max(1, min(pace, len(chunk) // 2))
    return x, pace, proven


def mix(
    x: Row, value: Value, donors: Sequence[Row], groups: Sequence[frozenset[int]], width: int, draws: SplitMix
) -> Row:
    """Copy groups from random donors that differ there, up to `width` at once; keep what makes x no worse."""
    done = 0
    while True:
        trials: list[Row] = []
        taken: set[int] = set()
        while len(trials) < width and done < len(groups) and not groups[done] & taken:
            group = groups[done]
            differing = [donor for donor in donors if any(donor[i] != x[i] for i in group)]
            done += 1
            if differing:
                donor = differing[draws.below(len(differing))]
                trials.append(tuple(donor[i] if i in group else bit for i, bit in enumerate(x)))
                taken |= group
        if not trials:
            return x
        good = [trial for trial in trials if value(trial) >= value(x)]
        if good:
            top = max(good, key=value)
            if len(good) > 1:
                changed = [i for trial in good for i in range(len(x)) if trial[i] != x[i]]
                union = flip(x, changed)
                top = union if value(union) >= value(top) else top
            x = top
