"""Settings of autoencoders: the learning rate by n; those of the paper, of its author's later program, of stores."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from daedal.settings.parameters import Setting

AUTHOR_2016: Mapping[str, Any] = MappingProxyType(
    {"corruption": 0.05, "learning_rate": 0.1, "max_epochs": 2000, "warm_start": 0.0, "max_rows": None}
)
"""Trained from scratch on all rows until it converges; what is not here has the default of `DAE`."""

PAPER_2015: Mapping[str, Any] = MappingProxyType({
    **AUTHOR_2016, "corruption": 0.1, "learning_rate": 0.2, "momentum": 0.0, "weight_decay": -0.001, "init_scale": 0.01,
    "validation": 0.1, "overfitting": 0.1, "min_epochs": 25, "min_updates": 0,
})  # fmt: skip
"""The settings of the paper, and of its author's program where the paper is silent."""

BEFORE_LATER_SETTINGS: Mapping[str, Setting] = MappingProxyType({
    "noise": "salt+pepper", "block_size": 4, "optimizer": "sgd", "init": "normal", "biases": "normal",
    "warm_start": 0.0, "starts": 1, "pretrain": 0, "walkback": 0, "max_rows": None, "distinct": False,
    "sampling_start": "random", "temperature": 1.0, "binarise": False,
})  # fmt: skip
"""Hyperparameters that came when there were stores already, and what was done without them (`Model.later`)."""


def default_rate(optimizer: str, n: int) -> float:
    """Give the learning rate that solved most for the fewest evaluations (docs/beyond.md).

    Examples
    --------
    >>> default_rate("sgd", 20), default_rate("sgd", 100)
    (0.8, 0.24)
    """
    return 0.005 if optimizer == "adam" else min(0.8, 24 / n)
