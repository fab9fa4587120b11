"""What the command line shows: results for eyes, what objectives print, and the commands that only tell something."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, Refused, read_report

import daedal
from daedal.problems import NK, read_nk
from daedal.types import from_text


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (
            ("onemax:n=20", "--popsize", 60, "--seed", 1),
            ("umda on onemax:n=20, popsize 60, seed 1, goal 20", "\nsolved", "fitness 20 of 20", "1" * 20, "target"),
        ),
        (("onemax:n=60", "--popsize", 20, "--max-generations", 1), ("not solved", " of 60", "max_generations")),
    ],
)
def test_a_result_for_eyes(here: Cli, words: tuple[object, ...], shows: tuple[str, ...]) -> None:
    """A run that comes to its own end unsolved is no error."""
    done = here("solve", *words, "--algorithm", "umda")
    assert (done.returncode, done.stdout) == (0, "")
    assert "\x1b" not in done.stderr
    for text in shows:
        assert text in done.stderr


def test_progress_goes_to_standard_error_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1)
    assert capsys.readouterr() == ("", "")
    shown = daedal.maximize("onemax:n=12", algorithm="umda", popsize=40, seed=1, progress=True)
    assert (shown.x.tolist(), shown.evaluations, shown.stop) == (quiet.x.tolist(), quiet.evaluations, quiet.stop)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("umda on onemax:n=12, popsize 40, seed 1")
    assert "\x1b" not in err


def test_what_an_objective_prints_is_not_among_the_json(cli: Cli, here: Cli, mine: Path) -> None:
    how = (f"{mine}:loud", "--n", 8, "-a", "umda", "--popsize", 20, "--json")
    for done in (here("solve", *how), cli("compare", *how, "--runs", 2, "--workers", 2)):
        read_report(done)
        assert "hello" in done.stderr


def test_what_an_objective_writes_past_python_is_not_among_the_json_either(cli: Cli, mine: Path) -> None:
    how = (f"{mine}:loud_below", "--n", 8, "-a", "umda", "--popsize", 20, "--json")
    for words in (("solve", *how), ("solve", *how, "--workers", 2), ("compare", *how, "--runs", 2)):
        done = cli(*words)
        read_report(done)
        buffered = () if "--workers" in words else ("C",)  # what C keeps is lost with a worker that is ended
        for who in ("below", "a child", *buffered, "who has kept it"):
            assert f"hello from {who}" in done.stderr


def test_objectives_that_misbehave_in_this_very_process(cli: Cli, tmp_path: Path) -> None:
    """They close what they print to, forget where packages are, leave forks that hold everything, end like no error."""
    (tmp_path / "odd.py").write_text(ODD)
    how = ("--n", 6, "-a", "umda", "--popsize", 6, "--max-evaluations", 12, "--seed", 1, "--json")
    for name in ("closes", "forgets"):
        read_report(cli("solve", f"{tmp_path / 'odd.py'}:{name}", *how))
    done = cli("solve", f"{tmp_path / 'odd.py'}:ends", *how)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert "GeneratorExit" in done.stderr
    assert "Traceback" not in done.stderr
    command = [sys.executable, "-m", "daedal", "solve", f"{tmp_path / 'odd.py'}:forks", *map(str, how)]
    try:  # no pipes, because those who are left hold them open
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=90)
    finally:
        for place in tmp_path.glob("pid-*"):
            os.kill(int(place.name.removeprefix("pid-")), signal.SIGKILL)


ODD = """
import os, pathlib, sys, time

def closes(x):
    sys.stdout.close()
    return x.sum(axis=1)

def forgets(x):
    sys.path.clear()
    return x.sum(axis=1)

def forks(x):
    if os.fork() == 0:
        (pathlib.Path(__file__).parent / f"pid-{os.getpid()}").touch()
        time.sleep(1000)
    return x.sum(axis=1)

def ends(x):
    raise GeneratorExit
"""


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)], ids=str)
def test_closed_descriptors_are_no_error(closed: tuple[int, ...], cli: Cli, mine: Path) -> None:
    how = ("--n", 8, "-a", "umda", "--popsize", 20, "--max-generations", 1, "--workers", 2)
    for objective in (f"{mine}:loud_below", "cmd:awk '{ print gsub(/1/, 1) }'"):
        done = cli("solve", objective, *how, preexec_fn=lambda: [os.close(one) for one in closed])
        assert done.returncode == 0, done.stderr


def test_version_and_without_words_what_there_is(here: Cli) -> None:
    done = here("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{daedal.__version__}\n", "")
    done = here()
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("solve", "compare", "list", "instance", "optimum", "study"))


def test_list_has_a_line_for_each_problem_and_algorithm(cli: Cli) -> None:
    done = cli("list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    for kind in daedal.problem_kinds().values():
        assert sum(line.startswith(f"{kind.example} ") and line.endswith(kind.summary) for line in lines) == 1, kind
    for algorithm in daedal.algorithms().values():
        assert sum(line.startswith(f"{algorithm.name} ") and line.endswith(algorithm.summary) for line in lines) == 1
    assert len(lines) <= len(daedal.problem_kinds()) + len(daedal.algorithms()) + 10


def test_list_shows_all_settings_on_demand(cli: Cli) -> None:
    done = cli("list", "--settings")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    for kind in daedal.problem_kinds().values():
        assert kind.name in done.stdout
    for algorithm in daedal.algorithms().values():
        section = done.stdout.partition(f"\n{algorithm.name} ")[2].partition("\n\n")[0]
        for name, value in algorithm.settings().items():
            shown = "none" if value is None else str(value).lower()
            assert re.search(rf"^ +{name} +{re.escape(shown)} ", section, re.MULTILINE), (algorithm.name, name)


def test_list_of_names_says_what_each_setting_means(here: Cli, refused: Refused) -> None:
    done = here("list", "dae", "trap", "trap:k=4,n=20")
    assert done.returncode == 0
    dae, trap = daedal.algorithms()["dae"].parameters(), daedal.problem_kinds()["trap"].parameters()
    for parameter in (*dae.values(), *trap.values()):
        assert parameter.name in done.stdout
        assert parameter.meaning
        assert parameter.meaning in done.stdout
    refused(here("list", "dea"), "did you mean 'dae'")


def test_an_instance_is_written_with_its_optimum(here: Cli, refused: Refused, tmp_path: Path) -> None:
    words = ("instance", "nk", "--n", 14, "--k", 3, "--seed", 1, "-o")
    done = here(*words, tmp_path / "a.nk")
    assert (done.returncode, done.stdout) == (0, "")
    written, expected = read_nk(tmp_path / "a.nk"), NK.random(14, 3, 1)
    assert np.array_equal(written.tables, expected.tables)
    assert np.array_equal(written.neighbours, expected.neighbours)
    assert written.known_optimum == expected.optimum
    refused(here(*words, tmp_path / "no" / "a.nk"), "folder")


def test_optimum_prints_the_number_and_on_demand_the_bits(here: Cli, refused: Refused) -> None:
    landscape = NK.random(12, 2, 3)
    done = here("optimum", "nk:n=12,k=2,seed=3", "--x")
    assert done.returncode == 0
    value, bits = done.stdout.split()
    assert float(value) == landscape.optimum == landscape.evaluate(from_text(bits)[None])[0]
    refused(here("optimum", "nk:n=120,k=6,seed=0"), "4 GiB")


PREPARED = """\
import gc, os, traceback
import numba, numpy as np
import daedal
from daedal.optimizers.contest import Contest
from numba.core.dispatcher import Dispatcher

numba.njit("int64(int64)")(lambda x: x)  # the compiler itself is loaded once for all

def kernels():
    found = [one for one in gc.get_objects() if Dispatcher in type(one).__mro__]
    ours = [one.py_func for one in found for _ in one.signatures]
    return sorted(f"{one.__module__}.{one.__name__}" for one in ours if one.__module__.startswith("daedal."))

def interact(x):
    return (x[:, :-1] * x[:, 1:]).sum(axis=1) - 1.5 * (x[:, ::3].sum(axis=1) % 2)

def ones(x):
    return x.sum(axis=1)  # nothing is left to find, long before the budget ends

def check(build, function, calls):
    optimizer = build(n=20, seed=1, limits=daedal.Limits(max_evaluations=calls))
    optimizer.prepare()
    before = kernels()
    while optimizer.stop is None:
        optimizer.tell(function(optimizer.ask()).astype(float))
    assert kernels() == before, set(kernels()) - set(before)

cases = []
for algorithm in daedal.algorithms().values():
    sized = algorithm.with_settings({"popsize": 60} if "popsize" in algorithm.settings() else {})
    cases.append((algorithm.name, sized.configuration.build, interact, 3000))
auto, umda, ils = (daedal.algorithms()[name].configuration.build for name in ("auto", "umda", "ils"))
cases.append(("auto, few calls", auto, interact, 300))
cases.append(("auto, stuck", auto, ones, 1500))
for name, build in (("umda", umda), ("ils", ils)):
    noisy = lambda build=build, **how: Contest(build=build, **how)
    cases.append((f"{name}, noisy", noisy, interact, 2000))

for name, *case in cases:
    child = os.fork()  # each begins without any kernel
    if not child:
        try:
            check(*case)
        except BaseException:
            print(name, flush=True)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""


def test_no_kernel_is_compiled_or_loaded_after_prepare() -> None:
    """The clock starts then, and CPU seconds are to compare algorithms, not whether a kernel was in the cache."""
    done = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


STRANGE = """
import sys
def closing(x):
    sys.stdout.close()
    return x.sum(axis=1)
def lost(x):
    sys.path.clear()
    return x.sum(axis=1)
"""


@pytest.mark.parametrize("name", ["closing", "lost"])
def test_an_objective_that_breaks_its_process_has_its_result_all_the_same(name: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "strange.py").write_text(STRANGE)
    how = ("--n", 6, "-a", "umda", "--popsize", 8, "--max-evaluations", 12, "--json")
    done = cli("solve", f"strange.py:{name}", *how, cwd=tmp_path)
    assert read_report(done)["evaluations"] <= 12
