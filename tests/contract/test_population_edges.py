"""What every registered algorithm must do with a population, or a problem, that is hardly there."""

from __future__ import annotations

import numpy as np
import pytest

import daedal
from daedal.limits import StopReason
from daedal.searches.presets import find_algorithm
from daedal.types import Bits, Fitness

ALGORITHMS = sorted(name for name, one in daedal.algorithms().items() if "popsize" in one.settings())
BY_ITSELF = (StopReason.CONVERGED, StopReason.PATIENCE)


def number(x: Bits) -> Fitness:
    """A different value for each row: the bits as a number."""
    return (x @ (2.0 ** np.arange(x.shape[1]))).astype(np.float64)


def check(result: daedal.Result, n: int) -> None:
    assert result.x.shape == (n,)
    assert result.x.dtype == np.uint8
    assert np.isfinite(result.fitness)
    assert len(result.history) == result.generations + 1
    assert all(np.isfinite([record.best, record.mean, *record.info.values()]).all() for record in result.history)


@pytest.mark.parametrize("replacement", ["parents", "rtr"])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_smallest_runs_end_by_themselves(algorithm: str, n: int, replacement: str) -> None:
    for popsize in (2, 3, 4):
        for seed in range(3):
            result = daedal.maximize(
                number, n, algorithm=algorithm, popsize=popsize, seed=seed, patience=8, replacement=replacement
            )
            check(result, n)
            assert result.stop in BY_ITSELF
            assert result.fitness == number(result.x[None])[0]
            assert result.evaluations + result.repeated == popsize + result.generations * (popsize - popsize // 2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_many_variables_and_hardly_a_parent(algorithm: str) -> None:
    for popsize in (2, 3):
        result = daedal.maximize(lambda x: x.sum(axis=1), 60, algorithm=algorithm, popsize=popsize, seed=1, patience=4)
        check(result, 60)
        assert result.stop in BY_ITSELF


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
def test_evaluations_may_run_out_anywhere(algorithm: str, most: int) -> None:
    run = {"algorithm": algorithm, "popsize": 4, "seed": 2, "max_evaluations": most}
    check(daedal.maximize(number, 3, **run), 3)  # where some rows are known, and free
    result = daedal.maximize(number, 3, deduplicate=False, **run)
    check(result, 3)
    assert result.stop is StopReason.EVALUATIONS
    assert result.evaluations == most


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_feasible_row_is_enough_and_none_is_no_error(algorithm: str) -> None:
    def needle(x: Bits) -> Fitness:
        return np.where(x.all(axis=1), 1.0, -np.inf)

    found = daedal.maximize(needle, 3, algorithm=algorithm, popsize=60, seed=1, patience=3)
    assert found.fitness == 1.0
    nothing = daedal.maximize(lambda x: np.full(len(x), -np.inf), 3, algorithm=algorithm, popsize=8, seed=1, patience=3)
    assert nothing.fitness == -np.inf
    assert nothing.stop in BY_ITSELF


WRONG: list[tuple[str, str, object]] = [
    ("boa", "max_parents", -1),
    ("hboa", "max_parents", -1),
    ("dae", "hidden", 0),
    ("dae-2015", "hidden", 0),
    ("rbm", "hidden", 0),
    ("ecga", "max_group", 0),
]
WRONG += [(name, "replacement", "best") for name in ALGORITHMS]


@pytest.mark.parametrize(("algorithm", "setting", "value"), WRONG)
def test_what_no_model_can_use_is_refused_in_one_line(algorithm: str, setting: str, value: object) -> None:
    for given in (value, str(value)):
        with pytest.raises(ValueError, match=f"^expected {setting} .*, got {setting}='?{value}'?$"):
            daedal.maximize("onemax:n=8", algorithm=algorithm, popsize=20, **{setting: given})  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ["boa", "hboa"])
def test_no_parents_at_all_are_independent_bits(algorithm: str) -> None:
    result = daedal.maximize("onemax:n=8", algorithm=algorithm, popsize=60, seed=1, max_parents=0, max_generations=4)
    assert find_algorithm(algorithm).settings()["max_parents"] is None
    assert all(record.info["edges"] == 0 for record in result.history[1:])
