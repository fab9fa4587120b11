"""What every registered problem must do. A new one is in by being registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from all_rows import all_rows
from ioh_standin import skip_without_ioh
from problem_files import with_file

import daedal
from daedal.problems import Problem, shuffled
from daedal.problems.registry import _PROBLEMS, ProblemKind, find_problem, problem_kinds, register_problem
from daedal.types import Bits, Fitness, check_bits


def problem_cases(folder: Path) -> dict[str, str]:
    """Give the problems under contract: the first example of every registered kind, its file written into a folder."""
    return {name: with_file(kind.example.split(" or ")[0], folder) for name, kind in problem_kinds().items()}


def rows(n: int, count: int = 300, seed: int = 0) -> Bits:
    return np.random.default_rng(seed).integers(0, 2, (count, n), dtype=np.uint8)


# The contract


def its_name_makes_it_and_it_introduces_itself(spec: str) -> None:
    kind = problem_kinds()[spec.partition(":")[0]]
    assert kind.summary
    assert kind.example.startswith(kind.name)
    problem, again = find_problem(spec), find_problem(spec)
    assert isinstance(problem, Problem)
    assert isinstance(problem.n, int)
    assert problem.n >= 1
    x = rows(problem.n)
    assert problem.evaluate(x).tolist() == again.evaluate(x).tolist()
    assert repr(problem)


def fitness_is_one_number_a_row(spec: str) -> None:
    problem = find_problem(spec)
    for count in (0, 1, 300):
        fitness = problem.evaluate(rows(problem.n, count))
        assert fitness.shape == (count,)
        assert fitness.dtype == np.float64
        assert np.isfinite(fitness).all()


def rows_do_not_look_at_each_other(spec: str) -> None:
    problem = find_problem(spec)
    x = rows(problem.n, 50)
    order = np.random.default_rng(1).permutation(50)
    expected = problem.evaluate(x)
    assert problem.evaluate(x[order]).tolist() == expected[order].tolist()
    assert problem.evaluate(x[7:8]).tolist() == expected[7:8].tolist()
    assert problem.evaluate(np.asfortranarray(x)).tolist() == expected.tolist()


def evaluating_leaves_its_input_alone(spec: str) -> None:
    problem = find_problem(spec)
    x = rows(problem.n)
    kept = x.copy()
    problem.evaluate(x)[...] = -1.0
    assert np.array_equal(x, kept)
    assert (problem.evaluate(x) != -1.0).any()


def the_optimum_is_attained_and_not_beaten(spec: str) -> None:
    problem = find_problem(spec)
    assert isinstance(problem.optimum, float)
    solution = getattr(problem, "solution", None)
    if problem.n <= 12:
        assert best_of(problem, all_rows(problem.n)) == pytest.approx(problem.optimum, abs=1e-9)
    else:
        assert solution is not None
    if solution is not None:
        check_bits(solution[None], problem.n)
        assert best_of(problem, solution[None]) == pytest.approx(problem.optimum, abs=1e-9)
        near = np.repeat(solution[None], problem.n, axis=0) ^ np.eye(problem.n, dtype=np.uint8)
        assert best_of(problem, near) <= problem.optimum + 1e-9
    assert best_of(problem, rows(problem.n, 2000)) <= problem.optimum + 1e-9


def best_of(problem: Problem, x: Bits) -> float:
    """Give the largest fitness of the rows that violate nothing."""
    violations = getattr(problem, "violations", None)
    feasible = np.ones(len(x), dtype=bool) if violations is None else (violations(x) <= 0).all(axis=1)
    return float(problem.evaluate(x)[feasible].max(initial=-np.inf))


def violations_are_signed_constraint_values_of_each_row(spec: str) -> None:
    problem = find_problem(spec)
    violations = getattr(problem, "violations", None)
    if violations is None:
        return
    x = rows(problem.n, 50)
    outputs = violations(x)
    assert outputs.shape == (50, outputs.shape[1])
    assert outputs.shape[1] >= 1
    assert outputs.dtype == np.float64
    assert np.isfinite(outputs).all()
    assert violations(x[:0]).shape == (0, outputs.shape[1])
    assert violations(x[7:8]).tolist() == outputs[7:8].tolist()
    assert violations(np.asfortranarray(x)).tolist() == outputs.tolist()
    with pytest.raises(ValueError, match="uint8"):
        violations(x.astype(float))


def other_rows_are_refused(spec: str) -> None:
    problem = find_problem(spec)
    n = problem.n
    wrong: list[object] = [
        np.zeros((2, n + 1), np.uint8),
        np.zeros((2, n - 1), np.uint8),
        np.zeros(n, np.uint8),
        np.zeros((1, 2, n), np.uint8),
        np.zeros((2, n), np.int64),
        np.zeros((2, n)),
        np.zeros((2, n), bool),
        [[0] * n],
    ]
    for x in wrong:
        with pytest.raises(ValueError, match=rf"uint8 .*\(rows, {n}\).* got "):
            problem.evaluate(x)  # type: ignore[arg-type]


def shuffled_it_is_the_same_problem(spec: str) -> None:
    problem = find_problem(spec)
    mixed = shuffled(problem, rng=np.random.default_rng(2))
    x = rows(problem.n)
    assert mixed.n == problem.n
    assert mixed.optimum == problem.optimum
    assert mixed.evaluate(x).tolist() == problem.evaluate(mixed.restore(x)).tolist()
    assert np.array_equal(mixed.restore(x[:, mixed.order]), x)


def a_run_reports_in_its_own_order(spec: str) -> None:
    problem = find_problem(spec)
    result = daedal.maximize(spec, algorithm="umda", popsize=50, seed=1, max_generations=3)
    assert problem.evaluate(result.x[None])[0] == result.fitness
    assert result.optimum == problem.optimum


CHECKS: list[Callable[[str], None]] = [
    its_name_makes_it_and_it_introduces_itself,
    fitness_is_one_number_a_row,
    rows_do_not_look_at_each_other,
    evaluating_leaves_its_input_alone,
    the_optimum_is_attained_and_not_beaten,
    violations_are_signed_constraint_values_of_each_row,
    other_rows_are_refused,
    shuffled_it_is_the_same_problem,
    a_run_reports_in_its_own_order,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(problem_kinds()))
def test_every_problem(name: str, check: Callable[[str], None], tmp_path: Path) -> None:
    skip_without_ioh(name)
    check(problem_cases(tmp_path)[name])


# The suite itself


@dataclass(frozen=True)
class Alternating:
    """A problem in a few lines: how many neighbors differ."""

    n: int = 9

    @property
    def optimum(self) -> float:
        return float(self.n - 1)

    @property
    def solution(self) -> Bits:
        return (np.arange(self.n) % 2).astype(np.uint8)

    def evaluate(self, x: Bits) -> Fitness:
        check_bits(x, self.n)
        return (x[:, 1:] != x[:, :-1]).sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class Boasting(Alternating):
    """States more than it has."""

    @property
    def optimum(self) -> float:
        return float(self.n)


@pytest.fixture
def newcomer() -> Iterator[str]:
    register_problem(
        ProblemKind(name="alternating", summary="Neighbors differ", example="alternating:n=9", make=Alternating)
    )
    yield "alternating"
    del _PROBLEMS["alternating"]


def test_a_newly_registered_problem_is_under_contract(newcomer: str, tmp_path: Path) -> None:
    assert problem_cases(tmp_path)[newcomer] == "alternating:n=9"
    for check in CHECKS:
        check(problem_cases(tmp_path)[newcomer])


def test_the_contract_has_teeth(newcomer: str) -> None:
    register_problem(ProblemKind(name=newcomer, summary="Boasts", example="alternating:n=9", make=Boasting))
    with pytest.raises(AssertionError):
        the_optimum_is_attained_and_not_beaten("alternating:n=9")
