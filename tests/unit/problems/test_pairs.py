"""Spin glasses, cuts and quadratic functions: slow twins, exact optima, files, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from all_rows import all_rows
from problem_files import write_files

from daedal.problems import QUBO, Ising, MaxCut, read_ising, read_maxcut, read_qubo
from daedal.problems.pairs import PairSum

TWINS: dict[type[PairSum], Callable[[int, int], int]] = {
    Ising: lambda a, b: (2 * a - 1) * (2 * b - 1),
    MaxCut: lambda a, b: int(a != b),
    QUBO: lambda a, b: a * b,
}


@pytest.mark.parametrize("kind", TWINS)
@pytest.mark.parametrize("seed", range(3))
def test_every_row_has_the_value_of_a_slow_twin_and_the_best_is_the_optimum(kind: type[PairSum], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 9, 14
    pairs = rng.integers(n, size=(m, 2))
    if kind is not QUBO:
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weights = rng.integers(-9, 10, size=len(pairs))
    problem, x = kind(n, pairs, weights), all_rows(n)
    worth = TWINS[kind]
    expected = [sum(w * worth(r[i], r[j]) for (i, j), w in zip(pairs, weights, strict=True)) for r in x.tolist()]
    assert problem.evaluate(x).tolist() == expected
    assert problem.evaluate(x * np.uint8(3)).tolist() == expected
    assert problem.optimum == max(expected)
    assert problem.solution is not None
    assert problem.evaluate(problem.solution[None])[0] == max(expected)
    assert problem.maximize()[1] == max(expected)


def test_files_written_by_hand(tmp_path: Path) -> None:
    write_files(tmp_path)
    glass = read_ising(tmp_path / "tiny.ising")
    assert (glass.n, glass.optimum, repr(glass)) == (4, 2.0, "Ising(n=4, pairs=4)")
    assert glass.solution.tolist() == [1, 1, 0, 0]  # type: ignore[union-attr]
    assert glass.evaluate(all_rows(4)).max() == 2.0
    graph = read_maxcut(tmp_path / "tiny.graph")
    assert (graph.n, graph.optimum) == (5, 13.0)
    assert graph.evaluate(np.array([[1, 0, 0, 1, 0]], dtype=np.uint8)).tolist() == [3 + 2 + 4 - 2 + 5]
    assert graph.evaluate(all_rows(5)).max() == graph.optimum
    plain = read_qubo(tmp_path / "tiny.qubo")
    matrix = np.array([[2, 4, -5], [4, -1, 0], [-5, 0, 3]])
    x = all_rows(3).astype(int)
    assert plain.evaluate(all_rows(3)).tolist() == [row @ matrix @ row for row in x]
    assert plain.optimum == 9.0
    first, second = (read_qubo(tmp_path / "two.qubo", problem=number) for number in (1, 2))
    assert (first.n, first.optimum) == (2, 3.0)
    assert (second.n, second.optimum) == (3, 2.0)  # 2 * 0.5 + 1


def test_a_best_value_beside_the_file_is_the_optimum(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "tiny.bkv").write_text("12.0\n")
    assert read_maxcut(tmp_path / "tiny.graph").optimum == 12.0
    for text in ("", "best", "13 14", "13\n14", "1e400", "nan", "15.5", "\xff"):
        (tmp_path / "tiny.bkv").write_bytes(text.encode("latin-1"))
        with pytest.raises(ValueError, match=r"tiny\.bkv, line [12]: expected .*, got ") as caught:
            read_maxcut(tmp_path / "tiny.graph")
        assert "\n" not in str(caught.value)
    (tmp_path / "two.bkv").write_text("100")  # of which of the two problems?
    assert read_qubo(tmp_path / "two.qubo").optimum == 3.0


READERS: dict[str, Callable[[Path], PairSum]] = {"ising": read_ising, "maxcut": read_maxcut, "qubo": read_qubo}
REFUSED = [
    ("ising", "", 1, "an empty file"),
    ("ising", "-2\n0", 1, "got '-2'"),
    ("ising", "-2 1102\n0", 1, "got '-2 1102'"),
    ("ising", "-2 1100", 2, "number of couplings, got the end"),
    ("ising", "-1 11\n1\n0 1", 4, "a coupling, got the end"),
    ("ising", "-1 11\n1\n0 2 1", 3, "a spin in 0..1, got '2'"),
    ("ising", "-1 11\n1\n1 1 1", 3, "a spin other than 1, got 1 again"),
    ("ising", "-1 11\n1\n0 1 x", 3, "a coupling, got 'x'"),
    ("ising", "-1 11\n1\n0 1 1\n0", 4, "the end, got '0'"),
    ("ising", "-2 11\n1\n0 1 1", 1, "a state of the energy -2, got one of -1"),
    ("ising", "-1 11\n999999999999999\n0 1 1", 4, "got the end"),
    ("maxcut", "x 1", 1, "`n m`.* got 'x'"),
    ("maxcut", "2", 2, "`n m`.* got the end"),
    ("maxcut", "1000000000000000 1\n1 2 1", 1, "got '1000000000000000'"),
    ("maxcut", "0 0", 1, "got '0'"),
    ("maxcut", "2 1\n0 1 1", 2, "a vertex in 1..2, got '0'"),
    ("maxcut", "2 1\n1 2 1e16", 2, "weight.* got '1e16'"),
    ("maxcut", "2 1\n1 2 0x1", 2, "got '0x1'"),
    ("maxcut", "2 2\n1 2 1", 3, "got the end"),
    ("maxcut", "2 1\n1 2 1\n1 2 1", 3, "the end, got '1'"),
    ("qubo", "2 2\n1 2 1\n2 1 1", 3, "once, got '2 1 again'"),
    ("qubo", "2 1\n1 3 1", 2, "a variable in 1..2, got '3'"),
    ("qubo", "0\n", 1, "got '0'"),
    ("qubo", "2 1\n1 1 nan", 2, "an entry, got 'nan'"),
]


@pytest.mark.parametrize(("kind", "text", "line", "says"), REFUSED)
def test_a_bad_file_is_refused_with_its_line(kind: str, text: str, line: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_text(text)
    with pytest.raises(ValueError, match=rf"it, line {line}: expected .*{says}") as caught:
        READERS[kind](tmp_path / "it")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", TWINS)
def test_arrays_that_do_not_fit_are_refused(kind: type[PairSum]) -> None:
    pair, weight = np.array([[0, 1]]), np.array([1.0])
    for n, pairs, weights in (
        (0, pair, weight),
        (1, pair, weight),
        (2, pair - 1, weight),
        (2, pair[0], weight),
        (2, pair.astype(float), weight),
        (2, pair, weight[:0]),
        (2, pair, np.array([np.nan])),
    ):
        with pytest.raises(ValueError, match="expected"):
            kind(n, pairs, weights)
    with pytest.raises(ValueError, match="known_optimum"):
        kind(2, pair, weight, known_optimum=np.inf)


def test_what_is_too_large_has_no_optimum_and_says_so() -> None:
    rng = np.random.default_rng(1)
    dense = MaxCut(200, rng.integers(200, size=(4000, 2)), np.ones(4000))
    long = MaxCut(10_000, np.array([[0, 9_999]]), np.ones(1))
    for problem in (dense, long):
        assert problem.optimum is None
        assert problem.solution is None
        with pytest.raises(ValueError, match="optimum"):
            problem.maximize()
