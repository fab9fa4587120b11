"""An NK landscape with a certificate: the optimum is computed exactly, so that a run can prove that it has found it.

    python examples/nk_certificate.py

Eliminating one variable after another gives the largest value of all 2^24 rows without looking at each of them. The
same from the command line: daedal instance nk --n 24 --k 3 --seed 5 -o land.nk; daedal optimum nk:land.nk --x
"""

from __future__ import annotations

import numpy as np

import daedal

N, BUDGETS = 24, (50, 100, 200, 400, 800, 1600)


class Hidden:
    """A landscape that does not say what its optimum is, so that runs use all of their calls."""

    n, evaluate = N, staticmethod(daedal.problems.NK.random(n=N, k=3, seed=5).evaluate)


if __name__ == "__main__":
    land = daedal.problems.NK.random(n=N, k=3, seed=5)
    certificate, optimum = land.maximize()
    print(f"the optimum is {optimum:.6f}, and {''.join(map(str, certificate))} has it")
    assert np.isclose(land.evaluate(certificate[None])[0], optimum)

    print("\n calls  best value  of the optimum")
    for calls in BUDGETS:
        result = daedal.maximize(Hidden(), max_evaluations=calls, seed=1)
        share = result.fitness / optimum
        print(f"{calls:6,}  {result.fitness:10.6f}  {share:8.2%}  {'#' * round(400 * (share - 0.9))}")
    print("proven" if np.isclose(result.fitness, optimum) else "not found: more calls are needed")
