"""Objectives that a text names, here and in another process."""

from __future__ import annotations

import pickle
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from problem_files import write_files

import daedal
from daedal.objectives.spec import FileFunction, file_of, identity, located, read_objective, without_folder
from daedal.problems import NK, write_nk

X = np.array([[0, 1, 1], [0, 0, 0]], dtype=np.uint8)

SCORE = """
import numpy as np

def f(x):
    assert x.dtype == np.int64, x.dtype
    return x.sum(axis=1)

def g(row):
    assert row.shape == (3,), row.shape
    return -float(row.sum())

class Late:
    def __call__(self, x):
        return 10 * x[:, 0]

late = Late()
number = 3
"""


@pytest.fixture
def score(tmp_path: Path) -> Path:
    path = tmp_path / "score.py"
    path.write_text(SCORE)
    return path


@pytest.fixture(autouse=True)
def path_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is loaded leaves its folder in the path."""
    monkeypatch.setattr(sys, "path", list(sys.path))


# Where a file lies


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("score.py:f", "/work/here/score.py:f"),
        ("../score.py:f", "/work/here/../score.py:f"),
        ("c:odd.py:f", "/work/here/c:odd.py:f"),
        ("nk:a.nk", "nk:/work/here/a.nk"),
        ("nk:/elsewhere/a.nk", "nk:/elsewhere/a.nk"),
        ("nk:n=30,k=4,seed=1", "nk:n=30,k=4,seed=1"),
        ("mkp:below/a.txt,problem=3", "mkp:/work/here/below/a.txt,problem=3"),
        ("trap:k=5,n=50", "trap:k=5,n=50"),
    ],
)
def test_paths_are_seen_from_a_folder(spec: str, expected: str) -> None:
    assert located(spec, Path("/work/here")) == expected
    assert located(spec, None) == spec


def test_a_problem_that_is_not_known_lies_nowhere() -> None:
    with pytest.raises(ValueError, match=r"'tarp'.*'trap'"):
        located("tarp:k=5", Path("/work"))


# What a text names


@pytest.mark.parametrize(
    "spec", ["trap:k=5,n=50", "trap:n=50,k=5", "trap: n = 50, k = 5", "trap", "trap:", "trap:n=50"]
)
def test_one_problem_has_one_identity(spec: str) -> None:
    assert identity(spec) == "trap:k=5,n=50"


def test_a_file_has_the_identity_of_its_content(tmp_path: Path, score: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text(SCORE)
    assert identity(f"{score}:f") == identity(f"{copy}:f")
    assert identity(f"{score}:f") != identity(f"{score}:g")
    landscapes = [tmp_path / name for name in ("a.nk", "b", "n=6,k=2,seed=3")]
    for path in landscapes:
        write_nk(NK.random(6, 2, 3), path)
    assert len({identity(f"nk:{path}") for path in landscapes}) == 1
    write_nk(NK.random(6, 2, 4), landscapes[1])
    assert len({identity(f"nk:{path}") for path in landscapes}) == 2
    before = identity(f"{copy}:f")
    copy.write_text(SCORE + "\n")
    assert identity(f"{copy}:f") != before


def test_settings_behind_a_file_are_part_of_its_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = ("mkp:three.mkp", "mkp:three.mkp,problem=1", f"mkp:{tmp_path}/three.mkp, problem = 01")
    assert len({identity(name) for name in names}) == 1
    assert identity("mkp:three.mkp,problem=2") != identity("mkp:three.mkp")
    assert without_folder("mkp:some/where/three.mkp,problem=2") == "mkp:three.mkp,problem=2"
    assert file_of("mkp:some/where/three.mkp,problem=2") == "some/where/three.mkp"


def test_a_program_is_what_is_in_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "score.sh").write_text("cat")
    monkeypatch.chdir(tmp_path / "here")
    before = [identity("cmd:./score.sh --fast"), identity("cmd:sh score.sh"), identity("cmd:sh -c cat")]
    assert identity("cmd:sh -c cat") == "cmd:sh -c cat"
    monkeypatch.chdir(tmp_path / "there")
    assert [identity("cmd:./score.sh --fast"), identity("cmd:sh score.sh"), identity("cmd:sh -c cat")] == before
    (tmp_path / "there" / "score.sh").write_text("cat ")
    assert identity("cmd:./score.sh --fast") != before[0]
    assert identity("cmd:sh score.sh") != before[1]
    (tmp_path / "there" / "data").write_text("1")
    with_data = identity("cmd:sh --of=data")
    (tmp_path / "there" / "data").write_text("2")
    assert identity("cmd:sh --of=data") != with_data
    script = f"cmd:sh -c '{'x' * 5000}'"  # too long for the name of a file
    assert identity(script) == script


# Functions


def test_a_function_in_a_file(score: Path) -> None:
    function = read_objective(f"{score}:f", 3)
    assert callable(function)
    assert function(X.astype(np.int64)).tolist() == [2, 0]
    late = read_objective(f"{score}:late", 3)
    assert callable(late)
    assert late(X).tolist() == [0, 0]
    assert read_objective("trap:k=5,n=50", None) == "trap:k=5,n=50"


def test_a_file_may_have_the_name_of_a_module(tmp_path: Path) -> None:
    path = tmp_path / "random.py"
    path.write_text("def f(x):\n    return x[:, 0]\n")
    read_objective(f"{path}:f", 3)
    assert sys.modules["random"] is random


def test_a_file_can_import_its_neighbor(tmp_path: Path) -> None:
    (tmp_path / "neighbor_of_mine.py").write_text("factor = 7\n")
    path = tmp_path / "mine.py"
    path.write_text("import neighbor_of_mine\n\ndef f(x):\n    return neighbor_of_mine.factor * x[:, 1]\n")
    function = read_objective(f"{path}:f", 3)
    assert callable(function)
    assert function(X).tolist() == [7, 0]


def test_a_file_that_is_loaded_again_does_not_lengthen_the_path(score: Path) -> None:
    read_objective(f"{score}:f", 3)
    length = len(sys.path)
    for _ in range(3):  # a study does so for every run
        read_objective(f"{score}:f", 3)
    assert len(sys.path) == length


@pytest.mark.parametrize(
    ("text", "spec", "n", "says"),
    [
        (SCORE, "score.py", 3, r"score\.py:f"),
        (SCORE, "score.py:f", None, r"--n.*score\.py:f"),
        (SCORE, "score.py:h", 3, r"'h' in .*score\.py"),
        (SCORE, "score.py:number", 3, r"'number' in .*score\.py.* not a function"),
        (SCORE, "gone.py:f", 3, r"gone\.py"),
        ("def f(:", "score.py:f", 3, r"score\.py .*SyntaxError"),
        ("import no_such_module_at_all", "score.py:f", 3, "ModuleNotFoundError: .*no_such_module_at_all"),
        ("raise SystemExit(3)", "score.py:f", 3, r"score\.py .*SystemExit: 3"),
    ],
)
def test_what_is_no_function(tmp_path: Path, text: str, spec: str, n: int | None, says: str) -> None:
    (tmp_path / "score.py").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_objective(f"{tmp_path}/{spec}", n)


# In another process


def test_what_stands_for_a_function_elsewhere_is_small_and_calls_it(score: Path) -> None:
    for spec, rows, expected in (("f", X.astype(np.int64), [2, 0]), ("g", X[0], -2.0), ("late", X, [0, 0])):
        sent = read_objective(f"{score}:{spec}", 3)
        assert isinstance(sent, FileFunction)
        packed = pickle.dumps(sent)
        assert b"lambda" not in packed
        assert len(packed) < 400  # the name of the file, not what is in it
        there = pickle.loads(packed)
        assert there == sent
        assert np.asarray(there(rows)).tolist() == expected


def test_a_file_that_is_not_what_it_was_is_refused(score: Path) -> None:
    spec = f"{score}:f"
    as_it_was = FileFunction(spec, identity(spec))
    score.write_text(SCORE + "# changed")
    with pytest.raises(ValueError, match=r"score\.py has changed since the study was read"):
        as_it_was(X)


def test_programs() -> None:
    program = read_objective("cmd:cat -", 3, persistent=True)
    assert isinstance(program, daedal.Program)
    assert (program.command, program.persistent, program.label) == ("cat -", True, "cmd:cat -")
    with pytest.raises(ValueError, match=r"--n.*'cmd:cat'"):
        read_objective("cmd:cat", None)
    for spec in ("trap:k=4,n=20", "score.py:f"):
        with pytest.raises(ValueError, match="--persistent"):
            read_objective(spec, 20, persistent=True)


def test_a_problem_stands_for_itself_once_it_could_be_made() -> None:
    assert read_objective("trap:k=4,n=20", None) == "trap:k=4,n=20"
    with pytest.raises(ValueError, match="multiple of k=4, got n=21"):
        read_objective("trap:k=4,n=21", None)
    with pytest.raises(ValueError, match="unknown problem 'tarp'"):
        read_objective("tarp", None)
