"""`daedal study` when something goes wrong: killed, interrupted, on a full disk, with a store that is not one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from process_helpers import MARK, marked, wait_until
from study_helpers import SLOW_OBJECTIVE, Inline, stored, timeless

from daedal.studies.runner import Order, run_study
from daedal.studies.spec import Study
from daedal.studies.store import Store

Rows: TypeAlias = dict[tuple[str, int], dict[str, Any]]


def sound(path: Path) -> Rows:
    """Check that SQLite has nothing to say against a store, and read it: a copy, so that daedal has to mend its own."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            if not file.name.endswith(("-shm", ".lock")):
                shutil.copy(file, folder)
        copy = Path(folder) / path.name
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return stored(copy)


def finished(rows: Rows) -> Rows:
    return {key: row for key, row in rows.items() if row["status"] == "done"}


# Processes


SLOW_STUDY = """
runs = 10
popsizes = [8, 16, 32]
problems = [{ name = "slow", problem = "slow.py:ones", n = 16, target = 16 }, "trap:k=4,n=12"]
algorithms = ["umda", "pbil"]
limits = { max_generations = 15 }
"""


class Chain:
    """One study, run again and again, and ended again and again."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.store = folder, folder / "results.db"
        self.words = ("study", "run", folder / "study.toml", "--store", self.store, "--workers", "2")
        self.mark = uuid.uuid4().hex
        self.environment = environment | {"HOLD": "25", MARK: self.mark}
        self.process: subprocess.Popen[str] | None = None

    def start(self, until: Callable[[], object]) -> subprocess.Popen[str]:
        """Go on until something is true."""
        for file in self.folder.glob("pid-*"):
            file.unlink()
        command = [sys.executable, "-m", "daedal", *map(str, self.words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, env=self.environment, start_new_session=True, **pipes)
        self.process = process
        wait_until(lambda: until() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    def middle(self) -> subprocess.Popen[str]:
        """Go on until some more runs have ended and both workers are in the middle of one."""
        before = len(stored(self.store))
        return self.start(lambda: len(stored(self.store)) > before and len(self.workers()) == 2)

    def workers(self) -> list[int]:
        """Find the processes that are in the middle of a run."""
        return [int(file.name.removeprefix("pid-")) for file in self.folder.glob("pid-*")]

    def members(self) -> list[int]:
        """Find the command, and all that it has started, and orphans of both, in whatever group they are."""
        return [int(line.partition(":")[0]) for line in marked(self.mark)]

    def end(self, how: signal.Signals) -> tuple[str, str]:
        """End the study; every process is gone soon, and every run that had ended is kept."""
        assert self.process is not None
        before = finished(stored(self.store))
        assert self.process.pid in self.members()
        # Ctrl-C as a terminal does it: to the workers, too.
        (os.killpg if how is signal.SIGINT else os.kill)(self.process.pid, how)
        wait_until(lambda: not self.members())
        assert before.items() <= sound(self.store).items()
        return self.process.communicate()


@pytest.fixture
def chain(tmp_path: Path, plain_environment: dict[str, str]) -> Iterator[Chain]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which the children inherit, if it was ignored
    (tmp_path / "slow.py").write_text(SLOW_OBJECTIVE)
    (tmp_path / "study.toml").write_text(SLOW_STUDY)
    made = Chain(tmp_path, plain_environment)
    yield made
    signal.signal(signal.SIGINT, before)
    if made.process is not None and made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.communicate()


def test_a_study_that_is_killed_again_and_again_ends_as_if_it_never_was(chain: Chain, here: Any, refused: Any) -> None:
    calm = chain.folder / "calm.db"
    with Store(calm) as store:
        run_study(Study.from_file(chain.folder / "study.toml"), store, Order(), pool=Inline())

    chain.start(chain.store.exists)  # before anything has begun
    chain.end(signal.SIGKILL)
    chain.middle()
    chain.end(signal.SIGKILL)

    process = chain.middle()
    assert len(chain.members()) >= 1 + 2 + 1  # the command, the workers, and what ends them if it is killed
    victim = chain.workers()[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(chain.workers()) == 3)  # another one goes on
    assert victim not in chain.members()
    assert process.poll() is None
    refused(here(*chain.words), "another")  # while it runs, nobody else does, but all may look
    assert json.loads(here("study", "status", "--store", chain.store, "--json").stdout)["left"] > 0
    assert "…" in here("study", "table", "--store", chain.store).stdout
    out, err = chain.end(signal.SIGINT)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("interrupted: all finished runs are in the store")
    assert "slow" in out  # the table so far

    before = finished(stored(chain.store))
    done = here(*chain.words[:-1], 1)
    assert done.returncode == 0, done.stderr
    rows_now = stored(chain.store)
    assert f"{len(before)} of this study were in " in done.stderr
    assert 0 < len(before) < len(rows_now)
    assert before.items() <= rows_now.items()  # nothing was made twice
    assert timeless(rows_now) == timeless(stored(calm))
    shown = []
    for path in (chain.store, calm):
        lines = json.loads(here("study", "table", "--store", path, "--format", "json").stdout)
        shown.append([{key: line[key] for key in line if "seconds" not in key} for line in lines])
    assert shown[0] == shown[1]
    assert [path.name for path in chain.folder.glob("results.db*")] == ["results.db"]


# Full disks

FILLING = """
runs = 40
popsizes = [10]
problems = ["onemax:n=30"]
algorithms = ["umda"]
"""


@pytest.mark.usefixtures("small")  # by which all kernels are compiled, and need no disk any more
def test_a_file_that_may_not_grow(tmp_path: Path, here: Any) -> None:
    (tmp_path / "study.toml").write_text(FILLING)
    run = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--full-grid", "--workers", 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        done = here(*run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: .*results\.db.*", done.stderr.splitlines()[-1])
    rows = sound(tmp_path / "results.db")
    assert 0 < len(rows) < 40
    assert {row["status"] for row in rows.values()} == {"done"}
    done = here(*run)
    assert f"{40 - len(rows)} runs made; {len(rows)} of this study were in " in done.stderr
    assert rows.items() <= stored(tmp_path / "results.db").items()


# Stores that cannot be written

SMALL = """
runs = 2
popsizes = [20]
problems = ["onemax:n=8"]
algorithms = ["umda"]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, of which one run is missing, and its store."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "study.toml").write_text(SMALL)
    study = Study.from_file(folder / "study.toml")
    with Store(folder / "results.db") as store:
        store.remember(study)
        for seed in study.seeds:
            store.record(study.cells()[0], seed, study.cells()[0].config(seed).run())
    (folder / "study.toml").write_text(SMALL.replace("runs = 2", "runs = 3"))
    return folder


def commands(folder: Path) -> dict[str, tuple[object, ...]]:
    """List all that can be done with a store."""
    store = folder / "results.db"
    return {
        "run": ("study", "run", folder / "study.toml", "--store", store),
        "status": ("study", "status", "--store", store),
        "table": ("study", "table", "--store", store, "--format", "json"),
        "export": ("study", "export", "--store", store),
        "plot": ("study", "plot", "--store", store, "-o", folder / "figures"),
    }


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Be a user to whom nothing belongs, where one is the one to whom everything belongs."""
    if os.geteuid() != 0:
        yield
        return
    os.setresgid(65534, 65534, 0)
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@pytest.fixture
def public(small: Path) -> Iterator[Path]:
    """A folder that every user can reach, unlike those of pytest; nothing in it can be written."""
    with tempfile.TemporaryDirectory() as name:
        folder = shutil.copytree(small, Path(name) / "public")
        Path(name).chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_store_that_is_read_only(public: Path, here: Any, refused: Any) -> None:
    words = commands(public)
    del words["plot"]  # which reads the store as `table` does
    free = {name: here(*how).stdout for name, how in words.items() if name != "run"}
    before = (public / "results.db").read_bytes()
    with nobody():
        refused(here(*words["run"]), "read-only")
        refused(here(*words["run"][:-1], public / "new.db"), "permission denied")
        for name in free:
            assert here(*words[name]).stdout == free[name]
    public.chmod(0o755)
    assert (public / "results.db").read_bytes() == before
    assert sorted(path.name for path in public.iterdir()) == ["results.db", "study.toml"]


# Objectives that go wrong


def test_what_hangs_fails_when_its_time_is_up(here: Any, tmp_path: Path) -> None:
    hangs = "import time\n\ndef f(row):\n    time.sleep(1000 if row.all() else 0)\n    return row.sum()\n"
    (tmp_path / "hangs.py").write_text(hangs)
    (tmp_path / "study.toml").write_text(
        "runs = 1\npopsizes = [30]\nalgorithms = ['umda']\n"
        "problems = ['onemax:n=3', { problem = 'hangs.py:f', n = 3, by_row = true, target = 3, timeout = 1 }]\n"
    )
    done = here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", 1)
    assert done.returncode == 0, done.stderr
    rows = stored(tmp_path / "results.db").values()
    assert {row["problem"]: row["status"] for row in rows} == {"onemax:n=3": "done", "hangs.py:f": "failed"}
    assert ["timeout" in row["error"] for row in rows if row["error"]] == [True]


def test_a_program_that_changes_meanwhile_ends_the_study(here: Any, tmp_path: Path) -> None:
    """It changes itself, in the third run: of that one nobody can say what it is the run of."""
    script = tmp_path / "score.sh"
    script.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/calls\n"
        f"[ $(wc -l < {tmp_path}/calls) -ge 5 ] && echo '# changed' >> $0\n"
        "while read row; do echo 1; done\n"
    )
    script.chmod(0o755)
    (tmp_path / "study.toml").write_text(
        "runs = 9\npopsizes = [20]\nalgorithms = ['umda']\n[limits]\nmax_generations = 1\n"
        f"[[problems]]\nproblem = 'cmd:{script}'\nn = 5\ntarget = 9\n"
    )
    done = here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", 1)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: cmd:{script} has changed since the study was read; run the study again\n")
    assert 0 < len(stored(tmp_path / "results.db")) < 9
