"""Ask and tell: evaluate candidates in a loop of your own.

    python examples/own_loop.py [FILE.png]      # needs Matplotlib; default: own_loop.png

The problem has blocks within blocks (HIFF), and the algorithm is a Bayesian network with niching. The figure shows the
80 best candidates of the first generation, of one half-way and of the last: random bits, small blocks, large blocks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import daedal

mpl.use("Agg")
from matplotlib import pyplot as plt

PROBLEM = daedal.problems.HIFF(n=32)

if __name__ == "__main__":
    optimizer = daedal.Optimizer(32, algorithm="hboa", popsize=600, seed=4)
    generations = []
    while optimizer.fitness < PROBLEM.optimum and (rows := optimizer.ask()) is not None:
        values = PROBLEM.evaluate(rows)  # send the rows wherever you like, and tell their values in any order
        optimizer.tell(rows, values)
        generations.append(rows[np.argsort(-values, kind="stable")[:80]])
    print(f"{optimizer.fitness:.0f} of {PROBLEM.optimum:.0f}", end=" ")
    print(f"after {optimizer.evaluations:,} evaluations: {''.join(map(str, optimizer.x))}")

    figure, axes = plt.subplots(1, 3, figsize=(8, 4), layout="constrained", sharey=True)
    for axis, generation in zip(axes, (0, len(generations) // 2, len(generations) - 1), strict=True):
        axis.imshow(generations[generation], cmap="viridis", aspect="auto", interpolation="nearest")
        axis.set(title=f"generation {generation}", xlabel="variable")
    axes[0].set_ylabel("candidates, best first")
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "own_loop.png")
    figure.savefig(picture, dpi=120)
    print(f"drawn in {picture.resolve()}")
