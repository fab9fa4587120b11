"""An algorithm of your own: a bit-flip hill climber with restarts.

python examples/own_algorithm.py        # or, with all options of daedal solve:
daedal solve trap:k=4,n=20 -a examples/own_algorithm.py:climber
"""

import numpy as np

import daedal


async def climber(f, *, n, rng, flips: float = 1.0):
    """Take the best flip of one bit until none helps, then start over."""
    climbs = 0
    while True:
        x = f.random_rows(1, rng)
        (value,) = await f(x)
        while True:
            tried = rng.permutation(n)[: max(1, round(flips * n))]
            neighbors = f.repaired_rows(x ^ np.eye(n, dtype=np.uint8)[tried])
            values = await f(neighbors)
            if values.max() <= value:
                break
            x, value = neighbors[values.argmax()], values.max()
        climbs += 1
        f.report(climbs=climbs)


if __name__ == "__main__":
    options = {"algorithm": climber, "max_evaluations": 20_000, "seed": 1}
    result = daedal.maximize("trap:k=4,n=20", **options)
    climbs = result.history[-1].info["climbs"]
    print(f"{climbs} climbs: {result.fitness:.0f} of {result.optimum:.0f}")
    print(f"{result.evaluations:,} evaluations, {result.repeated:,} repeated ones were free")
