"""Choose features for a linear model: one bit per feature.

    python examples/feature_subset.py

8 of the 30 features matter. The score is the fit on held-out data minus a price per feature. For a scikit-learn model,
use `daedal.sklearn.SubsetSelector` instead, because it needs fewer fits (docs/features.md).
"""

from __future__ import annotations

import numpy as np

import daedal

RNG = np.random.default_rng(0)
FEATURES, USEFUL, PRICE = 30, 8, 0.01
DATA = RNG.normal(size=(400, FEATURES))
TRUTH = DATA[:, :USEFUL] @ RNG.normal(size=USEFUL) + 0.5 * RNG.normal(size=400)
TRAIN, TEST = slice(0, 300), slice(300, 400)


def score(row: np.ndarray) -> float:
    """Return R^2 on held-out data, minus the price of the chosen features."""
    chosen = DATA[:, row == 1]
    if chosen.shape[1] == 0:
        return 0.0
    weights, *_ = np.linalg.lstsq(chosen[TRAIN], TRUTH[TRAIN], rcond=None)
    left = TRUTH[TEST] - chosen[TEST] @ weights
    return float(1.0 - left.var() / TRUTH[TEST].var() - PRICE * row.sum())


if __name__ == "__main__":
    result = daedal.maximize(score, n=FEATURES, vectorized=False, seed=1, max_evaluations=3000, progress=True)
    print(f"chosen features: {np.flatnonzero(result.x).tolist()}, score {result.fitness:.4f}")
