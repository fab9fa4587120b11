"""What commands print: standard output and standard error, problems and algorithms, instances and their optima."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, Refused, read_report

import daedal
from daedal.problems import NK, read_nk
from daedal.types import from_text


def test_progress_goes_to_standard_error_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1)
    assert capsys.readouterr() == ("", "")
    shown = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1, progress=True)
    assert (shown.x.tolist(), shown.evaluations, shown.stop) == (quiet.x.tolist(), quiet.evaluations, quiet.stop)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("umda on onemax:n=12, popsize 40, seed 1")
    assert "\x1b" not in err


def test_what_an_objective_prints_is_not_in_the_json(cli: Cli, here: Cli, mine: Path) -> None:
    """Python, C and a child print it; the buffer of C is lost when a worker is ended."""
    how = ("--n", 8, "-a", "umda", "--popsize", 20, "--json")
    done = here("solve", f"{mine}:loud", *how)
    read_report(done)
    assert "hello" in done.stderr
    for words in (("solve", "--workers", 2), ("compare", "--runs", 2)):
        done = cli(words[0], f"{mine}:loud_below", *how, *words[1:])
        read_report(done)
        buffered = () if "--workers" in words else ("C",)
        for source in ("below", "a child", *buffered, "a kept stream"):
            assert f"hello from {source}" in done.stderr


@pytest.mark.parametrize("objective", ["loud_below", "cmd:awk '{ print gsub(/1/, 1) }'"])
def test_closed_descriptors_are_no_error(objective: str, cli: Cli, mine: Path) -> None:
    how = ("--n", 8, "-a", "umda", "--popsize", 20, "--max-generations", 1, "--workers", 2)
    named = objective if objective.startswith("cmd:") else f"{mine}:{objective}"
    done = cli("solve", named, *how, preexec_fn=lambda: [os.close(one) for one in range(3)])
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- commands that only print


def test_version_and_the_commands(here: Cli) -> None:
    done = here("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{daedal.__version__}\n", "")
    done = here()
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("solve", "compare", "list", "instance", "optimum", "study"))


def test_list_has_a_line_for_each_problem_and_algorithm(here: Cli) -> None:
    done = here("list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    for kind in daedal.problem_kinds().values():
        assert sum(kind.example in line and line.endswith(kind.summary) for line in lines) == 1, kind
    for algorithm in daedal.algorithms().values():
        assert sum(line.startswith(f"{algorithm.name} ") and line.endswith(algorithm.summary) for line in lines) == 1


def test_list_explains_settings(here: Cli, refused: Refused) -> None:
    everything = here("list", "--settings").stdout
    for algorithm in daedal.algorithms().values():
        section = everything.partition(f"\n{algorithm.name} ")[2].partition("\n\n")[0]
        for name, value in algorithm.settings().items():
            shown = "none" if value is None else str(value).lower()
            assert re.search(rf"^ +{name} +{re.escape(shown)} ", section, re.MULTILINE), (algorithm.name, name)
    named = here("list", "dae", "trap", "trap:k=4,n=20").stdout
    dae, trap = daedal.algorithms()["dae"].parameters(), daedal.problem_kinds()["trap"].parameters()
    for parameter in (*dae.values(), *trap.values()):
        assert parameter.name in named
        assert parameter.meaning
        assert parameter.meaning in named
    refused(here("list", "dea"), "did you mean 'dae'")


def test_an_instance_is_written_with_its_optimum(here: Cli, refused: Refused, tmp_path: Path) -> None:
    words = ("instance", "nk", "--n", 14, "--k", 3, "--seed", 1, "-o")
    done = here(*words, tmp_path / "a.nk")
    assert (done.returncode, done.stdout) == (0, "")
    written, expected = read_nk(tmp_path / "a.nk"), NK.random(14, 3, 1)
    assert np.array_equal(written.tables, expected.tables)
    assert np.array_equal(written.neighbors, expected.neighbors)
    assert written.known_optimum == expected.optimum
    refused(here(*words, tmp_path / "no" / "a.nk"), "folder")


def test_optimum_prints_the_number_and_the_bits(here: Cli, refused: Refused) -> None:
    landscape = NK.random(12, 2, 3)
    done = here("optimum", "nk:n=12,k=2,seed=3", "--x")
    assert done.returncode == 0
    value, bits = done.stdout.split()
    assert float(value) == landscape.optimum == landscape.evaluate(from_text(bits)[None])[0]
    refused(here("optimum", "nk:n=120,k=6,seed=0"), "4 GiB")


# ---------------------------------------------------------------- kernels

PREPARED = """\
import gc, os, sys, warnings
import numba, daedal
from numba.core.dispatcher import Dispatcher

warnings.simplefilter("ignore")
numba.njit("int64(int64)")(lambda x: x)  # the compiler itself is loaded once for all

def kernels():
    found = [one for one in gc.get_objects() if Dispatcher in type(one).__mro__]
    ours = [one.py_func for one in found for _ in one.signatures]
    return sorted(f"{one.__module__}.{one.__name__}" for one in ours if one.__module__.startswith("daedal."))

def check(**how):
    begun = []
    def interact(x):
        begun.append(begun or kernels())
        return (x[:, :-1] * x[:, 1:]).sum(axis=1) - 1.5 * (x[:, ::3].sum(axis=1) % 2)
    daedal.maximize(interact, n=20, seed=1, **how)
    assert kernels() == begun[0], (how, set(kernels()) - set(begun[0]))

for name in ("dae", "ecga", "hboa"):
    if not (child := os.fork()):  # each begins without any kernel
        check(algorithm=name, max_evaluations=600)
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0, name
"""


def test_no_kernel_of_a_model_is_loaded_while_the_clock_runs() -> None:
    """CPU seconds compare algorithms, so they must not depend on the cache of compiled kernels."""
    done = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
