"""Logs for IOHanalyzer: each call of the objective once, in its order, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ioh_standin
import numpy as np
import pytest
from ioh_standin import Analyzer
from run_helpers import batch, score, told

import daedal
from daedal.evaluation.caller import ObjectiveError
from daedal.problems import PBO, registry
from daedal.run.ioh_log import _file_name
from daedal.types import Bits, Fitness

SMALL: dict[str, Any] = {"algorithm": "umda", "popsize": 20, "seed": 3}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Analyzer]]:
    """Give the loggers that were opened, of the stand-in."""
    ioh_standin.install(monkeypatch)
    yield Analyzer.opened
    registry._made.cache_clear()


class Remembering:
    """A function of a batch that remembers the rows that it was called for, and their values."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[int, ...], float]] = []

    def __call__(self, x: Any) -> Any:
        values = batch(x)
        self.calls += [(tuple(row), value) for row, value in zip(x.tolist(), values.tolist(), strict=True)]
        return values


class FailsOnce:
    """A function of one row that fails in its fourth call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, row: Any) -> float:
        self.calls += 1
        if self.calls == 4:
            raise ValueError("the fourth")
        return score(row)


def logged(one: Analyzer) -> list[tuple[tuple[int, ...], float]]:
    assert one.closed == 1
    assert [number for number, *_ in one.lines] == list(range(1, len(one.lines) + 1))
    return [(row, value) for _, row, value in one.lines]


@pytest.mark.parametrize("find", [daedal.maximize, daedal.minimize])
def test_the_log_has_the_calls_in_their_order(opened: list[Analyzer], tmp_path: Path, find: Any) -> None:
    """Rows that come again, of which there are many with so few variables, are no calls."""
    objective = Remembering()
    result = find(objective, n=6, max_generations=4, log=tmp_path / "runs", **SMALL)
    assert result.repeated > 0
    assert logged(opened[0]) == objective.calls
    assert opened[0].attributes == {"seed": 3.0}
    assert opened[0].folder == tmp_path / "runs" / "umda-f0-Remembering-n6-seed3"
    assert (tmp_path / "runs").is_dir()
    assert told(find(Remembering(), n=6, max_generations=4, **SMALL)) == told(result)


def test_it_is_the_same_for_any_number_of_workers(opened: list[Analyzer], tmp_path: Path) -> None:
    """The variables of a named problem are logged in its own order, whatever that of the optimizer."""
    for workers in (1, 2):
        daedal.maximize("trap:k=3,n=9", max_generations=3, workers=workers, log=tmp_path, **SMALL)
    assert logged(opened[0]) == logged(opened[1])
    expected = registry.find_problem("trap:k=3,n=9").evaluate(np.array([row for row, _ in logged(opened[0])], np.uint8))
    assert expected.tolist() == [value for _, value in logged(opened[0])]


def test_a_function_of_pbo_is_logged_under_its_own_number(opened: list[Analyzer], tmp_path: Path) -> None:
    for problem in ("pbo:7,n=8,instance=2", PBO(function=7, n=8, instance=2)):
        result = daedal.maximize(problem, max_generations=2, log=tmp_path, **SMALL)
        log = opened.pop()
        assert log.folder.name == "umda-f7-Ones7-n8-seed3"
        assert len(logged(log)) == result.evaluations
        assert max(value for _, value in logged(log)) == result.fitness
    daedal.minimize("pbo:7,n=8", max_generations=2, log=tmp_path, **SMALL)
    assert opened.pop().folder.name == "umda-f0-pbo_7_n=8-n8-seed3"  # another function: ioh would maximize its own


def test_what_fails_counts_and_what_was_broken_off_is_kept(opened: list[Analyzer], tmp_path: Path) -> None:
    keywords = {"n": 9, "vectorized": False, "max_generations": 1, "log": tmp_path, **SMALL}
    result = daedal.maximize(FailsOnce(), on_error="worst", **keywords)
    log = logged(opened.pop())
    assert len(log) == result.evaluations
    assert [value for _, value in log].count(-np.inf) == result.failed == 1
    with pytest.raises(ObjectiveError):
        daedal.maximize(FailsOnce(), **keywords)
    assert logged(opened.pop()) == log[:3]


def test_a_resumed_run_logs_its_recorded_evaluations_too(opened: list[Analyzer], tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"n": 8, "vectorized": False, "log": tmp_path, **SMALL}
    daedal.maximize(score, max_generations=4, **keywords)
    for generations in (2, 4):
        daedal.maximize(score, max_generations=generations, run=tmp_path / "run.db", **keywords)
    whole, first, continued = map(logged, opened)
    assert continued == whole
    assert first == whole[: len(first)]


def test_a_folder_that_is_a_file_is_refused(opened: list[Analyzer], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="file"):
        daedal.maximize("onemax:n=8", log=tmp_path / "file", **SMALL)
    assert opened == []


def test_names_of_objectives_become_names_of_files() -> None:
    assert _file_name("trap:k=5,n=50") == "trap_k=5_n=50"
    assert _file_name('a/b\\c"d\n.py:f') == "a_b_c_d_.py_f"
    assert _file_name("..") == "run"
    assert len(_file_name("x" * 500)) == 80


# With ioh itself


def read_back(folder: Path) -> tuple[dict[str, Any], list[tuple[int, float]]]:
    """Read a folder as IOHanalyzer does: the JSON file, and the table of improvements that it names."""
    (index,) = folder.glob("*.json")
    described = json.loads(index.read_text())
    (scenario,) = described["scenarios"]
    head, *lines = (folder / scenario["path"]).read_text().splitlines()
    assert head == "evaluations raw_y"
    return described, [(int(number), float(value)) for number, value in map(str.split, lines)]


@pytest.mark.parametrize(("instance", "workers"), [(1, 1), (2, 2), (60, 1)])
def test_the_folder_is_that_of_ioh_s_own_run(tmp_path: Path, instance: int, workers: int) -> None:
    ioh = pytest.importorskip("ioh", reason="the extra ioh is not installed")
    registry._made.cache_clear()
    spec = f"pbo:18,n=24,instance={instance}"
    keywords: dict[str, Any] = {"max_evaluations": 300, "seed": 3, "shuffle": False}
    result = daedal.maximize(spec, log=tmp_path / "ours", workers=workers, **keywords)
    native = NativelyLogged(ioh, PBO(function=18, n=24, instance=instance), tmp_path / "theirs")
    assert daedal.maximize(native, **keywords).fitness == result.fitness
    native.close()

    ours, lines = read_back(tmp_path / "ours" / "auto-f18-LABS-n24-seed3")
    theirs, their_lines = read_back(tmp_path / "theirs")
    assert lines == their_lines
    (run,), (their_run,) = (one["scenarios"][0]["runs"] for one in (ours, theirs))
    assert run == their_run | {"seed": 3}
    assert (run["instance"], run["evals"], run["best"]["x"]) == (instance, 300, result.x.tolist())
    for key in ("function_id", "function_name", "maximization", "attributes", "suite"):
        assert ours[key] == theirs[key]


class NativelyLogged:
    """A function of PBO as a user of ioh would log it: the logger hangs at the problem that is evaluated."""

    optimum = None

    def __init__(self, ioh: Any, problem: PBO, folder: Path) -> None:
        self.n, self._problem = problem.n, problem.made()
        self._triggers = [ioh.logger.trigger.OnImprovement()]
        self._logger = ioh.logger.Analyzer(triggers=self._triggers, root=str(folder.parent), folder_name=folder.name)
        self._problem.attach_logger(self._logger)

    def evaluate(self, x: Bits) -> Fitness:
        return np.array([self._problem(row) for row in x.tolist()])

    def close(self) -> None:
        self._problem.reset()
        self._logger.close()
