"""The command line for tests: as a new process or, which is faster, in this one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from process_helpers import MARK, marked, wait_until

from daedal.cli import main

Cli: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def plain_environment() -> dict[str, str]:
    """Return this environment without variables that color or narrow the output of Rich."""
    drop = {"FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "TERM"}
    return {name: value for name, value in os.environ.items() if name not in drop}


@pytest.fixture(scope="session")
def cli(plain_environment: dict[str, str]) -> Cli:
    """Run the command line as a process."""

    def run(*words: object, variables: dict[str, str] | None = None, **options: Any) -> Any:
        given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 90}
        command, env = [sys.executable, "-m", "daedal", *map(str, words)], plain_environment | (variables or {})
        done = subprocess.run(command, env=env, check=False, **given | options)
        done.stderr = without_compilation(done.stderr)
        return done

    return run


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run the command line in this process, where every warning is an error."""
    monkeypatch.setattr(sys, "path", sys.path.copy())  # a loaded file's folder is put there
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["daedal", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, ended.value.code, printed.out, without_compilation(printed.err))

    return run


@pytest.fixture(scope="session")
def refused() -> Callable[[subprocess.CompletedProcess[str], str], None]:
    """Check that a command refused its input: one line that says what is wrong, nothing else, exit code 2."""

    def check(done: subprocess.CompletedProcess[str], says: str) -> None:
        assert done.stderr.startswith("error: "), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        assert says in done.stderr
        assert (done.returncode, done.stdout) == (2, "")

    return check


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a file with objectives of a user, alone in its folder."""
    return Path(shutil.copy(Path(__file__).parents[1] / "support" / "user_objectives.py", tmp_path / "mine.py"))


@pytest.fixture
def interrupted(plain_environment: dict[str, str], tmp_path: Path) -> Cli:
    """Press Ctrl-C, or send another signal to the command alone, when processes stand in an objective of `mine`.

    No process may be left.
    """

    def run(
        *words: object, standing: int = 1, number: signal.Signals = signal.SIGINT, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        mark = uuid.uuid4().hex
        command = [sys.executable, "-m", "daedal", *map(str, words)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child would inherit that it is ignored
        try:
            env = plain_environment | variables | {MARK: mark}
            process = subprocess.Popen(command, env=env, start_new_session=True, **pipes)
        finally:
            signal.signal(signal.SIGINT, before)
        try:
            wait_until(lambda: process.poll() is not None or len(list(tmp_path.glob("pid-*"))) == standing)
            # As a terminal does it, to the whole group; or as an administrator does.
            (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
            out, err = process.communicate(timeout=60)
            wait_until(lambda: not marked(mark), "a process is left")
        finally:
            for left in marked(mark):
                os.kill(int(left.partition(":")[0]), signal.SIGKILL)
            process.wait()
        return subprocess.CompletedProcess(command, process.returncode, out, without_compilation(err))

    return run


def without_compilation(stderr: str) -> str:
    """Leave out the line that appears only if kernels were never used before."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("compiling kernels"))
