"""Draw the pictures of docs/dae.md: what a denoising autoencoder sees, learns and samples, on traps of five bits.

python docs/images/dae.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

from daedal.models import DAE
from daedal.models.dae import FittedDAE, corrupt, reconstruct
from daedal.problems import Trap

FOLDER = Path(__file__).parent
PROBLEM = Trap(k=5, n=30)  # variables in their order, so that blocks are seen as blocks
POPSIZE, GENERATIONS, SHOWN = 4000, 23, (0, 5, 11, 22)
WIDTH = 9.0
"""Of a picture, in inches."""
BRIGHTEST = 0.05
"""Rise of one output by another input that is as bright as can be."""


def evolve(rng: np.random.Generator) -> list[tuple[np.ndarray, FittedDAE]]:
    """Run DAE-EDA without its mask; give the parents of each generation, best first, and what was learned of them."""
    model, steps = DAE.author_2016(), []
    rows = rng.integers(0, 2, (POPSIZE, PROBLEM.n), dtype=np.uint8)
    for _ in range(GENERATIONS):
        fitness = PROBLEM.evaluate(rows)
        pairs = rng.permutation(POPSIZE).reshape(2, -1)
        chosen = np.where(fitness[pairs[0]] >= fitness[pairs[1]], pairs[0], pairs[1])
        parents = rows[chosen[np.argsort(-fitness[chosen], kind="stable")]]
        fitted = model.fit(parents, rng=rng)
        steps.append((parents, fitted))
        rows = np.concatenate([parents, fitted.sample(len(parents), rng=rng)])
    return steps


def reconstructed(x: np.ndarray, fitted: FittedDAE) -> np.ndarray:
    """Return the network's output for rows: the probability of a one for each bit."""
    return reconstruct(x.astype(np.float32), fitted.theta)


def panels(titles: list[str], images: list[np.ndarray], name: str, *, cmap: str, columns: int, height: float) -> None:
    """Draw images side by side, with a tick at the beginning of every block, and save them as NAME."""
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", squeeze=False)
    for axis, title, image in zip(axes.flat, titles, images, strict=True):
        axis.imshow(image, cmap=cmap, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.set_xticks(np.arange(0, PROBLEM.n, 5) - 0.5, labels=[])
        axis.set_yticks(np.arange(0, PROBLEM.n, 5) - 0.5 if len(image) == PROBLEM.n else [], labels=[])
        axis.grid(axis="x", color="white", linewidth=0.6)
    figure.savefig(FOLDER / name, dpi=100, metadata={"Software": None})
    plt.close(figure)


def draw_noise(parents: np.ndarray, fitted: FittedDAE, rng: np.random.Generator) -> None:
    """Show some parents, the same with noise, and what the network makes of them."""
    x = parents[rng.integers(0, len(parents), 12)]
    noisy = corrupt(x.astype(np.float32), 0.1, rng)
    titles = ["parents", "with noise", "as the network restores them"]
    panels(titles, [x, noisy, reconstructed(noisy, fitted)], "dae-noise.png", cmap="viridis", columns=3, height=2.4)


def response(x: np.ndarray, fitted: FittedDAE) -> np.ndarray:
    """Give by how much each input, set from 0 to 1, raises each output on average over rows: shape (n, n)."""
    rises = np.empty((PROBLEM.n, PROBLEM.n))
    for variable in range(PROBLEM.n):
        low, high = x.astype(float), x.astype(float)
        low[:, variable], high[:, variable] = 0.0, 1.0
        rises[variable] = (reconstructed(high, fitted) - reconstructed(low, fitted)).mean(axis=0)
    np.fill_diagonal(rises, 0.0)  # that an input is its own best guess says nothing of others
    return rises


def draw_weights(steps: list[tuple[np.ndarray, FittedDAE]]) -> None:
    """Show which variables the weights tie together, generation by generation."""
    images = [response(parents[:500], fitted) for parents, fitted in (steps[generation] for generation in SHOWN)]
    titles = [f"generation {generation}" for generation in SHOWN]
    panels(titles, [image / BRIGHTEST for image in images], "dae-weights.png", cmap="magma", columns=4, height=2.6)


def draw_sampling(fitted: FittedDAE, rng: np.random.Generator) -> None:
    """Show random rows on their way through rounds of corruption and reconstruction."""
    x = rng.integers(0, 2, (16, PROBLEM.n)).astype(np.float32)
    images, titles = [x], ["random bits"]
    for step in range(1, 11):
        x = reconstructed(corrupt(x, fitted.corruption, rng), fitted)
        if step in (1, 3, 10):
            images.append(x)
            titles.append(f"after {step} round{'s' * (step > 1)}")
    panels(titles, images, "dae-sampling.png", cmap="viridis", columns=4, height=2.4)


def main() -> None:
    """Make one run and draw all pictures of it."""
    rng = np.random.default_rng(1)
    steps = evolve(rng)
    for generation, (parents, _) in enumerate(steps):
        values = PROBLEM.evaluate(parents)
        print(f"generation {generation}: mean {values.mean():.1f}, best {values.max():.0f} of {PROBLEM.optimum:.0f}")
    draw_noise(*steps[SHOWN[3]], rng)
    draw_weights(steps)
    draw_sampling(steps[SHOWN[3]][1], rng)


if __name__ == "__main__":
    main()
