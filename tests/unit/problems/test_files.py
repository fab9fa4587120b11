"""Files of problems: those written by hand, and thousands of damaged ones, which are problems or errors of one line."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from all_rows import all_rows
from problem_files import FILES, write_files

from daedal.problems import NK, HardMaxSat, Problem, read_maxcut, read_maxsat, read_mkp, read_nk, read_qubo, write_nk
from daedal.problems.registry import find_problem

# What is read


def test_clauses(tmp_path: Path) -> None:
    write_files(tmp_path)
    plain, old, soft, new = (
        read_maxsat(tmp_path / f"{name}") for name in ("tiny.cnf", "tiny.wcnf", "soft.wcnf", "new.wcnf")
    )
    assert plain.clauses == ((1, 2), (1, -2), (-1, 3), (-1, -3), (2, 3))
    assert (plain.n, plain.total, soft.weights) == (3, 5.0, (4.0, 3.0, 6.0))
    assert not hasattr(plain, "violations")
    for hard in (old, new):
        assert isinstance(hard, HardMaxSat)
        assert hard.hard == ((-1, -2), (1, 2, 3))
        assert (hard.clauses, hard.weights) == (((1,), (2,), (-3,)), (5.0, 7.0, 2.0))
    top = 2**63
    (tmp_path / "a.wcnf").write_text(f"p wcnf 2 3 {top}\n{top} 1 0\n{top + 1} 2 0\n1 -1 0\n")
    large = read_maxsat(tmp_path / "a.wcnf")
    assert isinstance(large, HardMaxSat)
    assert (len(large.hard), len(large.clauses)) == (2, 1)


def test_pairs_and_knapsacks(tmp_path: Path) -> None:
    write_files(tmp_path)
    glass: Any = find_problem(f"ising:{tmp_path}/tiny.ising")
    assert (glass.n, glass.solution.tolist(), repr(glass)) == (4, [1, 1, 0, 0], "Ising(n=4, pairs=4)")
    graph = read_maxcut(tmp_path / "tiny.graph")
    assert graph.evaluate(np.array([[1, 0, 0, 1, 0]], dtype=np.uint8)).tolist() == [3 + 2 + 4 - 2 + 5]
    matrix = np.array([[2, 4, -5], [4, -1, 0], [-5, 0, 3]])
    values = read_qubo(tmp_path / "tiny.qubo").evaluate(all_rows(3))
    assert values.tolist() == [row @ matrix @ row for row in all_rows(3).astype(int)]
    assert [read_qubo(tmp_path / "two.qubo", problem=number).optimum for number in (1, 2)] == [3.0, 2.0]
    first, second, third = (read_mkp(tmp_path / "three.mkp", problem=number) for number in (1, 2, 3))
    assert (first.n, first.optimum) == (3, 7.0)  # not stated, but one dimension
    assert (second.weights.tolist(), second.capacities.tolist()) == ([[2, 3, 6, 7], [7, 5, 3, 3]], [9, 10])
    assert (third.profits.tolist(), third.optimum) == ([1.5, 1], 1.5)


def test_the_best_value_in_a_file_next_to_it_is_the_optimum(tmp_path: Path) -> None:
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
    text = "2\n2 2 0\n3 4\n1 1\n1 1\n1 1\n2 2 0\n5 6\n1 1\n1 1\n1 1\n"
    listed = "Values\n\n2.2-00   4\n2.2-01   6\n\nLP optimal\n2.2-00  4.5e+00\n"
    (tmp_path / "best-feasible-slns.txt").write_text(listed)
    for name, expected in (("mknapcb1.txt", [4.0, 6.0]), ("other.txt", [None, None])):
        (tmp_path / name).write_text(text)
        assert [read_mkp(tmp_path / name, problem=number).optimum for number in (1, 2)] == expected


# NK files are written, too


@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 2), (20, 4), (120, 6)])
def test_a_round_trip_of_a_landscape_is_exact(n: int, k: int, tmp_path: Path) -> None:
    problem = NK.random(n, k, seed=3)
    write_nk(problem, tmp_path / "a.nk")
    back = read_nk(tmp_path / "a.nk")
    assert np.array_equal(back.neighbors, problem.neighbors)
    assert np.array_equal(back.tables, problem.tables)
    assert back.known_optimum == problem.optimum
    assert (problem.optimum is None) == (n == 120) == ("Optimum" not in (tmp_path / "a.nk").read_text())
    assert os.listdir(tmp_path) == ["a.nk"]


def test_writing_replaces_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.nk"
    write_nk(NK.random(3, 1, seed=0), path)
    before = path.read_text()

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_nk(NK.random(3, 1, seed=1), path)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["a.nk"]


@pytest.mark.parametrize("end", ["", "\n\n  \n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_do_not_matter(end: str, newline: str, tmp_path: Path) -> None:
    text = FILES["tiny.nk"][1].rstrip().replace("\n", newline) + end
    (tmp_path / "a.nk").write_bytes(text.encode())
    problem = read_nk(tmp_path / "a.nk")
    assert problem.tables.tolist() == [[0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 0.5, -4.0]]
    assert problem.neighbors.tolist() == [[0, 1], [1, 0]]
    assert problem.known_optimum == 2.3


# What is refused

REFUSED = [
    ("nk:it", "", 1, "an empty file"),
    ("nk:it", "2", 2, "two whole numbers, got the end"),
    ("nk:it", "2 -1", 1, "got '-1'"),
    ("nk:it", "2.0 1", 1, "two whole numbers, got '2.0'"),
    ("nk:it", "2 2", 1, "k < n, got '2 2'"),
    ("nk:it", "9" * 5000 + " 1", 1, r"two whole numbers, got '9{37}\.\.\.'"),
    ("nk:it", "2 1\n0\n1\n1\n0\n1\n2\n3\n4", 10, "a finite number, got the end"),
    ("nk:it", "2 1\n0\n1\n1\n0\n1\n2\n3\n4\nOptimum: 1", 10, "a finite number, got 'Optimum:'"),
    ("nk:it", "2 1\n0\n-1" + "\n1" * 10, 3, r"0\.\.1, got '-1'"),
    ("nk:it", "2 1\n0\n1\n0\n0" + "\n1" * 8, 5, r"different .*got \[0, 0\]"),
    ("nk:it", "1 0\n0\nabc\n1", 3, "finite number, got 'abc'"),
    ("nk:it", "1 0\n0\n1_0\n1", 3, "finite number, got '1_0'"),
    ("nk:it", "1 0\n0\nnan\n1e999", 3, "finite number, got 'nan'"),
    ("nk:it", "1 0\n0\n1\n2\nOptimum:", 6, "finite number, got the end"),
    ("nk:it", "1 0\n0\n1\n2\nOptimum: 1", 5, "the optimum of the tables above, 2, got 1"),
    ("nk:it", "1 0\n0\n1\n2\nOptim", 5, "the end, got 'Optim'"),
    ("nk:it", "1 0\n0\n1\n2\nOptimum: 2\nmore", 6, "the end, got 'more'"),
    ("nk:it", "1 0\n0\n\xff", 3, "plain text, got the byte 0xff"),
    ("maxsat:a.cnf", "", 1, "an empty file"),
    ("maxsat:a.cnf", "c nothing", 1, "clauses with variables, got none"),
    ("maxsat:a.cnf", "1 2 0", 1, "`p cnf n m`.* got '1 2 0'"),
    ("maxsat:a.cnf", "p cnf 2", 2, "`p cnf n m`.* got the end"),
    ("maxsat:a.cnf", "p dnf 2 1\n1 0", 1, "got 'p dnf 2 1'"),
    ("maxsat:a.cnf", "p cnf 2 -1\n1 0", 1, "got '-1'"),
    ("maxsat:a.cnf", "p cnf 0 1\n0", 1, "n, the variables, in 1..10000000, got '0'"),
    ("maxsat:a.cnf", "p cnf 2 1\n3 0", 2, "a literal in -2..2, or 0, got '3'"),
    ("maxsat:a.cnf", "p cnf 2 1\n1.0 0", 2, "got '1.0'"),
    ("maxsat:a.cnf", "p cnf 2 1\n1 2", 3, "a literal in -2..2, or 0, got the end"),
    ("maxsat:a.cnf", "p cnf 2 3\n1 0\n2 0", 4, "more clauses, got the end"),
    ("maxsat:a.cnf", "p cnf 2 1\n1 0\n2 0", 3, "the end, got '2'"),
    ("maxsat:a.cnf", "p cnf 2 1\n1 0\n%\n0\n1", 5, "the end, got '1'"),
    ("maxsat:a.cnf", "p cnf 2 1\np cnf 2 1\n1 0", 2, "got 'p'"),
    ("maxsat:a.cnf", "p cnf 2 0", 1, "clauses with variables, got none"),
    ("maxsat:a.cnf", "h 1 2 0", 1, "got 'h 1 2 0'"),
    ("maxsat:a.wcnf", "p wcnf 2 1 x\n1 1 0", 1, "got 'p wcnf 2 1 x'"),
    ("maxsat:a.wcnf", "p wcnf 2 1 9\n0 1 0", 2, "the weight of a clause, got '0'"),
    ("maxsat:a.wcnf", "p wcnf 2 1 9\nh 1 0", 2, "got 'h'"),
    ("maxsat:a.wcnf", "h 1 2\n3 1 0", 1, "0 at the end of the clause, got the end of the line"),
    ("maxsat:a.wcnf", "x 1 0", 1, "the weight of a clause, got 'x'"),
    ("maxsat:a.wcnf", "h 0", 1, "clauses with variables, got none"),
    ("maxsat:a.wcnf", "h 1 \xb2 0", 1, "plain text, got the byte 0xb2"),
    ("ising:it", "", 1, "an empty file"),
    ("ising:it", "-2\n0", 1, "got '-2'"),
    ("ising:it", "-2 1100", 2, "number of couplings, got the end"),
    ("ising:it", "-1 11\n1\n0 1", 4, "a coupling, got the end"),
    ("ising:it", "-1 11\n1\n0 2 1", 3, "a spin in 0..1, got '2'"),
    ("ising:it", "-1 11\n1\n1 1 1", 3, "a spin other than 1, got 1 again"),
    ("ising:it", "-1 11\n1\n0 1 x", 3, "a coupling, got 'x'"),
    ("ising:it", "-1 11\n1\n0 1 1\n0", 4, "the end, got '0'"),
    ("ising:it", "-2 11\n1\n0 1 1", 1, "a state of the energy -2, got one of -1"),
    ("ising:it", "-1 11\n999999999999999\n0 1 1", 4, "got the end"),
    ("maxcut:it", "x 1", 1, "`n m`.* got 'x'"),
    ("maxcut:it", "2", 2, "`n m`.* got the end"),
    ("maxcut:it", "0 0", 1, "got '0'"),
    ("maxcut:it", "2 1\n0 1 1", 2, "a vertex in 1..2, got '0'"),
    ("maxcut:it", "2 1\n1 2 1e16", 2, "weight.* got '1e16'"),
    ("maxcut:it", "2 2\n1 2 1", 3, "got the end"),
    ("maxcut:it", "2 1\n1 2 1\n1 2 1", 3, "the end, got '1'"),
    ("qubo:it", "2 2\n1 2 1\n2 1 1", 3, "once, got '2 1 again'"),
    ("qubo:it", "2 1\n1 3 1", 2, "a variable in 1..2, got '3'"),
    ("qubo:it", "0\n", 1, "got '0'"),
    ("qubo:it", "2 1\n1 1 nan", 2, "an entry, got 'nan'"),
    ("mkp:it", "", 1, "an empty file"),
    ("mkp:it", "x", 1, "number of problems, got 'x'"),
    ("mkp:it", "0", 1, "got '0'"),
    ("mkp:it", "1\n2 1", 3, "`n m optimum`.* got the end"),
    ("mkp:it", "1\n1000000000000000 1 0", 2, "got '1000000000000000'"),
    ("mkp:it", "1\n10000000 99999 0", 2, "got '99999'"),
    ("mkp:it", "1\n1 0 0", 2, "got '0'"),
    ("mkp:it", "1\n1 1 -1", 2, "got '-1'"),
    ("mkp:it", "1\n2 1 0\n1 -1\n1 1\n1", 3, "a profit of at least 0, got '-1'"),
    ("mkp:it", "1\n2 1 0\n1 1\n1 x\n1", 4, "a weight of at least 0, got 'x'"),
    ("mkp:it", "1\n2 1 0\n1 1\n1 1\n1e16", 5, "a capacity of at least 0, got '1e16'"),
    ("mkp:it", "1\n2 1 0\n1 1\n1 1", 5, "a capacity of at least 0, got the end"),
    ("mkp:it", "1\n2 1 0\n1 1\n1 1\n1 1", 5, "the end, got '1'"),
    ("mkp:it", "1\n2 1 3\n1 1\n1 1\n1", 2, "an optimum of at most all profits, 2, got 3"),
]


@pytest.mark.parametrize(("name", "text", "line", "says"), REFUSED, ids=lambda value: repr(value)[:30])
def test_a_bad_file_is_refused_with_its_line(name: str, text: str, line: int, says: str, tmp_path: Path) -> None:
    kind, _, file = name.partition(":")
    (tmp_path / file).write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"{file}, line {line}: expected .*{says}") as caught:
        find_problem(f"{kind}:{tmp_path / file}")
    assert "\n" not in str(caught.value)


def test_a_landscape_that_is_too_large_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "large.nk").write_text("1000000000000 100000000000\n")
    with pytest.raises(ValueError, match=r"large\.nk, line 1: .*4 GiB"):
        read_nk(tmp_path / "large.nk")
    with pytest.raises(FileNotFoundError, match=r"none\.nk"):
        read_nk(tmp_path / "none.nk")
    with pytest.raises(ValueError, match="not a plain file"):
        read_nk(tmp_path)


CASES = 200  # for each of the files
WORDS = (
    b"0", b"1", b"-1", b"2", b"3", b"7", b"-3", b"99", b"1.5", b"1e3", b"-0", b"+1", b"01", b"1_0", b"0x1", b"nan",
    b"inf", b"-inf", b"1e400", b"1e-400", b"1e15", b"1e300", b"99999", b"10000000", b"10000001", b"1000000000000000",
    b"-1000000000000000", b"9" * 20, b"9" * 5000, b"1e" + b"9" * 40, b"p", b"c", b"h", b"%", b"cnf", b"wcnf",
    b"Optimum:", b"\xff", b"\xd9\xa3", b"\x00", b"\x1b[31m", b"'", b"0" * 300,
)  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Cut a text, change its words and lines, flip its bits; once or a few times."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        data = rng.choice((cut, other_word, other_word, other_word, other_line, other_bytes))(data, rng)
    return data


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def other_word(data: bytes, rng: random.Random) -> bytes:
    words = list(re.finditer(rb"\S+", data))
    if not words:
        return rng.choice(WORDS)
    start, end = rng.choice(words).span()
    return (
        data[:start] + rng.choice((b"", rng.choice(WORDS), rng.choice(WORDS), rng.choice(words).group())) + data[end:]
    )


def other_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, rng.choice(lines))
    elif how == 2:
        rng.shuffle(lines)
    else:
        lines[at] = rng.choice((b"", b" ", b"\t0 0", lines[at] + lines[at], b"\r"))
    return b"\n".join(lines)


def other_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    how = rng.randrange(3)
    if how == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data[:at] + rng.randbytes(rng.choice((1, 2, 30))) + (data[at:] if how == 1 else b"")


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_a_problem_or_one_clear_line(name: str, tmp_path: Path) -> None:
    kind, text = FILES[name]
    path, read, rng, outcomes = tmp_path / name, 0, random.Random(name), set[str]()
    for case in range(CASES):
        data = damaged(text.encode("ascii"), rng)
        path.write_bytes(data)
        try:
            problem = find_problem(f"{kind}:{path}")
        except ValueError as error:
            said = str(error)
            assert said.startswith(f"{path}, line "), (case, said)
            assert ": expected " in said or "needs" in said, (case, said)
            assert len(said) - len(str(path)) < 300, (case, said)
            assert said.isprintable(), (case, said)
            outcomes.add(re.sub(r"\d+", "", said))
        else:
            read += 1
            check_evaluates(problem)
    assert read > CASES // 50  # some damage does no harm, such as another number
    assert len(outcomes) >= 8


def check_evaluates(problem: Problem) -> None:
    x = np.zeros((1, problem.n), dtype=np.uint8)
    with np.errstate(over="ignore"):  # an NK file may have any finite number
        values = np.concatenate([problem.evaluate(x), problem.evaluate(x ^ 1)])
    assert not np.isnan(values).any()
    assert problem.optimum is None or not np.isnan(problem.optimum)
    violations = getattr(problem, "violations", None)
    assert violations is None or np.isfinite(violations(x)).all()
