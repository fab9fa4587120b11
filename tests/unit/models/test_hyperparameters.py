"""Settings of models that make no sense, refused by name and value; training that such settings led astray."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daedal.models import DAE, ECGA, PBIL, RBM, BayesNet, Model, Tree

NAN, INF = float("nan"), float("inf")
BAD: dict[type[Model], dict[str, list[Any]]] = {
    DAE: {
        "hidden": [0, -3, (), "8", (1.5,)], "corruption": [-0.1, 1.1, NAN], "learning_rate": [-0.1, NAN, INF],
        "momentum": [-0.1, 1.0], "weight_decay": [1.5, -1.5], "init_scale": [-1.0, "he"], "biases": ["zero"],
        "warm_start": [-0.1, 1.1, NAN], "batch_size": [0], "max_rows": [0], "validation": [-0.1, 0.95],
        "gamma": [-0.1], "check_every": [0], "min_epochs": [-1], "max_epochs": [0], "sampling_steps": [0, "many"],
        "binarise": ["yes"],
    },
    RBM: {
        "hidden": [0, -3], "cd_steps": [0], "gibbs_steps": [0], "batch_size": [0], "check_every": [0],
        "max_epochs": [0], "learning_rate": [-0.1, NAN], "bias_factor": [INF], "init_scale": [-1.0],
        "momentum": [1.0], "late_momentum": [-0.1], "smoothing": [1.0], "min_gain": [-0.1], "momentum_below": [NAN],
        "rate_below": [-0.1], "stop_below": [1.5], "low_error": [1.1], "rise": [-0.01], "min_updates": [-1],
        "min_epochs": [-1],
    },
    BayesNet: {"max_parents": [-1, 1.5, True, "2", NAN], "penalty": [0.0, 0.05, -1.0, 101.0, NAN]},
    Tree: {"significance": [-0.1, 1.5, NAN]},
    ECGA: {"max_group": [0, -3]},
    PBIL: {"learning_rate": [-0.1, 1.1], "best": [0]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [(model, name, value) for model, bad in BAD.items() for name, values in bad.items() for value in values],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_bad_settings_are_refused(model: type[Model], name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"expected {name} .*got {name}=") as refusal:
        model(**{name: value})
    assert f"{value:g}" in str(refusal.value) if isinstance(value, float) else str(value) in str(refusal.value)


@pytest.mark.parametrize("hidden", [(0,), (8, 0), (8, -3, 2)])
def test_layers_of_no_units_are_refused(hidden: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"at least 1 unit.*got hidden={','.join(map(str, hidden))}$"):
        DAE(hidden=hidden)


@pytest.mark.parametrize("model", [DAE(learning_rate=1e300), RBM(learning_rate=1e300)], ids=["DAE", "RBM"])
def test_training_that_diverges_says_so(model: Model) -> None:
    x = np.random.default_rng(0).integers(0, 2, (50, 6), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"diverged with learning_rate=1e\+300"):
        model.fit(x, rng=np.random.default_rng(0))
