"""Population sizes: those of a problem, and those that fit a budget."""

from __future__ import annotations

import tracemalloc

import pytest
from engine_helpers import run_in_batches

import daedal
from daedal.engine import Engine
from daedal.models import DAE, ECGA, PBIL, RBM, UMDA, BayesNet, Tree
from daedal.models.base import Model
from daedal.searches.eda import eda
from daedal.searches.presets import LEAST_POPSIZE, EDAConfiguration, choose_popsize, default_popsize, three_generations

BUDGETS = (1, 2, 10, 30, 100, 300, 1_000, 3_000, 30_000, 10**6, 10**9, 10**400)


def test_without_a_budget_the_problem_says() -> None:
    assert [default_popsize(n) for n in (1, 10, 60, 400, 6_000)] == [540, 900, 2_900, 16_000, 16_000]


def test_of_many_variables_no_population_is_chosen_that_takes_gigabytes() -> None:
    assert [default_popsize(n) for n in (10_000, 100_000, 10**6, 10**9)] == [10_000, 1_000, 100, LEAST_POPSIZE]
    assert [default_popsize(10**6, most) for most in (10**9, 30)] == [100, 4]


@pytest.mark.parametrize("n", [1, 2, 10, 60, 200, 10_000])
def test_a_budget_makes_populations_smaller_and_never_larger(n: int) -> None:
    sizes = [default_popsize(n, most) for most in BUDGETS]
    assert sizes == sorted(sizes)
    assert sizes[0] == 4
    assert sizes[-1] == default_popsize(n)


@pytest.mark.parametrize("n", [1, 2, 10, 20, 60, 200, 1_000])
@pytest.mark.parametrize("slowness", [1.0, 4.0])
def test_a_budget_pays_for_some_generations_and_one_of_3000_for_ten(n: int, slowness: float) -> None:
    """The population, and half of it for each generation after the first; at n=1 there are but two rows to pay for."""
    for most in (12, 30, 100, 300):
        assert most >= three_generations(default_popsize(n, most, slowness=slowness))
    if n > 1:
        assert 6 * default_popsize(n, 3_000, slowness=slowness) <= 3_000


def test_what_was_measured() -> None:
    """At n=60 about 22, 40, 85, 160 and 700 were best; at n=20 and n=200 more and fewer."""
    assert [default_popsize(60, most) for most in (100, 300, 1_000, 3_000, 30_000)] == [22, 43, 89, 171, 682]
    assert [default_popsize(n, 3_000) for n in (20, 200)] == [238, 119]
    assert default_popsize(60, 3_000, slowness=PBIL.slowness) == 43


@pytest.mark.parametrize("model", [UMDA(), PBIL()])
def test_a_configuration_is_resolved_for_a_budget(model: Model) -> None:
    free, given = EDAConfiguration(model=model), EDAConfiguration(model=model, popsize=300)
    assert free.resolved(60).popsize == 2_900
    assert free.resolved(60, max_evaluations=1_000).popsize == default_popsize(60, 1_000, slowness=model.slowness)
    assert given.resolved(60, max_evaluations=100, workers=8).popsize == 300


@pytest.mark.parametrize(("popsize", "rows"), [(2, 4), (4, 8), (5, 11), (100, 200)])
def test_three_generations_cost_so_much(popsize: int, rows: int) -> None:
    assert three_generations(popsize) == rows
    configuration = EDAConfiguration(model=UMDA(), popsize=popsize)
    assert configuration.budget_warning(rows) is None
    warning = configuration.budget_warning(rows - 1)
    assert warning is not None
    assert f"popsize={popsize}," in warning


def test_what_no_memory_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="memory"):
        choose_popsize(10**9, 10**6)
    with pytest.raises(ValueError, match="popsize=1; the default for n=60 is 171"):
        choose_popsize(1, 60, 3_000)


LARGE = 10**6  # variables, whose pairs take terabytes


@pytest.mark.parametrize("popsize", [None, 10, "auto"])
@pytest.mark.parametrize("name", sorted(set(daedal.algorithms()) - {"auto", "mix", "ils"}))
def test_what_no_model_can_be_fitted_to_is_refused_before_the_first_row(name: str, popsize: int | str | None) -> None:
    """In one line, with the figure and what else there is; where a population alone is kept, it goes."""
    algorithm = daedal.algorithms()[name].with_settings({} if popsize is None else {"popsize": popsize})
    if name in ("umda", "pbil"):
        algorithm.resolved(LARGE)
        return
    with pytest.raises(ValueError, match=r"takes about [\d.]+ TiB of memory.* umda") as caught:
        daedal.maximize(lambda x: pytest.fail("called"), LARGE, algorithm=algorithm, seed=1)
    assert "\n" not in str(caught.value)


MODELS: list[Model] = [UMDA(), PBIL(), Tree(), ECGA(), BayesNet(), RBM(max_epochs=1), DAE(max_epochs=1)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_a_generation_takes_is_not_more_than_is_counted(model: Model) -> None:
    """Measured as NumPy allocates it, without what kernels allocate themselves."""
    n, popsize = 600, 400
    engine = Engine(n, seed=1)
    model.prepare()
    engine.start(eda(engine, model=model, popsize=popsize))
    run_in_batches(engine, lambda x: x.sum(axis=1) * 1.0, most=1)
    tracemalloc.start()
    try:
        engine.ask()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= model.working_bytes(popsize // 2, n) + 6 * popsize * n + 2**23  # what is drawn at a time
