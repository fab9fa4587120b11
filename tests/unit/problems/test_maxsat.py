"""MAX-SAT: a slow twin, exact optima with and without hard clauses, every format, and what is wrong with files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from all_rows import all_rows
from problem_files import write_files

from daedal.problems import HardMaxSat, MaxSat, read_maxsat
from daedal.problems.maxsat import satisfying_row


def holding(row: list[int], clause: list[int]) -> int:
    return sum(row[abs(literal) - 1] == (literal > 0) for literal in clause)


def drawn(rng: np.random.Generator, n: int, count: int) -> list[list[int]]:
    """Draw clauses of one to four literals, some of which come twice or with their negation."""
    variables = [rng.integers(1, n + 1, size=rng.integers(1, 5)) for _ in range(count)]
    return [(one * rng.choice([-1, 1], size=len(one))).tolist() for one in variables]


@pytest.mark.parametrize("seed", range(8))
def test_every_row_has_the_value_of_a_slow_twin_and_the_best_is_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    soft, hard = [*drawn(rng, n, 25), []], drawn(rng, n, 4)
    weights = rng.integers(1, 10, size=len(soft)).tolist()
    plain, bound, x = MaxSat(n, soft, weights), HardMaxSat(n, soft, weights, hard=hard), all_rows(n)
    rows = x.tolist()
    values = [sum(w for w, clause in zip(weights, soft, strict=True) if holding(row, clause)) for row in rows]
    assert plain.evaluate(x).tolist() == bound.evaluate(x).tolist() == values
    assert plain.evaluate(x * np.uint8(9)).tolist() == values
    assert bound.violations(x).tolist() == [[1 - holding(row, clause) for clause in hard] for row in rows]
    assert plain.optimum == max(values)
    assert plain.evaluate(plain.solution[None])[0] == max(values)  # type: ignore[index]
    feasible = [value for value, row in zip(values, rows, strict=True) if all(holding(row, one) for one in hard)]
    assert bound.optimum == max(feasible)
    assert bound.evaluate(bound.solution[None])[0] == max(feasible)  # type: ignore[index]
    assert bound.violations(bound.solution[None]).max() <= 0  # type: ignore[index]


def test_hard_clauses_that_nothing_satisfies_leave_no_optimum() -> None:
    for hard in ([[1], [-1]], [[]]):
        problem = HardMaxSat(2, [[1], [2]], hard=hard)
        assert problem.optimum is None
        assert problem.solution is None
        assert (problem.violations(all_rows(2)) > 0).any(axis=1).all()
        with pytest.raises(ValueError, match="no row satisfies"):
            problem.maximize()


@pytest.mark.parametrize("seed", range(20))
def test_the_search_finds_a_satisfying_row_exactly_where_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clauses = [(rng.choice(8, 3, replace=False) + 1) * rng.choice([-1, 1], size=3) for _ in range(44)]
    listed = [clause.tolist() for clause in clauses]
    satisfied = [all(holding(row, clause) for clause in listed) for row in all_rows(8).tolist()]
    row = satisfying_row(8, listed)
    assert (row is not None) == any(satisfied)
    assert row is None or all(holding(row.tolist(), clause) for clause in listed)


def test_the_search_gives_up() -> None:
    assert satisfying_row(2, [(1, 2), (-1, 2), (1, -2)], effort=3) is None
    assert satisfying_row(1200, [(i, i + 1) for i in range(1, 1200)]) is not None  # deep, and no recursion


def test_a_large_formula_has_no_optimum_and_says_so() -> None:
    rng = np.random.default_rng(3)
    large = MaxSat(100, [(rng.choice(100, 3, replace=False) + 1) * rng.choice([-1, 1], 3) for _ in range(900)])
    long = MaxSat(60, [range(1, 61), *([sign * v] for v in range(1, 61) for sign in (1, -1))])
    for problem in (large, long):
        assert problem.optimum is None
        with pytest.raises(ValueError, match="optimum"):
            problem.maximize()


def test_files_written_by_hand(tmp_path: Path) -> None:
    write_files(tmp_path)
    plain, satlib, old, soft, new = (
        read_maxsat(tmp_path / name) for name in ("tiny.cnf", "satlib.cnf", "tiny.wcnf", "soft.wcnf", "new.wcnf")
    )
    assert plain.clauses == ((1, 2), (1, -2), (-1, 3), (-1, -3), (2, 3))
    assert (plain.n, plain.optimum, plain.total) == (3, 4.0, 5.0)
    assert (satlib.n, len(satlib.clauses), satlib.optimum) == (4, 3, 3.0)
    assert (soft.n, soft.weights, soft.optimum) == (2, (4.0, 3.0, 6.0), 10.0)
    for hard in (old, new):
        assert isinstance(hard, HardMaxSat)
        assert hard.hard == ((-1, -2), (1, 2, 3))
        assert (hard.clauses, hard.weights, hard.optimum) == (((1,), (2,), (-3,)), (5.0, 7.0, 2.0), 9.0)
    for problem in (plain, satlib, soft):
        assert not hasattr(problem, "violations")
        assert problem.evaluate(all_rows(problem.n)).max() == problem.optimum
    (tmp_path / "tiny.bkv").write_text("3")
    assert read_maxsat(tmp_path / "tiny.cnf").optimum == 3.0
    (tmp_path / "tiny.bkv").write_text("6")
    with pytest.raises(ValueError, match="at most 5, got 6"):
        read_maxsat(tmp_path / "tiny.cnf")


def test_weights_at_the_top_and_above_are_hard_however_large(tmp_path: Path) -> None:
    top = 2**63
    (tmp_path / "a.wcnf").write_text(f"p wcnf 2 3 {top}\n{top} 1 0\n{top + 1} 2 0\n1 -1 0\n")
    problem = read_maxsat(tmp_path / "a.wcnf")
    assert isinstance(problem, HardMaxSat)
    assert (len(problem.hard), len(problem.clauses)) == (2, 1)


REFUSED = [
    ("a.cnf", "", 1, "an empty file"),
    ("a.cnf", "c nothing", 2, "clauses with variables, got none"),
    ("a.cnf", "1 2 0", 1, "`p cnf n m`.* got '1 2 0'"),
    ("a.cnf", "p cnf 2", 1, "got 'p cnf 2'"),
    ("a.cnf", "p dnf 2 1\n1 0", 1, "got 'p dnf 2 1'"),
    ("a.cnf", "p cnf 2 1 3\n1 0", 1, "got 'p cnf 2 1 3'"),
    ("a.cnf", "p cnf 2 -1\n1 0", 1, "got 'p cnf 2 -1'"),
    ("a.cnf", "p cnf 0 1\n0", 1, "n, the variables, in 1..10000000, got '0'"),
    ("a.cnf", "p cnf 100000000000000 1\n1 0", 1, "got '100000000000000'"),
    ("a.cnf", "p cnf 2 1\n3 0", 2, "a literal in -2..2, or 0, got '3'"),
    ("a.cnf", "p cnf 2 1\n1.0 0", 2, "got '1.0'"),
    ("a.cnf", "p cnf 2 1\n1 2", 3, "a literal, or 0, got the end"),
    ("a.cnf", "p cnf 2 3\n1 0\n2 0", 4, "1 more clauses, got the end"),
    ("a.cnf", "p cnf 2 1\n1 0\n2 0", 3, "the end after 1 clauses, got '2'"),
    ("a.cnf", "p cnf 2 2\n1 0\n%\n0", 5, "1 more clauses"),
    ("a.cnf", "p cnf 2 1\n1 0\n%\n0\n1", 4, "the end, or 0, got '0'"),
    ("a.cnf", "p cnf 2 1\np cnf 2 1\n1 0", 2, "got 'p'"),
    ("a.cnf", "p cnf 2 0", 2, "clauses with variables, got none"),
    ("a.cnf", "h 1 2 0", 1, "got 'h 1 2 0'"),
    ("a.wcnf", "p wcnf 2 1 x\n1 1 0", 1, "got 'p wcnf 2 1 x'"),
    ("a.wcnf", "p wcnf 2 1 9\n0 1 0", 2, "the weight of a clause, got '0'"),
    ("a.wcnf", "p wcnf 2 1\n1000000000000001 1 0", 2, "got '1000000000000001'"),
    ("a.wcnf", "p wcnf 2 1 9\nh 1 0", 2, "got 'h'"),
    ("a.wcnf", "h 1 2\n3 1 0", 1, "0 at the end of the clause, got the end of the line"),
    ("a.wcnf", "x 1 0", 1, "the weight of a clause, got 'x'"),
    ("a.wcnf", "h 1 10000001 0", 1, "got '10000001'"),
    ("a.wcnf", "h 0", 2, "clauses with variables, got none"),
    ("a.wcnf", "h 1 \xb2 0", 1, "plain text, got the byte 0xb2"),
]


@pytest.mark.parametrize(("name", "text", "line", "says"), REFUSED)
def test_a_bad_file_is_refused_with_its_line(name: str, text: str, line: int, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"{name}, line {line}: expected .*{says}") as caught:
        read_maxsat(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_clauses_that_do_not_fit_are_refused() -> None:
    for arguments in ((0, [[1]]), (1, [[2]]), (1, [[0]]), (1, [[1]], [1, 2]), (1, [[1]], [-1]), (1, [[1]], [np.inf])):
        with pytest.raises(ValueError, match="expected"):
            MaxSat(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="literals"):
        HardMaxSat(1, [[1]], hard=[[2]])
