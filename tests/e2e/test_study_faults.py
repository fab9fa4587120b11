"""`daedal study` when something goes wrong: killed, interrupted, on a full disk, with a store that is not one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from daedal.study.spec import Study
from daedal.study.store import Store

CLOCK = {"cpu_seconds_to_best", "cpu_seconds", "finished", "run"}
SECONDS = {"seconds", "seconds_sd", "seconds_star"}
PATIENCE = 10.0  # seconds in which every process has to be gone

Rows: TypeAlias = dict[tuple[str, int], dict[str, Any]]


def stored(path: Path) -> Rows:
    """Read the runs of a store, past daedal, by cell and seed; a file that is no store yet has none."""
    if not path.exists():
        return {}
    connection = sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        found = [dict(row) for row in connection.execute("SELECT * FROM results ORDER BY run")]
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()
    rows = {(row["content"], row["seed"]): row for row in found}
    assert len(rows) == len(found)  # each once
    return rows


def sound(path: Path) -> Rows:
    """Check that SQLite has nothing to say against a store, and read it: a copy, so that daedal has to mend its own."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            if not file.name.endswith(("-shm", ".lock")):
                shutil.copy(file, folder)
        copy = Path(folder) / path.name
        connection = sqlite3.connect(copy)
        try:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        finally:
            connection.close()
        return stored(copy)


def finished(rows: Rows) -> Rows:
    return {key: row for key, row in rows.items() if row["status"] == "done"}


def timeless(rows: Rows) -> Rows:
    return {key: {name: value for name, value in row.items() if name not in CLOCK} for key, row in rows.items()}


def table_without_clock(here: Any, store: Path) -> list[dict[str, Any]]:
    lines = json.loads(here("study", "table", "--store", store, "--format", "json").stdout)
    return [{name: value for name, value in line.items() if name not in SECONDS} for line in lines]


# Processes


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent's attention does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def members(session: int) -> list[int]:
    """Find the processes of a session that still run: a command, and all that it has started, and orphans of both."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session and alive(int(folder.name)):
                found.append(int(folder.name))
    return found


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.fixture
def started(plain_environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start commands; whatever is left of them at the end is killed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which the children inherit, if it was ignored
    processes = []

    def start(*words: object, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "daedal", *map(str, words)],
            env=plain_environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    signal.signal(signal.SIGINT, before)
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# Killed and interrupted

SLOW = """
import os
import pathlib
import time


def ones(x):
    pause = float(os.environ.get("PAUSE", 0))
    if pause:
        (pathlib.Path(__file__).parent / f"pid-{os.getpid()}").touch()
        time.sleep(pause)
    return x.sum(axis=1)
"""
SLOW_STUDY = """
runs = 16
popsizes = [8, 16, 32]
problems = [{ name = "slow", problem = "slow.py:ones", n = 16, target = 16 }, "trap:k=4,n=12"]
algorithms = ["umda", "pbil"]
limits = { max_generations = 15 }
"""


class Chain:
    """One study, run again and again, and killed again and again."""

    def __init__(self, folder: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
        self.folder, self.start = folder, start
        self.store = folder / "results.db"
        self.words = ("study", "run", folder / "study.toml", "--store", self.store, "--workers", "2")
        self.moments = random.Random(5)

    def go(self, runs: int) -> subprocess.Popen[str]:
        """Go on until some more runs have ended and both workers are in the middle of one."""
        before = len(stored(self.store))
        for file in self.folder.glob("pid-*"):
            file.unlink()
        process = self.start(*self.words, PAUSE="0.02")
        wait_for(lambda: (len(stored(self.store)) >= before + runs and len(self.workers()) == 2) or process.poll())
        assert process.poll() is None, process.communicate()
        time.sleep(self.moments.uniform(0, 0.2))
        return process

    def workers(self) -> list[int]:
        """Find the processes that call the objective."""
        return [int(file.name.removeprefix("pid-")) for file in self.folder.glob("pid-*")]

    def end(self, process: subprocess.Popen[str], how: signal.Signals) -> tuple[str, str]:
        """End the study; every process is gone soon, and every run that had ended is kept."""
        before = finished(stored(self.store))
        assert process.pid in members(process.pid)
        if how is signal.SIGINT:
            os.killpg(process.pid, how)  # as a terminal does: to the workers too
        else:
            process.send_signal(how)
        wait_for(lambda: not members(process.pid), PATIENCE)
        assert before.items() <= sound(self.store).items()
        return process.communicate()


def test_a_study_that_is_killed_again_and_again_ends_as_if_it_never_was(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], here: Any, refused: Any
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "study.toml").write_text(SLOW_STUDY)
    assert here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "calm.db").returncode == 0
    chain = Chain(tmp_path, started)

    for earliest, latest in ((0.2, 1.5), (1.5, 3.5)):  # before anything has begun, while the workers start, ...
        process = started(*chain.words, PAUSE="0.02")
        time.sleep(chain.moments.uniform(earliest, latest))
        chain.end(process, signal.SIGKILL)

    for _ in range(2):  # in the middle
        process = chain.go(chain.moments.randrange(1, 8))
        assert len(members(process.pid)) == 1 + 2 + 1  # the command, the workers, and one that keeps Python's books
        victim = chain.moments.choice(chain.workers())
        os.kill(victim, signal.SIGKILL)
        rows = len(stored(chain.store))
        wait_for(lambda so_far=rows: len(stored(chain.store)) > so_far)  # the others go on
        wait_for(lambda gone=victim: not alive(gone))
        assert process.poll() is None
        refused(here(*chain.words), "another process is doing so")  # while it runs, nobody else does, but all may look
        assert json.loads(here("study", "status", "--store", chain.store, "--json").stdout)["left"] > 0
        assert "…" in here("study", "table", "--store", chain.store).stdout
        chain.end(process, signal.SIGKILL)

    process = chain.go(chain.moments.randrange(1, 8))
    out, err = chain.end(process, signal.SIGINT)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("interrupted: every run that had ended is in the store")
    assert "slow" in out  # the table so far

    before = finished(stored(chain.store))
    done = here(*chain.words)
    assert done.returncode == 0, done.stderr
    rows_now = stored(chain.store)
    assert f"{len(before)} of this study were in " in done.stderr
    assert 0 < len(before) < len(rows_now)
    assert before.items() <= rows_now.items()  # nothing was made twice
    assert timeless(rows_now) == timeless(stored(tmp_path / "calm.db"))
    assert table_without_clock(here, chain.store) == table_without_clock(here, tmp_path / "calm.db")
    assert sorted(path.name for path in tmp_path.glob("results.db*")) == ["results.db"]


TROUBLE = """
import os
import pathlib
import signal
import sys

here = pathlib.Path(__file__).parent


def once(name):
    try:
        (here / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def killed(x):
    if once("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    return x.sum(axis=1)


def raises(x):
    if not (here / "repaired").exists():
        raise RuntimeError("the simulator\\nis down")
    return x.sum(axis=1)


def ends(x):
    if once("ended"):
        os._exit(0)
    return x.sum(axis=1)
"""
TROUBLE_STUDY = """
runs = 3
popsizes = [60, 120]
problems = [
    { name = "killed", problem = "trouble.py:killed", n = 6, target = 6 },
    { name = "raises", problem = "trouble.py:raises", n = 6, target = 6 },
    { name = "ends", problem = "trouble.py:ends", n = 6, target = 6 },
]
algorithms = ["umda"]
"""


def statuses(rows: Rows) -> dict[str, set[tuple[str, int, int]]]:
    found: dict[str, set[tuple[str, int, int]]] = {}
    for row in rows.values():
        found.setdefault(row["status"], set()).add((row["problem"], row["popsize"], row["seed"]))
    return found


def test_runs_that_fail_stay_and_runs_that_were_killed_come_again(tmp_path: Path, here: Any) -> None:
    (tmp_path / "trouble.py").write_text(TROUBLE)
    (tmp_path / "study.toml").write_text(TROUBLE_STUDY)
    store = tmp_path / "results.db"
    run = ("study", "run", tmp_path / "study.toml", "--store", store)

    done = here(*run, "--workers", 2)
    assert done.returncode == 0, done.stderr
    first = stored(store)
    found = statuses(first)
    (killed,) = found["killed"]
    (ended,) = (one for one in found["failed"] if one[0] == "ends")
    # Two of three decide, so that after two failures a size is left; but what was killed says nothing about its size.
    failed = {("raises", size, seed) for size in (60, 120) for seed in (0, 1)} | {ended}
    solved = {("killed", 60, seed) for seed in range(3)} | {
        ("ends", size, seed) for size in (60, 120) for seed in range(3)
    }
    assert found == {"done": solved - {killed, ended}, "failed": failed, "killed": {killed}}
    assert killed in solved
    errors = {row["problem"]: row["error"] for row in first.values() if row["error"]}
    assert "the objective raised RuntimeError: the simulator is down" in errors["raises"]
    assert errors["ends"] == "its process ended in the middle, with exit code 0"
    status = here("study", "status", "--store", store)
    assert "1 time: its process was killed by SIGKILL\n" in status.stdout
    assert "1 time: its process ended in the middle, with exit code 0\n" in status.stdout
    assert "complete" not in status.stdout  # the same command would go on

    done = here(*run)
    *_, closing, warning = done.stderr.splitlines()
    assert warning.startswith(f"{len(failed)} runs of this study have failed: daedal study status --store ")
    assert closing == f"1 run made; {len(first) - 1} of this study were in {store} before"
    second = stored(store)
    assert statuses(second) == {"done": solved - {ended}, "failed": failed}
    assert finished(first).items() <= second.items()
    assert "nothing was left to run" in here(*run).stderr

    (tmp_path / "repaired").touch()
    done = here(*run, "--retry-failed", "--workers", 2)
    assert done.returncode == 0, done.stderr
    third = stored(store)
    assert finished(second).items() <= third.items()
    again = {("raises", 60, seed) for seed in range(3)}
    assert statuses(third)["done"] == solved | again


# Full disks

FILLING = """
runs = 40
popsizes = [10]
problems = ["onemax:n=30"]
algorithms = ["umda"]
"""


def check_full(done: subprocess.CompletedProcess[str], store: Path) -> Rows:
    """The study has ended with one line, and what it had written before is there."""
    *before, last = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert last.startswith("error: ")
    assert str(store) in last
    assert all("runs done" in line for line in before)
    rows = sound(store)
    assert 0 < len(rows) < 40
    assert set(statuses(rows)) == {"done"}
    return rows


@pytest.mark.usefixtures("small")  # by which all kernels are compiled, and need no disk any more
def test_a_file_that_may_not_grow(tmp_path: Path, here: Any) -> None:
    (tmp_path / "study.toml").write_text(FILLING)
    run = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--full-grid")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        done = here(*run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    rows = check_full(done, tmp_path / "results.db")
    done = here(*run)
    assert done.stderr.splitlines()[-1].startswith(f"{40 - len(rows)} runs made; {len(rows)} of this study were in ")
    assert rows.items() <= stored(tmp_path / "results.db").items()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk here; a file that may not grow is tested instead")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path, here: Any) -> None:
    study, store = small_disk / "study.toml", small_disk / "results.db"
    study.write_text(FILLING)
    done = here("study", "run", study, "--store", store, "--full-grid")
    rows = check_full(done, store)
    assert "disk" in done.stderr
    assert len(json.loads(here("study", "export", "--store", store, "--format", "json").stdout)) == len(rows)


# Stores that are none, or not for us

SMALL = """
runs = 2
popsizes = [20]
problems = ["onemax:n=8"]
algorithms = ["umda"]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and its store."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "study.toml").write_text(SMALL)
    study = Study.from_file(folder / "study.toml")
    with Store(folder / "results.db") as store:
        store.remember(study)
        for seed in study.seeds:
            for cell in study.cells():
                store.record(cell, seed, cell.job(seed).run())
    return folder


@pytest.fixture
def mine(small: Path, tmp_path: Path) -> Path:
    """A copy of that folder; the study wants a run more, so that there is something to do."""
    shutil.copy(small / "results.db", tmp_path)
    (tmp_path / "study.toml").write_text(SMALL.replace("runs = 2", "runs = 3"))
    return tmp_path


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


def sqlite(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def of_something_else(path: Path) -> None:
    path.unlink()
    sqlite(path, "CREATE TABLE songs (title TEXT)", "INSERT INTO songs VALUES ('Icarus')")


def with_holes(path: Path) -> None:
    """Write over a page in the middle, and leave the head as it is."""
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * len(content[4096:])
    path.write_bytes(content)


BAD_STORES: dict[str, tuple[Callable[[Path], object], str]] = {
    "not SQLite": (lambda path: path.write_text("Dear Ariadne, " * 100), "not an SQLite database"),
    "one byte": (lambda path: path.write_text("x"), "not an SQLite database"),
    "of something else": (of_something_else, "an SQLite database of something else"),
    "newer": (lambda path: sqlite(path, "PRAGMA user_version = 99"), "made by a newer daedal"),
    "older": (lambda path: sqlite(path, "PRAGMA user_version = 0"), "older daedal"),
    "cut off": (lambda path: os.truncate(path, 8000), "damaged"),
    "damaged": (with_holes, "damaged"),
}


@pytest.mark.parametrize("case", BAD_STORES)
def test_a_bad_store_is_refused_and_not_touched(case: str, mine: Path, here: Any, refused: Any) -> None:
    spoil, says = BAD_STORES[case]
    store = mine / "results.db"
    spoil(store)
    before = store.read_bytes()
    for words in commands(mine).values():
        refused(here(*words), says)
        assert store.read_bytes() == before
    assert not (mine / "figures").exists()


def test_a_store_without_a_study(mine: Path, here: Any, refused: Any) -> None:
    """An empty file is a place for a new store, and nothing to read from."""
    (mine / "results.db").write_bytes(b"")
    for name in ("status", "table", "export", "plot"):
        refused(here(*commands(mine)[name]), "an empty file")
    assert (mine / "results.db").read_bytes() == b""
    (mine / "results.db").unlink()
    (mine / "results.db").mkdir()
    for words in commands(mine).values():
        refused(here(*words), "folder")


LOCKING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = " + sys.argv[2])
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE runs SET seed = seed")
print("locked", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


@contextlib.contextmanager
def locked(store: Path, mode: str) -> Iterator[None]:
    """Have another process keep a store for itself: against writers (normal), or also against readers (exclusive)."""
    with subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(store), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield
        process.communicate()


def test_a_store_that_another_process_keeps(
    mine: Path, here: Any, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = commands(mine)
    del words["plot"]
    run = words.pop("run")
    free = {name: here(*how).stdout for name, how in words.items()}
    with locked(mine / "results.db", "normal"):
        began = time.monotonic()
        refused(here(*run), "another process kept it locked")
        assert 1 < time.monotonic() - began < 15  # it waits, but not for ever
        for name, how in words.items():
            assert here(*how).stdout == free[name]  # who writes keeps nobody from reading
    monkeypatch.setattr("daedal.study.store._TIMEOUT", 0.1)
    with locked(mine / "results.db", "exclusive"):
        for how in (run, *words.values()):
            refused(here(*how), "another process kept it locked")
    assert len(stored(mine / "results.db")) == 2
    assert here(*words["export"]).stdout == free["export"]


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
        folder = Path(name)
        shutil.copy(small / "results.db", folder)
        (folder / "study.toml").write_text(SMALL.replace("runs = 2", "runs = 3"))
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_store_that_is_read_only(public: Path, here: Any, refused: Any) -> None:
    words = commands(public)
    figures = Path(tempfile.mkdtemp(prefix="figures"))  # not in tmp_path, which is nobody else's
    figures.chmod(0o777)
    words["plot"] = (*words["plot"][:-1], figures)
    free = {name: here(*how).stdout for name, how in words.items() if name != "run"}
    before = (public / "results.db").read_bytes()
    for file in figures.iterdir():
        file.chmod(0o666)
    with nobody():
        refused(here(*words["run"]), "read-only")
        refused(here(*words["run"][:-1], public / "new.db"), "does not allow it")
        for name in free:
            assert here(*words[name]).stdout == free[name]
    (public / "results.db").chmod(0o666)
    with nobody():
        refused(here(*words["run"]), "read-only")  # the folder still is
    (public / "results.db").chmod(0)
    with nobody():
        for how in words.values():
            refused(here(*how), "results.db")
    public.chmod(0)
    with nobody():
        for how in words.values():
            refused(here(*how), str(public))
    public.chmod(0o755)
    assert (public / "results.db").read_bytes() == before
    assert sorted(path.name for path in public.iterdir()) == ["results.db", "study.toml"]


HANGS = """
import time


def f(row):
    time.sleep(1000 if row.all() else 0)
    return row.sum()
"""


def test_what_hangs_fails_when_its_time_is_up(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [30]\nalgorithms = ['umda']\n"
        "problems = ['onemax:n=5', { problem = 'hangs.py:f', n = 5, by_row = true, target = 5, timeout = 1 }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", 1)
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    found = {(row["problem"], row["status"]) for row in stored(tmp_path / "results.db").values()}
    assert found == {("onemax:n=5", "done"), ("hangs.py:f", "failed")}
    errors = [row["error"] for row in stored(tmp_path / "results.db").values() if row["error"]]
    assert all("timeout" in error for error in errors), errors


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
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", 1)
    done = here(*words)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: cmd:{script} has changed since the study was read; run the study again\n")
    assert 0 < len(stored(tmp_path / "results.db")) < 9


def test_a_closed_standard_error_is_no_error(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text("def f(x):\n    print('here')\n    return x.sum(axis=1)\n")
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [20]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'prints.py:f', n = 5, target = 5 }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db")
    done = cli(*words, preexec_fn=lambda: os.close(2))
    assert done.returncode == 0
    assert {row["status"] for row in stored(tmp_path / "results.db").values()} == {"done"}
