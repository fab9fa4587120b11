"""An algorithm of your own: a bit-flip hill climber with restarts.

python examples/own_algorithm.py        # or, with all options of daedal solve:
daedal solve trap:k=4,n=20 -a examples/own_algorithm.py:climber
"""

import numpy as np

import daedal


async def climber(f, *, n, rng, flips: float = 1.0):
    """Take the best flip of one bit until none helps, then start over."""
    while True:
        rows, value = f.random_rows(1, rng), -np.inf
        while (values := await f(rows)).max() > value:
            x, value = rows[values.argmax()], values.max()
            tried = rng.permutation(n)[: max(1, round(flips * n))]
            rows = f.repaired_rows(x ^ np.eye(n, dtype=np.uint8)[tried])


if __name__ == "__main__":
    options = {"algorithm": climber, "max_evaluations": 20_000, "seed": 1}
    result = daedal.maximize("trap:k=4,n=20", **options)
    print(f"{result.fitness:.0f} of 20, {result.evaluations:,} evaluations")
