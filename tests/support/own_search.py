"""An algorithm of a user: a hill climber that takes the best flip of one bit, and starts over if none is better."""

from __future__ import annotations


async def climber(f, *, n, rng, flips: float = 1.0):
    """Climb by the best flip of some bits at a time, again and again from random candidates."""
    starts = [] if f.initial is None else [sum(int(bit) << i for i, bit in enumerate(row)) for row in f.initial]
    while True:
        starts = starts or f.random(1, rng)
        values = await f(starts)
        start, value = starts[0], values[0]
        starts = []
        better = True
        while better:
            tried = rng.permutation(n)[: max(1, round(flips * n))].tolist()
            candidates = f.repaired([start ^ (1 << i) for i in tried], start)
            values = await f(candidates, parent=start)
            top = max(range(len(values)), key=values.__getitem__)
            if better := values[top] > value:
                start, value = candidates[top], values[top]
        f.report(climbed_to=value)
        await f.generation()
