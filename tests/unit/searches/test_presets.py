"""daedal's own algorithms have the settings of the paper and its successor."""

from __future__ import annotations

import pytest

from daedal.limits import Limits
from daedal.searches.presets import PRESETS, preset

PAPER = """hidden=none corruption=0.1 learning_rate=0.2 momentum=0 init_scale=0.01 batch_size=100 validation=0.1
gamma=0.05 check_every=5 min_epochs=25 max_epochs=2000 sampling_steps=10 selection=tournament replacement=parents
popsize=none"""
FEW_STEPS = """corruption=0.03 learning_rate=none momentum=0.3 init_scale=0.005 min_epochs=50 max_epochs=50
warm_start=0.5 max_rows=500 validation=0"""
BY_NAME = {name: preset(name) for name in PRESETS}


@pytest.mark.parametrize(
    ("name", "settings", "limits"),
    [
        ("dae-2015", PAPER, (100, 20)),  # the 2015 paper
        ("dae", FEW_STEPS, (150, 50)),
        ("pbil", "learning_rate=0.02 best=1", (2000, 400)),
        ("boa", "replacement=parents", (100, 20)),
        ("hboa", "replacement=rtr", (100, 20)),
        ("dae-search", "trained=0.2 sampling_steps=1 selection=tournament replacement=rtr", (150, 50)),
        ("umda", "selection=tournament replacement=parents", (100, 20)),
    ],
)
def test_settings_and_limits(name: str, settings: str, limits: tuple[int, int]) -> None:
    found = BY_NAME[name]
    assert found.with_settings(dict(pair.split("=") for pair in settings.split())) == found
    assert found.limits == Limits(max_generations=limits[0], patience=limits[1])


def test_all_have_a_name_and_a_line_and_hboa_is_boa_with_niching() -> None:
    assert all(found.name == name and found.summary and "\n" not in found.summary for name, found in BY_NAME.items())
    assert BY_NAME["hboa"].settings() | {"replacement": "parents"} == BY_NAME["boa"].settings()
