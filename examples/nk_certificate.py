"""An NK landscape whose optimum is known, so that you can see how close a run comes to it.

    python examples/nk_certificate.py

Eliminating one variable after another yields the largest of all 2^24 values without computing each of them. The same
on the command line: daedal instance nk --n 24 --k 3 --seed 5 -o land.nk; daedal optimum nk:land.nk --x
"""

from __future__ import annotations

import numpy as np

import daedal

N, BUDGETS = 24, (50, 100, 200, 400, 800, 1600)


class Hidden:
    """A landscape that does not state its optimum, so that runs use their whole budget."""

    n, evaluate = N, staticmethod(daedal.problems.NK.random(n=N, k=3, seed=5).evaluate)


if __name__ == "__main__":
    land = daedal.problems.NK.random(n=N, k=3, seed=5)
    certificate, optimum = land.maximize()
    print(f"the optimum is {optimum:.6f}, and {''.join(map(str, certificate))} has it")
    assert np.isclose(land.evaluate(certificate[None])[0], optimum)

    print("\nevaluations  best value  of the optimum")
    for most in BUDGETS:
        result = daedal.maximize(Hidden(), max_evaluations=most, seed=1)
        share = result.fitness / optimum
        print(f"{most:11,}  {result.fitness:10.6f}  {share:8.2%}  {'#' * round(400 * (share - 0.9))}")
    print("proven" if np.isclose(result.fitness, optimum) else "not found: more evaluations are needed")
