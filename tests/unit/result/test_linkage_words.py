"""What is said of groups: a block acts as one, a chain hangs together."""

from __future__ import annotations

import numpy as np

from daedal.result.linkage import Linkage


def test_a_block_acts_as_one_and_a_chain_does_not() -> None:
    strength = np.zeros((7, 7), np.float32)
    strength[:3, :3] = 0.9 - 0.3 * np.eye(3)
    for i in range(3, 6):
        strength[i, i + 1] = strength[i + 1, i] = 1.0
    linkage = Linkage(strength=strength, order=np.arange(7), groups=((0, 1, 2), (3, 4, 5, 6)), source="made up")
    block, chain = linkage.sentences([f"x{i}" for i in range(7)])
    assert block == "x0, x1, x2 act as one."
    assert chain.startswith("x3, x4, x5, x6 hang together")
    assert "act as one" not in chain
