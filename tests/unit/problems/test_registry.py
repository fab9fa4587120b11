"""Problems by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ioh_standin import skip_without_ioh
from problem_files import with_file, write_files
from run_helpers import registries_restored

from daedal.problems import NK, OneMax, Problem, Trap, write_nk
from daedal.problems.registry import (
    ProblemKind,
    canonical_problem,
    file_settings,
    find_problem,
    problem_file,
    problem_kinds,
    register_problem,
)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("onemax:n=7", OneMax(n=7)),
        ("onemax:", OneMax(n=100)),
        ("trap:k=4,n=40", Trap(k=4, n=40)),
        ("trap: k = 4 , n = 40 ", Trap(k=4, n=40)),
        ("trap:n=25", Trap(k=5, n=25)),
    ],
)
def test_a_text_names_a_problem(spec: str, problem: Problem) -> None:
    assert find_problem(spec) == problem


def test_nk_is_made_from_numbers_or_read_from_a_file(tmp_path: Path) -> None:
    made = find_problem("nk:n=6,k=2,seed=3")
    assert isinstance(made, NK)
    assert np.array_equal(made.tables, NK.random(6, 2, 3).tables)
    write_nk(made, tmp_path / "a.nk")
    read = find_problem(f"nk:{tmp_path / 'a.nk'}")
    assert isinstance(read, NK)
    assert np.array_equal(read.tables, made.tables)


def test_an_equals_sign_in_the_name_of_a_file_is_no_setting(tmp_path: Path) -> None:
    path = tmp_path / "n=6,k=2"
    write_nk(NK.random(6, 2, 3), path)
    assert find_problem(f"nk:{path}").n == 6


REFUSED = [
    ("tarp:n=5", "'trap'.* Known: .*hiff, .*nk, .*onemax, .*trap"),
    ("", "''"),
    ("Trap:n=5", "'trap'"),
    ("trap:m=5", "'m'.* Known: k, n"),
    ("trap:k=five", "whole number, got k=five"),
    ("trap:k=5.0,n=50", "whole number, got k=5.0"),
    ("trap:k", "trap:k=5,n=50, got 'k'"),
    ("trap:k=", "trap:k=5,n=50, got 'k='"),
    ("trap:k=4,k=5,n=20", "twice"),
    ("nk:n=30,k=4", "given seed"),
    ("nk", "given n and k and seed"),
]


@pytest.mark.parametrize(("spec", "says"), [*REFUSED, ("trap:k=4,n=50", "n=50"), ("hiff:n=60", "n=60")])
def test_what_names_nothing_is_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_problem(spec)
    if (spec, says) in REFUSED:
        with pytest.raises(ValueError, match=says):
            canonical_problem(spec)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.nk"):
        find_problem(f"nk:{tmp_path / 'gone.nk'}")


def test_a_registered_problem_is_found_by_its_name() -> None:
    """Its parameters are those of its maker, and the list of problems is a copy."""

    def make(n, share=0.5, *rest, **more):  # type: ignore[no-untyped-def]
        assert (n, share) == (4, 0.25)
        return OneMax(n=n)

    kind = ProblemKind(name="ones", summary="As onemax", example="ones:n=4", make=make)
    with registries_restored():
        register_problem(kind)
        assert problem_kinds()["ones"] is kind
        assert list(kind.parameters()) == ["n", "share"]
        assert find_problem("ones:n=4,share=0.25") == OneMax(n=4)
        with pytest.raises(ValueError, match=f"Known: {', '.join(sorted(problem_kinds()))}$"):
            find_problem("zz")
    problem_kinds().clear()
    assert set(problem_kinds()) >= {"onemax", "trap", "hiff", "nk"}


def test_a_first_word_may_stand_for_a_parameter() -> None:
    def make(k: int, n: int = 8) -> Trap:
        return Trap(k=k, n=n)

    kind = ProblemKind(name="steps", summary="As trap", example="steps:4,n=8", make=make, first="k")
    with registries_restored():
        register_problem(kind)
        for spec in ("steps:4", "steps: 4 , n=8", "steps:n=8,k=4", "steps:k=04"):
            assert find_problem(spec) == Trap(k=4, n=8)
            assert canonical_problem(spec) == "steps:4,n=8"
            assert problem_file(spec) == ("steps", None)
        assert canonical_problem(canonical_problem("steps:4")) == "steps:4,n=8"
        for spec, says in (
            ("steps:4,8", "got '8'"),
            ("steps:4,k=4", "k of steps once"),
            ("steps:four", "k=four"),
            ("steps:n=8", "given k"),
            ("steps:4,=8", "got '=8'"),
        ):
            with pytest.raises(ValueError, match=says):
                find_problem(spec)


# One name for each


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("trap:n=50,k=5", "trap:k=5,n=50"),
        ("trap: n = 50 , k = 05", "trap:k=5,n=50"),
        ("trap", "trap:k=5,n=50"),
        ("onemax:", "onemax:n=100"),
        ("nk:seed=3,n=6,k=2", "nk:k=2,n=6,seed=3"),
    ],
)
def test_the_canonical_name_has_all_parameters_in_order(spec: str, canonical: str) -> None:
    assert canonical_problem(spec) == canonical
    assert canonical_problem(canonical) == canonical
    made, again = find_problem(spec), find_problem(canonical)
    assert type(made) is type(again)
    x = np.eye(made.n, dtype=np.uint8)
    assert np.array_equal(made.evaluate(x), again.evaluate(x))


@pytest.mark.parametrize("example", sorted(kind.example.partition(" ")[0] for kind in problem_kinds().values()))
def test_the_canonical_name_of_each_example_names_the_same(example: str, tmp_path: Path) -> None:
    skip_without_ioh(example)
    example = with_file(example, tmp_path)
    made, again = find_problem(example), find_problem(canonical_problem(example))
    x = np.tri(made.n, dtype=np.uint8)
    assert np.array_equal(made.evaluate(x), again.evaluate(x))


def test_the_file_of_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem_file("nk:some/file.nk") == ("nk", "some/file.nk")  # it need not be there
    assert problem_file("nk:n=6,k=2,seed=3") == ("nk", None)
    assert problem_file("nk") == ("nk", None)
    assert problem_file("onemax:n=8") == ("onemax", None)
    assert problem_file("onemax:some/file") == ("onemax", None)  # it has no format
    Path("n=6,k=2").touch()
    assert problem_file("nk:n=6,k=2") == ("nk", "n=6,k=2")
    with pytest.raises(ValueError, match=r"'nnk'.*'nk'"):
        problem_file("nnk:some/file.nk")


def test_a_file_can_be_followed_by_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert problem_file("mkp:three.mkp,problem=2") == ("mkp", "three.mkp")
    assert problem_file("mkp:gone/three.mkp , problem = 2") == ("mkp", "gone/three.mkp ")  # it need not be there
    assert canonical_problem("mkp:three.mkp") == "mkp:three.mkp,problem=1"
    assert canonical_problem("mkp:three.mkp, problem = 02") == "mkp:three.mkp,problem=2"
    assert [find_problem(f"mkp:three.mkp,problem={number}").n for number in (1, 2, 3)] == [3, 4, 2]
    assert find_problem("mkp:three.mkp").n == 3
    Path("tiny.mkp").rename("a,problem=2")
    assert problem_file("mkp:a,problem=2") == ("mkp", "a,problem=2")
    assert find_problem("mkp:a,problem=2").n == 4
    assert file_settings("mkp:a,problem=2") == ",problem=1"
    assert problem_file("maxsat:a,b=c") == ("maxsat", "a,b=c")  # nothing can be set of it


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mkp", "mkp:FILE.*got 'mkp'"),
        ("maxsat:", "maxsat:FILE"),
        ("mkp:three.mkp,problem=4", "3 problems, got problem=4"),
        ("mkp:three.mkp,problem=0", "problem=0"),
        ("mkp:three.mkp,problem=one", "whole number, got problem=one"),
        ("mkp:three.mkp,problem=", "got 'problem='"),
        ("mkp:three.mkp,problme=1", "'problem'"),
        ("mkp:three.mkp,problem=1,problem=2", "twice"),
        ("qubo:tiny.qubo,problem=2", "1 problem, got problem=2"),
        ("qubo:n=3", "found nothing at"),
    ],
)
def test_files_and_settings_that_do_not_fit_are_refused(
    spec: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=says):
        find_problem(spec)
