"""What users stumbled over, each once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.models import ECGA, PBIL, RBM, UMDA
from daedal.problems import NK, read_nk, write_nk


def cli(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daedal", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(
        "import sys\n"
        "def loud(x):\n    print('hello')\n    return x.sum(axis=1)\n"
        "def row(x):\n    assert x.ndim == 1\n    return float(x.sum())\n"
        "def leaves(x):\n    sys.exit(0)\n"
    )
    return path


@pytest.mark.parametrize("words", [("solve", "--seed", 1), ("compare", "--runs", 2, "--workers", 2)])
def test_what_an_objective_prints_is_not_among_the_json(mine: Path, words: tuple[Any, ...]) -> None:
    done = cli(words[0], f"{mine}:loud", "--n", 8, "-a", "umda", "--popsize", 20, "--json", *words[1:])
    assert done.returncode == 0
    json.loads(done.stdout)
    assert "hello" in done.stderr


def test_compare_takes_functions_of_a_row_and_minimises(mine: Path) -> None:
    words = ("--n", 8, "-a", "umda", "--popsize", 40, "--runs", 2, "--target", 0)
    done = cli("compare", f"{mine}:row", *words, "--by-row", "--minimize", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["algorithms"][0]["best"] == 0.0


def test_an_objective_that_exits_is_an_error(mine: Path) -> None:
    done = cli("solve", f"{mine}:leaves", "--n", 3, "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: the objective raised SystemExit")


def test_the_memory_of_a_population_is_that_of_the_size_asked_for() -> None:
    result = daedal.maximize("onemax:n=200000", algorithm="umda", popsize=4, seed=1, max_generations=1)
    assert result.popsize == 4


def test_a_group_may_be_allowed_to_hold_everything() -> None:
    x = np.random.default_rng(0).integers(0, 2, (30, 5), dtype=np.uint8)
    rng = np.random.default_rng(0)
    assert ECGA(max_group=10**22).fit(x, rng=rng).info == ECGA().fit(x, rng=rng).info


def test_a_boltzmann_machine_that_diverges_says_so() -> None:
    x = np.random.default_rng(0).integers(0, 2, (60, 12), dtype=np.uint8)
    with pytest.raises(ValueError, match="training of the Boltzmann machine diverged with learning_rate=1e\\+38"):
        RBM(learning_rate=1e38).fit(x, rng=np.random.default_rng(0))


@pytest.mark.parametrize("algorithm", ["rbm", "boa", "tree", "ecga", "dae"])
def test_models_that_no_memory_holds_are_refused(algorithm: str) -> None:
    with pytest.raises(ValueError, match=r"takes about .* of memory, and this machine has"):
        daedal.maximize(lambda x: x[:, 0], n=1_000_000, algorithm=algorithm, popsize=4, seed=1)


def test_a_model_runs_under_the_limits_of_its_kind() -> None:
    by_name = daedal.maximize("onemax:n=30", algorithm="pbil", popsize=20, seed=1)
    by_model = daedal.maximize("onemax:n=30", algorithm=PBIL(), popsize=20, seed=1)
    assert (by_model.stop, by_model.generations) == (by_name.stop, by_name.generations)


def test_the_best_of_an_optimizer_cannot_be_changed_but_a_results_can() -> None:
    optimizer = daedal.EDA(n=5, model=PBIL(), popsize=10, seed=1)
    optimizer.tell(optimizer.ask().sum(axis=1))
    assert optimizer.best is not None
    with pytest.raises(ValueError, match="read-only"):
        optimizer.best.x[0] = 1
    result = daedal.maximize(lambda x: x.sum(axis=1), n=5, algorithm="umda", popsize=10, seed=1)
    result.x[0] ^= 1


def test_a_problem_need_not_state_an_optimum() -> None:
    class Mine:
        n = 6

        def evaluate(self, x: np.ndarray) -> np.ndarray:
            return x.sum(axis=1).astype(float)

    result = daedal.maximize(Mine(), algorithm="umda", popsize=40, seed=1)  # type: ignore[arg-type]
    assert (result.fitness, result.success) == (6.0, None)


def test_sums_beyond_a_float_are_no_warning() -> None:
    result = daedal.maximize(lambda x: x.sum(axis=1) * 4e306, n=20, algorithm="umda", popsize=200, seed=1)
    assert result.fitness == 20 * 4e306


def test_an_optimum_that_is_not_that_of_the_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.nk"
    write_nk(NK.random(n=8, k=2, seed=1), path)
    right = path.read_text()
    path.write_text(right.rsplit("Optimum:", 1)[0] + "Optimum: 99")
    with pytest.raises(ValueError, match=r"expected the optimum of the tables above, .*, got 99"):
        read_nk(path)


def test_kernels_are_loaded_before_the_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    now = 0.0

    def prepare(what: str) -> None:
        nonlocal now
        now += 1000.0  # a slow compiler
        calls.append(what)

    def objective(x: np.ndarray) -> np.ndarray:
        nonlocal now
        now += 1.0
        calls.append("evaluate")
        return x.sum(axis=1)

    monkeypatch.setattr(UMDA, "prepare", lambda model: prepare("model"))
    monkeypatch.setattr("daedal.evaluation.memory_cache.prepare", lambda: prepare("cache"))
    clock = SimpleNamespace(monotonic=lambda: now, process_time=lambda: now)
    monkeypatch.setattr("daedal.run.loop.time", clock)
    result = daedal.maximize(objective, n=5, algorithm="umda", popsize=10, seed=1, max_generations=0)
    assert calls == ["model", "cache", "evaluate"]
    assert (result.seconds, result.cpu_seconds) == (1.0, 1.0)


@pytest.mark.parametrize("name", sorted(daedal.algorithms()))
def test_preparing_compiles_all_that_a_run_needs(name: str) -> None:
    """In a new process nothing is left to load once the model is prepared: a run adds no machine code."""
    program = (
        "import gc; import daedal; from daedal.optimizers.presets import find_algorithm; "
        "from numba.core.dispatcher import Dispatcher; from daedal.evaluation import memory_cache as cache; "
        "model = find_algorithm('" + name + "').model; model.prepare(); cache.prepare(); "
        "loaded = lambda: sum(len(d.signatures) for d in gc.get_objects() if isinstance(d, Dispatcher) "
        "and d.py_func.__module__.startswith('daedal.kernels') and 'landscapes' not in d.py_func.__module__ "
        "and 'replacement' not in d.py_func.__module__); before = loaded(); "
        "daedal.maximize('onemax:n=20', algorithm='" + name + "', popsize=60, seed=1, max_generations=3); "
        "assert loaded() == before, (before, loaded())"
    )
    subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)


def test_a_setting_given_twice_is_refused() -> None:
    done = cli("solve", "trap", "--set", "corruption=0.1", "--set", "corruption=0.2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: expected --set corruption once, got it twice\n"
