"""The example programs of examples/external, each run by maximize and minimize in both modes, and their page."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import blocks_of

import daedal
from daedal.problems import Trap

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "external"


def count_ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def trap(x: np.ndarray) -> np.ndarray:
    return Trap(k=5, n=x.shape[1]).evaluate(x.astype(np.uint8))


def leading_ones(x: np.ndarray) -> np.ndarray:
    return np.cumprod(x, axis=1).sum(axis=1)


def awk() -> str:
    """Give the awk that is here, with what it takes to read line by line."""
    if shutil.which("awk") is None:
        pytest.skip("no awk here")
    asked = ["awk", "-W", "version"]
    said = subprocess.run(asked, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return "awk -W interactive" if said.stdout.startswith("mawk") else "awk"


def compiled(source: Path, program: Path) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here")
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return f"'{program}'"


@pytest.mark.parametrize("persistent", [False, True], ids=["each batch", "persistent"])
@pytest.mark.parametrize("function", [count_ones, trap, leading_ones], ids=["sh", "awk", "c"])
def test_an_example_is_the_function_that_it_says(
    function: Callable[[np.ndarray], np.ndarray], persistent: bool, tmp_path: Path
) -> None:
    if function is count_ones:
        command = f"sh '{EXAMPLES / 'count_ones.sh'}'"
    elif function is trap:
        command = f"{awk()} -f '{EXAMPLES / 'trap.awk'}'"
    else:
        command = compiled(EXAMPLES / "leading_ones.c", tmp_path / "leading_ones")
    x = np.random.default_rng(1).random((300, 20)) < np.linspace(0.3, 1, 300)[:, None]
    how: dict[str, Any] = {"n": 10, "algorithm": "umda", "popsize": 60, "seed": 1, "max_generations": 6}
    with daedal.Program(command, persistent=persistent, timeout=60) as program:
        assert np.array_equal(program(x), function(x.astype(int)))
        assert np.array_equal(program(x[:1]), function(x[:1].astype(int)))
        for optimize in (daedal.maximize, daedal.minimize):
            result, same = optimize(program, **how), optimize(function, **how)
            assert np.array_equal(result.x, same.x)
            assert (result.fitness, result.evaluations) == (same.fitness, same.evaluations)


def test_the_page_shows_the_examples_as_they_are() -> None:
    shown = {block.title: block.text for block in blocks_of(ROOT / "docs" / "programs.md")}
    examples = sorted(EXAMPLES.iterdir())
    assert [path.name for path in examples] == ["build.py", "build.toml", "count_ones.sh", "leading_ones.c", "trap.awk"]
    for path in examples:
        assert shown[path.relative_to(ROOT).as_posix()] == path.read_text(), path.name
