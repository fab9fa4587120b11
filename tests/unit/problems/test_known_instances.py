"""Every instance in the folder of benchmark instances: it is read, and what is known of it is so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from daedal.problems import Ising, read_ising, read_maxcut, read_maxsat, read_mkp
from daedal.problems.registry import find_problem
from daedal.types import from_text

BEST_CUTS = {
    "dense-n0000025i00": 12322,
    "dense-n0000050i00": 25501,
    "sparse-n0000049i00": 297,
    "sparse-n0000100i00": 586,
}


def test_landscapes_state_their_optimum(data_dir: Path) -> None:
    for path in (data_dir / "nk").iterdir():
        problem = find_problem(f"nk:{path}")
        assert problem.solution is not None  # type: ignore[attr-defined]
        best = problem.evaluate(problem.solution[None])[0]  # type: ignore[attr-defined]
        assert best == pytest.approx(problem.optimum, abs=1e-6)


def test_spin_glasses_have_the_ground_state_of_their_first_line(data_dir: Path) -> None:
    paths = sorted((data_dir / "ising").iterdir())
    assert len(paths) == 6
    for path in paths:
        glass = read_ising(path)
        energy, state = path.read_text().split("\n")[0].split()
        row = from_text(state)
        spins = 2 * row.astype(int) - 1
        (i, j), couplings = glass.pairs.T, glass.weights
        assert -(couplings * spins[i] * spins[j]).sum() == float(energy)
        assert glass.evaluate(row[None])[0] == -float(energy) == glass.optimum
        assert len(couplings) == 2 * glass.n  # a torus
        assert set(np.bincount(glass.pairs.ravel())) == {4}
        if glass.n <= 64:
            assert Ising(glass.n, glass.pairs, glass.weights).maximize()[1] == glass.optimum  # proven


def test_cuts_are_as_good_as_they_can_be(data_dir: Path) -> None:
    paths = sorted((data_dir / "maxcut").glob("*.txt"))
    assert {path.stem for path in paths} == set(BEST_CUTS)
    for path in paths:
        graph = read_maxcut(path)
        assert graph.optimum == BEST_CUTS[path.stem]
        if path.stem != "dense-n0000050i00":  # too many edges for elimination
            row, value = graph.maximize()
            assert value == graph.optimum
            assert graph.evaluate(row[None])[0] == value


def test_formulas_are_satisfied_where_they_can_be(data_dir: Path) -> None:
    paths = sorted((data_dir / "maxsat").iterdir())
    assert len(paths) == 7
    for path in paths:
        formula = read_maxsat(path)
        if path.name.startswith("uf"):
            assert formula.solution is not None
            assert formula.evaluate(formula.solution[None])[0] == len(formula.clauses) == formula.optimum
        else:
            assert (formula.n, len(formula.clauses), formula.optimum) == (80, 1000, None)


def test_knapsacks_have_the_best_profits_of_the_list(data_dir: Path) -> None:
    listed = {}
    for line in (data_dir / "mkp" / "best-feasible-slns.txt").read_text().splitlines():
        if len(words := line.split()) == 2 and words[1].isdigit():
            listed[words[0]] = float(words[1])
    for number in range(1, 31):
        bag = read_mkp(data_dir / "mkp" / "mknapcb1.txt", problem=number)
        assert (bag.n, len(bag.capacities)) == (100, 5)
        assert bag.optimum == listed[f"5.100-{number - 1:02d}"]
