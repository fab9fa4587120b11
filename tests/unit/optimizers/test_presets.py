"""daedal's own algorithms have the settings of the paper and its successor."""

from __future__ import annotations

from typing import Any

import pytest

from daedal.limits import Limits
from daedal.models import PBIL
from daedal.optimizers.eda import EDAConfiguration
from daedal.optimizers.presets import PRESETS

PAPER: dict[str, Any] = {
    "hidden": None,
    "tied": True,
    "error": "cross-entropy",
    "corruption": 0.1,
    "learning_rate": 0.2,
    "bias_factor": 5.0,
    "momentum": 0.0,
    "init_scale": 0.01,
    "batch_size": 100,
    "validation": 0.1,
    "overfitting": 0.1,
    "gamma": 0.05,
    "check_every": 5,
    "min_epochs": 25,
    "max_epochs": 2000,
    "sampling_steps": 10,
    "selection": "tournament",
    "replacement": "parents",
    "popsize": None,
}
LATER: dict[str, Any] = {
    "learning_rate": 0.1,
    "bias_factor": 5.0,
    "corruption": 0.05,
    "momentum": 0.3,
    "init_scale": 0.005,
    "validation": 0.0,
    "overfitting": None,
    "min_epochs": 50,
    "min_updates": 200,
}
BY_NAME = {preset.name: preset for preset in PRESETS}


@pytest.mark.parametrize(
    ("name", "settings", "limits"),
    [
        ("dae-2015", PAPER, (100, 20)),  # the 2015 paper
        ("dae", LATER, (150, 50)),  # the authors' later settings, 2016
        ("pbil", {"learning_rate": 0.02, "best": 1}, (2000, 400)),
        ("boa", {"replacement": "parents"}, (100, 20)),
        ("hboa", {"replacement": "rtr"}, (100, 20)),
        ("umda", {"selection": "tournament", "replacement": "parents"}, (100, 20)),
    ],
)
def test_settings_and_limits(name: str, settings: dict[str, Any], limits: tuple[int, int]) -> None:
    assert settings.items() <= BY_NAME[name].settings().items()
    assert BY_NAME[name].limits == Limits(max_generations=limits[0], patience=limits[1])


def test_all_have_a_name_and_a_line() -> None:
    assert len(BY_NAME) == len(PRESETS) == 9
    assert all(preset.summary and "\n" not in preset.summary for preset in PRESETS)
    assert BY_NAME["pbil"].configuration == EDAConfiguration(model=PBIL())
    hboa, boa = (dict(BY_NAME[name].settings()) for name in ("hboa", "boa"))
    assert hboa | {"replacement": "parents"} == boa
