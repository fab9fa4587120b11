"""The example programs of examples/external, each run by maximize in both modes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import daedal
from daedal.objectives.program import Program
from daedal.problems import Trap

EXAMPLES = Path(__file__).parents[2] / "examples" / "external"
MODES = pytest.mark.parametrize("persistent", [False, True], ids=["each batch", "persistent"])


def count_ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def trap(x: np.ndarray) -> np.ndarray:
    return Trap(k=5, n=x.shape[1]).evaluate(x.astype(np.uint8))


def leading_ones(x: np.ndarray) -> np.ndarray:
    return np.cumprod(x, axis=1).sum(axis=1)


@pytest.fixture(params=[count_ones, trap, leading_ones], ids=["sh", "awk", "c"])
def example(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, object]:
    """Give the command of an example, and the function that it should be."""
    function = request.param
    if function is count_ones:
        return f"sh '{EXAMPLES / 'count_ones.sh'}'", function
    if function is trap:
        return f"{awk()} -f '{EXAMPLES / 'trap.awk'}'", function
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here")
    program = tmp_path / "leading_ones"
    subprocess.run([compiler, "-O2", "-o", program, EXAMPLES / "leading_ones.c"], check=True)
    return f"'{program}'", function


def awk() -> str:
    """Give the awk that is here, with what it takes to read line by line."""
    if shutil.which("awk") is None:
        pytest.skip("no awk here")
    said = subprocess.run(
        ["awk", "-W", "version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return "awk -W interactive" if said.stdout.startswith("mawk") else "awk"


@MODES
def test_an_example_is_the_function_that_it_says(example: tuple[str, object], persistent: bool) -> None:
    command, function = example
    assert callable(function)
    x = np.random.default_rng(1).random((300, 20)) < np.linspace(0.3, 1, 300)[:, None]
    with Program(command, persistent=persistent, timeout=10) as program:
        assert np.array_equal(program(x), function(x.astype(int)))
        assert np.array_equal(program(x[:1]), function(x[:1].astype(int)))


@MODES
def test_maximize_runs_it_as_if_it_were_a_function(example: tuple[str, object], persistent: bool) -> None:
    command, function = example
    how = {"n": 10, "algorithm": "umda", "popsize": 60, "seed": 1, "max_generations": 12}
    with Program(command, persistent=persistent, timeout=10) as program:
        result = daedal.maximize(program, **how)
    same = daedal.maximize(function, **how)
    assert np.array_equal(result.x, same.x)
    assert result.fitness == same.fitness
    assert result.evaluations == same.evaluations
    if function is not trap:
        assert result.fitness == 10


def test_minimize_too() -> None:
    program = Program(f"sh '{EXAMPLES / 'count_ones.sh'}'")
    result = daedal.minimize(program, n=10, algorithm="umda", popsize=60, seed=1, target=0.0)
    assert result.success
    assert not result.x.any()
