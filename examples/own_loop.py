"""Ask and tell in a loop of one's own: evaluations happen elsewhere, and the loop draws what has happened.

    python examples/own_loop.py [FILE.png]      # needs pip install "daedal[plot]"; own_loop.png where none is named

A problem of blocks within blocks (HIFF) and a Bayesian network. What is drawn is the population at the beginning,
half-way and at the end, the 80 best rows of each, the best on top: noise, then small blocks, then large ones.
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
    limits = daedal.Limits(max_generations=40, target=PROBLEM.optimum)
    optimizer = daedal.EDA(n=32, model=daedal.models.BayesNet(), popsize=600, seed=4, replacement="rtr", limits=limits)
    populations = []
    while optimizer.stop is None:
        rows = optimizer.ask()  # the same ones until they are told; send them wherever you like
        optimizer.tell(PROBLEM.evaluate(rows))
        populations.append(optimizer.population)
    print(f"{optimizer.stop.message} {optimizer.best.fitness:.0f} of {PROBLEM.optimum:.0f}", end=" ")
    print(f"after {optimizer.evaluations:,} evaluations: {''.join(map(str, optimizer.best.x))}")

    figure, axes = plt.subplots(1, 3, figsize=(8, 4), layout="constrained", sharey=True)
    for axis, generation in zip(axes, (0, len(populations) // 2, len(populations) - 1), strict=True):
        rows, fitness = populations[generation]
        best_first = rows[np.argsort(-fitness, kind="stable")[:80]]
        axis.imshow(best_first, cmap="viridis", aspect="auto", interpolation="nearest")
        axis.set(title=f"generation {generation}", xlabel="variable")
    axes[0].set_ylabel("rows, best first")
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "own_loop.png")
    figure.savefig(picture, dpi=120)
    print(f"drawn in {picture.resolve()}")
