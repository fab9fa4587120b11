"""A network that starts from the last generation's goes on from a checkpoint as if it had never been broken off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_helpers import at, told

import daedal

SMALL: dict[str, Any] = {"seed": 5, "popsize": 40, "max_generations": 5, "algorithm": "dae", "max_epochs": 10}
KINDS: dict[str, dict[str, Any]] = {
    "all kept": {"warm_start": 1.0},
    "half kept": {"warm_start": 0.5, "tied": False},
    "deep": {"warm_start": 1.0, "hidden": (9, 5), "init": "glorot", "optimizer": "adam", "learning_rate": 0.01},
    "deep, from scratch": {"hidden": (9, 5), "pretrain": 2, "noise": "block", "sampling_start": "parents"},
    "as many rounds as needed": {"sampling_steps": "auto", "warm_start": 1.0},
}


@pytest.mark.parametrize("generation", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on(kind: str, generation: int, tmp_path: Path) -> None:
    path, how = tmp_path / "run.ckpt", SMALL | KINDS[kind]
    expected = daedal.maximize("trap:k=4,n=12", **how)
    assert daedal.maximize("trap:k=4,n=12", checkpoint=path, callback=at(generation), **how).generations == generation
    again = daedal.resume(path)
    assert told(again) == told(expected)
    assert again.settings["hidden"] == KINDS[kind].get("hidden")


def test_what_is_kept_changes_the_run() -> None:
    cold, warm = (daedal.maximize("trap:k=4,n=12", **SMALL, warm_start=share) for share in (0.0, 1.0))
    assert [one.info for one in cold.history[:2]] == [one.info for one in warm.history[:2]]
    assert cold.history[2].info != warm.history[2].info
