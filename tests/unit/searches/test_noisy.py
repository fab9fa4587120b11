"""Noisy objectives: who is measured again, how often, and what is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from engine_driver import Driven, drive

from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.limits import StopReason
from daedal.searches.noisy import INTERIM, averaged, noisy_popsize, univariate_populations
from daedal.types import Bits, Fitness

N = 16


async def random_search(f: Engine) -> None:
    """Evaluate random candidates, ten at a time, 3,000 in all."""
    rng = f.stream(2)  # type: ignore[arg-type]
    for _ in range(300):
        await f(f.random(10, rng))


def weights(x: Bits) -> Fitness:
    return np.asarray(x @ np.sqrt(np.arange(1.0, x.shape[1] + 1)) % 7)


def scattering(sd: float, seed: int = 1, value: Callable[[Bits], Fitness] | None = None) -> Callable[[Bits], Fitness]:
    rng = np.random.default_rng(seed)
    return lambda x: (x.sum(axis=1) if value is None else value(x)) + sd * rng.normal(size=len(x))


def found(driven: Driven) -> tuple[int, float, float | None, int, bool]:
    return driven.answers[-1]


@pytest.mark.parametrize("search", [random_search, univariate_populations])
@pytest.mark.parametrize("most", [300, 1000])
def test_without_noise_the_winner_is_among_the_best_and_the_error_is_0(search: object, most: int) -> None:
    driven = drive(lambda f: averaged(f, search), weights, n=N, most=most)  # type: ignore[arg-type]
    candidate, mean, error, measurements, is_measured = found(driven)
    best = max(driven.f.archive.values.values())
    assert mean == pytest.approx(best)
    assert weights(to_rows([candidate], N))[0] == pytest.approx(best)
    assert error == pytest.approx(0.0, abs=1e-6)
    assert is_measured
    assert measurements >= most // 30


def test_the_better_half_stays_and_only_the_last_values_are_reported() -> None:
    """Rounds cost alike. The last values, for one candidate alone, are all 100."""

    def value(x: Bits) -> Fitness:
        return weights(x) if len(np.unique(x, axis=0)) > 1 else np.full(len(x), 100.0)

    driven = drive(lambda f: averaged(f, random_search), value, n=N, most=2000)
    contest = [Counter(batch) for batch in driven.asked if max(Counter(batch).values()) > 1]
    assert [len(counts) for counts in contest] == [8, 4, 2, 1]
    assert all(len(set(counts.values())) == 1 for counts in contest)
    for before, after in pairwise(contest):
        worth = {c: weights(to_rows([c], N))[0] for c in before}
        assert min(worth[c] for c in after) >= max([worth[c] for c in before if c not in after])
    (last,) = contest[-1].values()
    assert found(driven)[1:] == (100.0, 0.0, last, True)
    assert driven.evaluations == 2000


@pytest.mark.parametrize("repeats", [None, 1, 2, 5, 20, 100])
@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 7, 10, 21, 50, 119, 150])
@pytest.mark.parametrize("alone", [False, True])
def test_a_budget_is_kept_and_so_are_repeats(most: int, repeats: int | None, alone: bool) -> None:
    driven = drive(
        lambda f: averaged(f, univariate_populations, repeats=repeats), scattering(1.0), n=N, most=most, alone=alone
    )
    assert driven.evaluations == most
    assert found(driven)[3] >= min(most, repeats or 1)
    assert found(driven)[4] or most <= 2
    assert (found(driven)[2] is None) == (found(driven)[3] == 1)


def test_a_lucky_value_is_never_reported() -> None:
    """Single values reach a target that no candidate has; each answer has its measurements, whatever is checked."""
    for seed in range(30):
        driven = drive(
            lambda f: averaged(f, univariate_populations, repeats=20),
            scattering(5.0, seed),
            n=20,
            most=700,
            seed=seed,
            target=24.0,
        )
        assert driven.reached or driven.evaluations == 700
        assert found(driven)[3] >= 20
        assert found(driven)[4]
        assert any(not is_measured and value >= 24 for _, value, _, _, is_measured in driven.answers)


def test_a_mean_that_reaches_the_target_ends_the_run() -> None:
    search = lambda f: averaged(f, univariate_populations, repeats=4)  # noqa: E731
    driven = drive(search, scattering(1.0), n=N, most=4000, target=14.0)
    assert driven.reached
    assert driven.evaluations < 1000
    assert (found(driven)[1] >= 14, found(driven)[3]) == (True, 4)


def test_the_mean_that_is_reported_is_not_too_good() -> None:
    """All candidates are worth 0: the winner had luck, and the last values know nothing of it."""
    z, lead = [], []
    for seed in range(100):
        noise = scattering(1.0, seed, lambda x: np.zeros(len(x)))
        driven = drive(lambda f: averaged(f, random_search), noise, n=N, most=400, seed=seed)
        _, mean, error, _, _ = found(driven)
        assert error is not None
        z.append(mean / error)
        lead.append(driven.answers[-2][1])
    assert abs(np.mean(z)) < 0.25
    assert 0.85 < np.std(z) < 1.25
    assert np.mean(lead) > 0.15  # what would have been reported otherwise


@pytest.mark.parametrize("timed", [False, True])
def test_contests_take_place_on_the_way_if_the_end_is_not_known(timed: bool) -> None:
    measured = []

    def watch(driven: Driven) -> None:
        driven.f.timed = timed
        measured.append(bool(driven.answers) and found(driven)[4])

    driven = drive(
        lambda f: averaged(f, random_search), scattering(1.0), n=N, most=5000 if timed else None, watch=watch
    )
    first = sum(len(batch) for batch in driven.asked[: measured.index(True) + 1])
    assert INTERIM < first < 2 * INTERIM
    assert found(driven)[3] >= 40


def test_a_search_that_has_to_end_is_followed_by_its_contest() -> None:
    def watch(driven: Driven) -> None:
        driven.f.over = StopReason.GENERATIONS if driven.evaluations >= 200 else None

    driven = drive(lambda f: averaged(f, random_search, repeats=30), scattering(1.0), n=N, watch=watch)
    assert driven.evaluations < 500
    assert found(driven)[3] >= 30


def test_a_larger_budget_is_spent_on_more_search_and_another_contest() -> None:
    driven = drive(lambda f: averaged(f, random_search), scattering(2.0), n=N, most=500, budgets=[1500])
    assert driven.evaluations == 1500
    assert len({mean for _, mean, _, _, is_measured in driven.answers if is_measured}) == 2
    assert max(Counter(c for batch in driven.asked for c in batch[:10]).values()) < 100


def test_it_ends_if_nothing_is_feasible() -> None:
    driven = drive(lambda f: averaged(f, univariate_populations), lambda x: np.full(len(x), -np.inf), n=N, most=300)
    assert driven.evaluations == 300
    assert found(driven)[1:3] == (-np.inf, None)


def test_populations_double_until_there_are_four() -> None:
    sizes = []
    search = lambda f: averaged(f, univariate_populations)  # noqa: E731
    driven = drive(search, scattering(1.0), n=6, watch=lambda driven: sizes.append(driven.f.popsize))
    assert [*dict.fromkeys(sizes)] == [noisy_popsize(None) * 2**k for k in range(4)]
    assert driven.f.contenders() == [63] == [found(driven)[0]]
