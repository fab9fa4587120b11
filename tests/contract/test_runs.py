"""What every algorithm must do in a run: seeds, budgets, workers, signs, initial candidates, limits, known values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import ALGORITHMS, Calls, at, ragged, told, without_clocks

import daedal
from daedal.archive import to_candidates, to_rows
from daedal.limits import StopReason

N = 20
CONSTANT_SIZE = [name for name in ALGORITHMS if "doubled" not in name]
"""The others run several populations, each with its own limits on generations."""

pytestmark = pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")


def run(objective: Any, name: str, **how: Any) -> daedal.Result:
    return daedal.maximize(objective, N, **{"seed": 1, "vectorized": False, **ALGORITHMS[name], **how})


def probes(name: str, evaluated: int) -> int:
    """Return the evaluations of a candidate that is known: `auto` makes one to see whether values are noisy."""
    return int(name == "auto" and evaluated > 20)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_is_a_function_of_its_seed(name: str) -> None:
    first, again, other = Calls(), Calls(), Calls()
    result = run(first, name, max_evaluations=90)
    np.random.seed(5)  # noqa: NPY002  to see that no algorithm uses it
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert told(run(again, name, max_evaluations=90)) == told(result)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert again.seen == first.seen
    run(other, name, max_evaluations=90, seed=2)
    assert other.seen != first.seen


@pytest.mark.parametrize("most", [1, 2, 24, 25, 100])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_budget_is_exact_and_the_books_add_up(name: str, most: int) -> None:
    calls = Calls()
    result = run(calls, name, max_evaluations=most)
    assert len(calls.seen) == result.evaluations <= most
    assert len(calls.seen) == len(set(calls.seen)) + probes(name, result.evaluations)
    assert result.evaluations == most or result.stop is StopReason.CONVERGED
    last = result.history[-1]
    assert (result.evaluations, result.repeated) == (last.evaluations, last.repeated)
    assert [record.generation for record in result.history] == list(range(result.generations + 1))
    values = ragged(to_rows(calls.seen, N))
    assert result.fitness == values.max() == ragged(result.x[None])[0] == result.history[-1].best
    assert 0 < result.evaluations_to_best <= result.evaluations
    figures = [[record.best, record.mean, *record.info.values()] for record in result.history]
    assert all(np.isfinite(one).all() for one in figures)
    assert all(np.diff([record.evaluations for record in result.history]) >= 0)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_workers_change_nothing(name: str) -> None:
    expected = told(run(ragged, name, vectorized=True, max_evaluations=90))
    with ThreadPoolExecutor(2) as executor:
        assert told(run(ragged, name, vectorized=True, max_evaluations=90, executor=executor)) == expected
    if name in ("auto", "ils", "umda", "own"):
        assert told(run(ragged, name, vectorized=True, max_evaluations=90, workers=2)) == expected


@pytest.mark.parametrize("name", ALGORITHMS)
def test_minimizing_the_negative_is_the_mirror(name: str) -> None:
    up, down = Calls(), Calls(lambda x: -ragged(x))
    highest = run(up, name, max_evaluations=90)
    lowest = run(down, name, max_evaluations=90, minimize=True)
    assert down.seen == up.seen
    assert lowest.fitness == -highest.fitness
    assert [(-one.best, -one.mean) for one in lowest.history] == [(one.best, one.mean) for one in highest.history]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_initial_candidates_are_evaluated_first_unless_their_values_are_given(name: str) -> None:
    rows = np.random.default_rng(8).integers(0, 2, (5, N), dtype=np.uint8)
    calls = Calls()
    run(calls, name, max_evaluations=60, initial=rows)
    assert calls.seen[:5] == to_candidates(rows)
    calls = Calls()
    values = ragged(rows) + 10.0
    result = run(calls, name, max_evaluations=60, initial=(rows, values))
    assert not {*calls.seen} & {*to_candidates(rows)}
    assert result.fitness == values.max()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_ends_at_its_target(name: str) -> None:
    whole = run(ragged, name, vectorized=True, max_evaluations=90)
    result = run(ragged, name, vectorized=True, max_evaluations=90, target=whole.fitness)
    assert (result.stop, result.success) == (StopReason.TARGET, True)
    assert result.evaluations_to_best == whole.evaluations_to_best
    assert result.evaluations <= whole.evaluations


@pytest.mark.parametrize("name", CONSTANT_SIZE)
def test_generations_and_patience_end_a_run(name: str) -> None:
    how: dict[str, Any] = {"vectorized": True, "max_evaluations": 600}
    whole = [without_clocks(one) for one in run(ragged, name, **how).history]
    for most in {0, 1, 3} & set(range(len(whole) - 1)):
        result = run(ragged, name, **how, max_generations=most)
        assert result.stop is StopReason.GENERATIONS
        assert [without_clocks(one) for one in result.history] == whole[: most + 1]
        stopped = run(ragged, name, **how, callback=at(most))
        assert (stopped.stop, stopped.generations) == (StopReason.CALLBACK, most)
    result = run(ragged, name, **how, patience=2)
    bests = [one.best for one in result.history]
    if result.stop is StopReason.PATIENCE:
        assert bests[-3] == bests[-1]
        assert all(early < late for early, late in zip(bests[:-3], bests[2:-1], strict=True))
    else:
        assert result.stop in (StopReason.CONVERGED, StopReason.EVALUATIONS)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_known_evaluations_are_free(name: str, tmp_path: Path) -> None:
    """The same run again, with what it evaluated known, takes the same way and gets further."""
    first, second = Calls(), Calls()
    once = run(first, name, max_evaluations=60, run=tmp_path / "first.db")
    twice = run(second, name, max_evaluations=60, known=tmp_path / "first.db", run=tmp_path / "second.db")
    assert not {*first.seen} & {*second.seen}
    assert len(second.seen) == twice.evaluations <= 60
    assert twice.repeated >= len({*first.seen})
    assert twice.fitness >= once.fitness
    given = ALGORITHMS[name]["algorithm"] if name.startswith("own") else None
    again = daedal.resume(tmp_path / "second.db", lambda row: pytest.fail("a call"), algorithm=given)
    assert told(again) == told(twice)  # its own file has the known values, too


@pytest.mark.parametrize("name", ["umda", "pbil", "ils", "own"])
def test_an_evaluation_that_fails_counts_once_however_often_it_is_tried(name: str) -> None:
    def failing(x: Any) -> Any:
        values = ragged(x)
        return np.where(values < 1.0, np.nan, values)

    for on_error in ("worst", "retry:2,worst"):
        calls = Calls(failing)
        result = run(calls, name, max_evaluations=90, on_error=on_error)
        assert result.failed > 5
        assert len({*calls.seen}) == result.evaluations <= 90
        assert (result.stop is StopReason.EVALUATIONS) == (result.evaluations == 90)


@pytest.mark.parametrize(("most", "calls"), [(1, 1), (19, 19), (500, 40)])
@pytest.mark.parametrize("name", ["umda", "ils"])
def test_a_run_whose_evaluations_all_fail_has_no_result(name: str, most: int, calls: int) -> None:
    nothing = Calls(lambda x: np.full(len(x), np.nan))
    with pytest.raises(daedal.ObjectiveError, match=r"the first error: .*nan") as error:
        run(nothing, name, max_evaluations=most, on_error="worst")
    assert error.value.best is None
    assert len(nothing.seen) <= calls


def test_without_deduplication_every_candidate_is_an_evaluation() -> None:
    calls = Calls()
    result = run(calls, "umda", max_evaluations=300, deduplicate=False)
    assert (result.evaluations, result.repeated, len(calls.seen)) == (300, 0, 300)
    assert len(set(calls.seen)) < 300


async def asks_again(f: Any, *, rng: np.random.Generator) -> None:
    candidates = f.random(64, rng)
    while True:
        await f(candidates)


def test_a_search_that_asks_for_known_candidates_alone_has_converged() -> None:
    """A run never spins, whoever wrote the search."""
    result = daedal.maximize(ragged, N, algorithm=asks_again, seed=1, max_evaluations=100)
    assert (result.stop, result.evaluations) == (StopReason.CONVERGED, 64)
