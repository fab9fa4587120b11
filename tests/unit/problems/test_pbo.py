"""PBO, with a stand-in for the package ioh, and with the package itself where there is one."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import ioh_standin
import numpy as np
import pytest
from all_rows import all_rows
from run_helpers import at, told

import daedal
from daedal.cli.listing import list_all
from daedal.problems import PBO, pbo, registry
from daedal.problems.registry import canonical_problem, find_problem


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ioh_standin.install(monkeypatch)
    yield
    registry._made.cache_clear()


# With a stand-in


@pytest.mark.usefixtures("standin")
def test_rows_are_given_in_parts_and_answered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PBO(function=3, n=6, instance=2)
    monkeypatch.setattr(pbo, "_CHUNK", 4 * 6 + 5)
    x = all_rows(6)[:10]
    assert problem.evaluate(x).tolist() == (6.0 * x.sum(axis=1)).tolist()
    assert problem._evaluate.asked == [4, 4, 2]  # type: ignore[attr-defined]
    assert problem.evaluate(x[:0]).shape == (0,)
    assert (problem.n, problem.optimum, problem.solution.tolist()) == (6, 36.0, [1] * 6)  # type: ignore[union-attr]


@pytest.mark.usefixtures("standin")
def test_a_copy_has_a_problem_of_its_own() -> None:
    problem = PBO(function=3, n=6)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem
    assert copy._evaluate is not problem._evaluate
    assert problem.made() is not problem._evaluate


@pytest.mark.usefixtures("standin")
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("pbo", "given function, as in pbo:2"),
        ("pbo:n=9", "given function"),
        ("pbo:0,n=9", "function=0"),
        ("pbo:26,n=9", "at most 25, got function=26"),
        ("pbo:onemax,n=9", "function=onemax"),
        ("pbo:1,n=0", "n=0"),
        ("pbo:1,n=100001", "at most 100,000, got n=100001"),
        ("pbo:18,n=1", "at least 2, got n=1"),
        ("pbo:21,n=12", "n=12; try 9 or 16"),
        ("pbo:23,n=12", "n=12; try 9 or 16"),
        ("pbo:1,n=9,instance=0", "instance=0"),
        ("pbo:1,n=9,instance=101", "at most 100, got instance=101"),
        ("pbo:1,n=13", "ioh does not make pbo:1,n=13,instance=1: vector::_M_range_check: 13"),
    ],
)
def test_what_there_is_not_is_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_problem(spec)


def test_without_ioh_it_is_listed_and_named_and_its_use_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ioh", None)
    registry._made.cache_clear()
    list_all()
    assert "pbo:2,n=64" in capsys.readouterr().out
    assert canonical_problem("pbo:18,n=64") == "pbo:18,instance=1,n=64"
    with pytest.raises(ValueError, match=r'pip install "daedal\[ioh\]"'):
        find_problem("pbo:18,n=64")
    with pytest.raises(ValueError, match=r'pip install "daedal\[ioh\]"'):
        daedal.maximize("onemax:n=8", log="never")
    assert not Path("never").exists()


# With ioh itself


@pytest.fixture
def ioh() -> Iterator[None]:
    registry._made.cache_clear()
    pytest.importorskip("ioh", reason="the extra ioh is not installed")
    yield
    registry._made.cache_clear()


@pytest.mark.usefixtures("ioh")
@pytest.mark.parametrize("function", range(1, 26))
def test_the_optimum_is_that_of_all_rows(function: int) -> None:
    sizes = (1, 4, 9, 16) if function in (21, 23) else (2, 5, 6, 9, 10)
    for n, instance in [(n, instance) for n in sizes for instance in (1, 2, 60)]:
        problem = PBO(function=function, n=n, instance=instance)
        if function in (18, 25) or (function == 24 and n in (6, 9)):
            assert problem.optimum is None
            assert problem.solution is None
            continue
        assert problem.evaluate(all_rows(n)).max() == pytest.approx(problem.optimum, abs=1e-9)
        if function not in (7, 14, 22, 23):  # of these ioh has no row
            assert problem.solution is not None
            assert problem.evaluate(problem.solution[None])[0] == pytest.approx(problem.optimum, abs=1e-9)


@pytest.mark.usefixtures("ioh")
@pytest.mark.parametrize("function", range(1, 26))
def test_values_do_not_depend_on_what_was_evaluated_before(function: int) -> None:
    x = np.random.default_rng(function).integers(0, 2, (50, 36), dtype=np.uint8)
    used, new = PBO(function=function, n=36, instance=7), PBO(function=function, n=36, instance=7).made()
    first = used.evaluate(x)
    assert used.evaluate(x[::-1]).tolist() == first[::-1].tolist()
    assert [new(row.tolist()) for row in x] == first.tolist()


@pytest.mark.usefixtures("ioh")
def test_runs_do_not_depend_on_workers_nor_on_a_break(tmp_path: Path) -> None:
    keywords = {"algorithm": "umda", "popsize": 60, "seed": 3, "max_generations": 6}
    whole = told(daedal.maximize("pbo:18,n=24,instance=2", **keywords))
    assert told(daedal.maximize("pbo:18,n=24,instance=2", workers=2, **keywords)) == whole
    path = tmp_path / "run.db"
    daedal.maximize("pbo:18,n=24,instance=2", run=path, callback=at(3), **keywords)
    assert told(daedal.resume(path)) == whole
