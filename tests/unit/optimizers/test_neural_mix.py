"""`neural-mix`: donors of all sources, resume in the middle of mixing, and traps, which a network alone would lose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daedal
from daedal.limits import Limits, StopReason
from daedal.optimizers.donor_population import MOST_VARIABLES
from daedal.optimizers.mix import Mix
from daedal.optimizers.neural_mix import NeuralMix, NeuralMixConfiguration
from daedal.types import Bits, Fitness, State, StateError


def deceptive(x: Bits) -> Fitness:
    ones = x.reshape(len(x), -1, 5).sum(axis=2)
    return np.where(ones == 5, 5, 4 - ones).sum(axis=1).astype(float)


def rugged(x: Bits) -> Fitness:
    return np.asarray((x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5)


def calls_to(optimizer: Mix, target: float, most: int = 20_000) -> int:
    while optimizer.stop is None and optimizer.evaluations < most:
        optimizer.tell(deceptive(optimizer.ask()))
        if optimizer.best is not None and optimizer.best.fitness >= target:
            return optimizer.evaluations
    raise AssertionError(f"not solved: {optimizer.best}")


def test_deceptive_blocks_are_solved() -> None:
    """A network alone falls into the basin of most rows; choosing by success has to keep it from that."""
    calls = [calls_to(NeuralMix(n=25, seed=seed), 25) for seed in range(5)]
    assert np.mean(calls) < 1_400


def test_until_the_first_mixing_it_is_mix() -> None:
    one, other = NeuralMix(n=30, seed=3), Mix(n=30, seed=3)
    batches = 0
    while one.population._generation == 0:
        rows = one.ask()
        assert np.array_equal(rows, other.ask())
        one.tell(rugged(rows))
        other.tell(rugged(rows))
        batches += 1
    assert batches > 5


@pytest.mark.parametrize("donors", ["all", "network", "walsh"])
def test_all_sources_are_asked_and_get_credit(donors: str) -> None:
    optimizer = NeuralMix(n=30, seed=1, donors=donors)
    while optimizer.evaluations < 3000:
        optimizer.tell(rugged(optimizer.ask()))
    _, network, walsh = optimizer.population.shares()
    tried = optimizer.population._credit[0]
    assert (network > 0) == (tried[1] > 0) == (donors != "walsh")
    assert (walsh > 0) == (tried[2] > 0) == (donors != "network")
    assert tried[0] > 0


def test_no_row_is_asked_for_twice() -> None:
    optimizer, rows = NeuralMix(n=12, seed=1), []
    while optimizer.stop is None:
        rows.append(optimizer.ask())
        optimizer.tell(rugged(rows[-1]))
    assert (optimizer.stop, optimizer.evaluations) == (StopReason.EXHAUSTED, 2**12)
    assert len(np.unique(np.concatenate(rows), axis=0)) == 2**12


def test_it_goes_on_to_the_bit_from_any_batch_of_mixing() -> None:
    """Most moments of the contract's resume come before the first mixing: here, each hundredth batch of a long run."""
    one = NeuralMix(n=25, seed=2)
    other = NeuralMix(n=25, seed=2)
    mixed = 0
    for batch in range(300):
        rows = one.ask()
        assert np.array_equal(rows, other.ask())
        assert repr(one.tell(rugged(rows))) == repr(other.tell(rugged(rows)))
        if batch % 25 == 0:
            mixed += one.population._generation > 0
            state, other = other.state(), NeuralMix(n=25, seed=2)
            other.restore(state)
    assert mixed > 3


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("population/donors/credit", np.zeros((2, 2))),
        ("population/donors/credit", np.full((2, 3), -1.0)),
        ("population/donors/credit", np.full((2, 3), np.inf)),
        ("population/donors/asked", np.full((16, 25), 7)),
    ],
)
def test_a_state_that_no_run_has_is_refused(name: str, wrong: Any) -> None:
    optimizer = NeuralMix(n=25, seed=2)
    for _ in range(100):
        optimizer.tell(rugged(optimizer.ask()))
    state = optimizer.state()
    assert name in state.arrays
    with pytest.raises(StateError):
        NeuralMix(n=25, seed=2).restore(State(arrays={**state.arrays, name: wrong}, fields=state.fields))


def test_many_variables_have_no_network() -> None:
    optimizer = NeuralMix(n=MOST_VARIABLES + 1, seed=1, limits=Limits(max_evaluations=300))
    assert optimizer.population.network is None
    assert NeuralMix(n=MOST_VARIABLES, seed=1).population.network is not None
    while optimizer.stop is None:
        optimizer.tell(optimizer.ask().sum(axis=1).astype(float))
    assert optimizer.best is not None
    assert optimizer.best.fitness == MOST_VARIABLES + 1


def test_records_tell_the_shares_of_the_sources() -> None:
    result = daedal.maximize(deceptive, n=25, algorithm="neural-mix", seed=1, target=25)
    assert result.success
    assert any(record.info["network"] > 0 for record in result.history)


@pytest.mark.parametrize("settings", [{"donors": "nobody"}, {"steps": 0}, {"steps": 10**6}, {"members": 1}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
        NeuralMixConfiguration(**settings)
    with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
        NeuralMix(n=5, **settings)
