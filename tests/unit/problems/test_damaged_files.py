"""Thousands of damaged problem files: each is a problem that evaluates, or a ValueError of one line."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from problem_files import FILES

from daedal.problems import Problem, read_ising, read_maxcut, read_maxsat, read_mkp, read_nk, read_qubo

READERS: dict[str, Callable[[Path], Problem]] = {
    "nk": read_nk,
    "maxsat": read_maxsat,
    "ising": read_ising,
    "maxcut": read_maxcut,
    "mkp": read_mkp,
    "qubo": read_qubo,
}
CASES = 500  # for each of the files
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
            problem = READERS[kind](path)
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


@pytest.mark.parametrize("name", ["tiny.cnf", "new.wcnf", "tiny.ising", "tiny.graph", "three.mkp", "two.qubo"])
def test_the_command_line_says_so_in_one_line(name: str, tmp_path: Path) -> None:
    kind, text = FILES[name]
    (tmp_path / name).write_bytes(text.encode("ascii")[:-4] + b"\x1b[31m\xff")
    command = [sys.executable, "-m", "daedal", "solve", f"{kind}:{tmp_path / name}", "--max-evaluations", "10"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.fullmatch(
        rf"error: .*{re.escape(name)}, line \d+: expected plain text, got the byte 0xff\n", ended.stderr
    )
