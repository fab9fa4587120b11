"""What daedal is compared with: a climber, an EA, P3, and other packages (extra `bench`).

Each takes the counting function, a seed and the budget, and gives the row that it would report. None has a setting
changed but for what says what is asked for: bits, maximize, so many calls, this seed.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np

import daedal
from counting import Counting, Spent
from instances import Bits
from p3 import climb, p3

Rival = Callable[[Counting, int, int], Bits]


def random_search(function: Counting, seed: int, _: int) -> Bits:
    rng = np.random.default_rng([seed, 0x52])
    try:
        while True:
            function.one(rng.integers(2, size=function.n, dtype=np.uint8))
    except Spent:
        return function.best_x


def climber(function: Counting, seed: int, _: int) -> Bits:
    """Climb from random rows, one after another, each until no single flip is better."""
    rng = np.random.default_rng([seed, 0xC1])
    try:
        while True:
            climb(rng.integers(2, size=function.n, dtype=np.uint8), function, rng)
    except Spent:
        return function.best_x


def one_plus_one(function: Counting, seed: int, _: int) -> Bits:
    """Flip each bit with probability 1/n, at least one, and keep what is not worse: the (1+1) EA."""
    rng, n = np.random.default_rng([seed, 0xEA]), function.n
    x = rng.integers(2, size=n, dtype=np.uint8)
    try:
        value = function.one(x)
        while True:
            flips = rng.random(n) < 1.0 / n
            if not flips.any():
                flips[rng.integers(n)] = True
            other = function.one(x ^ flips)
            if other >= value:
                x, value = x ^ flips, other
    except Spent:
        return function.best_x


def pyramid(function: Counting, seed: int, _: int) -> Bits:
    return p3(function, seed)


def gomea(function: Counting, seed: int, budget: int) -> Bits:
    """Run GOMEA with a linkage tree and populations that double, its defaults."""
    import gomea as package

    function.ends = False  # No exception of Python may pass through it; it has limits of its own.

    class Objective(package.fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def objective_function(self, _: int, variables: Any) -> float:
            return function.one(np.asarray(variables))

    optimum = function.instance.optimum
    objective = Objective(function.n, value_to_reach=1e300 if optimum is None or function.instance.noise else optimum)
    tree = package.linkage.LinkageTree()  # which has to outlive the call
    package.DiscreteGOMEA(
        fitness=objective, linkage_model=tree, max_number_of_evaluations=budget, random_seed=seed
    ).run()
    return function.best_x


def optuna(function: Counting, seed: int, budget: int) -> Bits:
    """Run TPE, its default sampler, on n categories of two values."""
    import optuna as package

    package.logging.set_verbosity(package.logging.ERROR)
    study = package.create_study(direction="maximize", sampler=package.samplers.TPESampler(seed=seed))

    def objective(trial: Any) -> float:
        return function.one(np.array([trial.suggest_categorical(f"x{i}", [0, 1]) for i in range(function.n)]))

    with suppress(Spent):
        study.optimize(objective, n_trials=budget)
    return function.best_x


def nevergrad(function: Counting, seed: int, budget: int) -> Bits:
    """Run NGOpt, its own choice for n whole numbers from 0 to 1 and this budget.

    It does worse with the same bits as choices: a choice's value is drawn at random, and NGOpt then takes them for
    continuous; with choices that are transitions, or deterministic, it is in between.
    """
    import nevergrad as package

    space = package.p.Array(shape=(function.n,), lower=0, upper=1).set_integer_casting()
    space.random_state.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = package.optimizers.NGOpt(parametrization=space, budget=budget)
        try:
            for _ in range(budget):
                asked = optimizer.ask()
                optimizer.tell(asked, -function.one(np.array(asked.value)))
        except Spent:
            return function.best_x
        return np.array(optimizer.provide_recommendation().value, dtype=np.uint8)


def pymoo(function: Counting, seed: int, budget: int) -> Bits:
    """Run the GA with its operators for bits and its default population of 100."""
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.sampling.rnd import BinaryRandomSampling
    from pymoo.optimize import minimize

    class Negated(Problem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n_var=function.n, n_obj=1, xl=0, xu=1, vtype=bool)

        def _evaluate(self, x: Any, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = -function(x)

    operators = {"crossover": TwoPointCrossover(), "mutation": BitflipMutation(), "sampling": BinaryRandomSampling()}
    algorithm = GA(pop_size=100, eliminate_duplicates=True, **operators)
    try:
        result = minimize(Negated(), algorithm, ("n_eval", budget), seed=seed, verbose=False)
    except Spent:
        return function.best_x
    return np.array(result.X, dtype=np.uint8)


RIVALS: dict[str, Rival] = {
    "random": random_search,
    "climber": climber,
    "ea": one_plus_one,
    "p3": pyramid,
    "gomea": gomea,
    "optuna": optuna,
    "nevergrad": nevergrad,
    "pymoo": pymoo,
}
PACKAGES = ("gomea", "optuna", "nevergrad", "pymoo")
FIXED = ("random", "climber", "ea", "p3", "gomea", "optuna", "pymoo")
"""Rivals that do the same whatever the budget is: one run shows all smaller budgets."""


def is_installed(name: str) -> bool:
    return name not in PACKAGES or find_spec(name) is not None


@contextmanager
def _quiet() -> Iterator[None]:
    """Do not say that kernels are compiled."""
    logger = logging.getLogger("daedal")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def run_daedal(name: str, function: Counting, seed: int, budget: int) -> Bits:
    """Run an algorithm of daedal by its name, with settings after commas; "default" leaves the choice to daedal."""
    algorithm, *words = name.split(",")
    settings: dict[str, Any] = dict(word.split("=") for word in words)
    if algorithm != "default":
        settings["algorithm"] = algorithm
    if "deduplicate" in settings:
        settings["deduplicate"] = settings["deduplicate"] == "True"
    function.ends = False  # daedal has limits of its own.
    target = None if function.instance.noise else function.instance.optimum
    with warnings.catch_warnings(), _quiet():
        warnings.simplefilter("ignore")
        result = daedal.maximize(function, n=function.n, seed=seed, max_evaluations=budget, target=target, **settings)
    return np.asarray(result.x, dtype=np.uint8)


def run(name: str, function: Counting, seed: int, budget: int) -> Bits:
    """Run a rival, or an algorithm of daedal; gives the row it reports."""
    if name in RIVALS:
        return RIVALS[name](function, seed, budget)
    return run_daedal(name, function, seed, budget)
