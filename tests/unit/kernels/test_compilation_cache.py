"""The cache of compiled kernels on disk: never of other sources than those that are there."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

import daedal
from daedal import kernels
from daedal.kernels.compilation import STAMP, MachineCode, discard_stale, is_compiled, sources_digest

TAG = f"py{sys.version_info.major}{sys.version_info.minor}"

PROGRAM = """
import numpy as np
from daedal.kernels.compilation import announce
from daedal.kernels import dae as kernels

workspace = kernels.make_workspace(3, 3, 2, 0.1)
announce(kernels.activate)
workspace.hiddens[...] = 0.0
kernels.activate(workspace.hiddens, 3, workspace.live_hidden)
print(kernels.__file__)
print(float(workspace.hiddens[0, 0]))
"""

FIT = """
import hashlib
import numpy as np
from daedal import kernels
from daedal.models import DAE

x = np.random.default_rng(0).integers(0, 2, (20, 16), dtype=np.uint8)
fitted = DAE().fit(x, rng=np.random.default_rng(1))
print(kernels.__file__)
print(hashlib.sha256(fitted.theta.encoder.tobytes()).hexdigest())
"""


def kernel_of(cache_path: object) -> Any:
    return SimpleNamespace(stats=SimpleNamespace(cache_path=cache_path), signatures=[])


# With other processes, in a copy of the package


class Package:
    """A copy of daedal that may be edited, and the processes that use it."""

    def __init__(self, folder: Path, cache_folder: Path | None = None, *, without: str = "__pycache__") -> None:
        self.folder = folder
        self.cache_folder = cache_folder
        ignore = shutil.ignore_patterns(without)
        shutil.copytree(Path(daedal.__file__).parent, folder / "daedal", ignore=ignore)

    @property
    def kernels(self) -> Path:
        return self.folder / "daedal" / "kernels"

    def compiled(self) -> dict[str, tuple[int, int]]:
        """Give the files that Numba has written, with their age and size."""
        files = sorted((self.cache_folder or self.kernels).rglob("*.nb[ic]"))
        return {file.name: (file.stat().st_mtime_ns, file.stat().st_size) for file in files}

    def run(self, program: str = PROGRAM, **settings: str) -> tuple[str, bool]:
        """Run a program; give what it prints below its own file, and whether it says that it compiles."""
        done = self.process(program, **settings)
        assert "arning" not in done.stderr
        file, value = done.stdout.split()
        assert Path(file).is_relative_to(self.folder)
        return value, "compiling" in done.stderr

    def process(self, program: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a program, to its good end, with some settings in its environment."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment |= {"PYTHONPATH": str(self.folder), **settings}
        if self.cache_folder is not None:
            environment["NUMBA_CACHE_DIR"] = str(self.cache_folder)
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    def change_logistic(self, value: str) -> None:
        """Let the logistic function be a constant."""
        source = self.kernels / "logistic.py"
        text = source.read_text()
        start = text.index("    return _f(_f(0.5) + _f(0.5)")
        source.write_text(f"{text[:start]}    return _f({value})\n")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside the sources", "in NUMBA_CACHE_DIR"])
def test_a_function_changed_in_another_file_is_seen(tmp_path: Path, elsewhere: bool) -> None:
    """Numba looks at the file of the kernel, dae.py, and not at logistic.py, which the kernel calls."""
    package = Package(tmp_path / "copy", tmp_path / "cache" if elsewhere else None)
    assert package.run() == ("0.5", True)
    first = package.compiled()
    assert any(name.startswith("dae.activate-") for name in first)

    if not elsewhere:
        assert package.run() == ("0.5", False)
        assert package.compiled() == first  # unchanged sources: nothing is compiled, written or thrown away

    package.change_logistic("0.25")
    assert package.run() == ("0.25", True)
    assert set(package.compiled()) == set(first)
    assert package.compiled() != first


def test_what_was_just_compiled_computes_what_the_cache_computes(tmp_path: Path) -> None:
    """Same seed, same result, also in the process that compiles.

    A kernel that calls another one has a copy of it in its machine code. Where both are compiled in one process, the
    call may go to the other's own machine code, which need not round alike.
    """
    package = Package(tmp_path / "copy", without="network.train-*.nb[ic]")
    for file in (package.kernels / "__pycache__").glob("network.batch_gradient-*.nb[ic]"):
        file.unlink()
    compiled, said = package.run(FIT)
    assert said
    assert package.run(FIT) == (compiled, False)


IMPORTS = """
import importlib, pkgutil, daedal
for one in pkgutil.walk_packages(daedal.__path__, "daedal."):
    if not one.name.endswith("__main__"):
        importlib.import_module(one.name)
print(daedal.__file__)
"""


def test_to_import_something_writes_nothing(tmp_path: Path) -> None:
    package = Package(tmp_path / "copy", without="__pycache__")
    home = tmp_path / "home"
    home.mkdir()
    before = sorted(tmp_path.rglob("*"))
    settings = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = package.process(IMPORTS, MPLCONFIGDIR=str(home), **settings)
    assert Path(done.stdout.strip()).is_relative_to(package.folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_kernels_are_compiled_where_nothing_can_be_written(tmp_path: Path) -> None:
    """Neither beside the sources, nor in a home, nor where NUMBA_CACHE_DIR says; for root, too."""
    package = Package(tmp_path / "copy")
    (package.kernels / "__pycache__").write_text("where a folder should be")
    home = tmp_path / "home"
    home.touch()
    settings = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NUMBA_CACHE_DIR": str(home / "numba")}
    done = package.process(PROGRAM, PYTHONDONTWRITEBYTECODE="1", **settings)
    assert done.stdout.split()[1] == "0.5"
    (line,) = done.stderr.splitlines()
    assert "NUMBA_CACHE_DIR" in line


def test_damaged_machine_code_is_made_again(tmp_path: Path) -> None:
    package = Package(tmp_path / "copy")
    value, _ = package.run()
    for damage in (b"", b"garbled", b"\x80\x05]."):
        for file in (package.kernels / "__pycache__").glob("*.nb[ic]"):
            file.write_bytes(damage)
        assert package.run()[0] == value
    whole = package.compiled()
    assert package.run() == (value, False)
    assert package.compiled() == whole, "what was made again is kept"


# Without other processes


class FullDisk:
    """Numba's cache, on a disk that takes nothing."""

    cache_path = os.devnull

    def __init__(self, function: object) -> None:
        """Nothing is looked for."""

    def load_overload(self, *_: object) -> None:
        return None

    def save_overload(self, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def double(x: int) -> int:
        return 2 * x

    kernel = numba.njit(double)
    kernel._cache = MachineCode(double, FullDisk)
    assert kernel(4) == 8
    assert kernel(4.5) == 9.0
    (record,) = caplog.records
    assert "No space left" in record.getMessage()
    assert "NUMBA_CACHE_DIR" in record.getMessage()


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder in the place of daedal/kernels."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "one.py").write_text("a = 1\n")
    (folder / "two.py").write_text("b = 2\n")
    return folder


@pytest.fixture
def compiled(sources: Path) -> Path:
    """A folder with the machine code of those sources, and with files that are somebody else's."""
    folder = sources / "__pycache__"
    folder.mkdir()
    for name in ("one.f-3.{tag}.1.nbc", "one.f-3.{tag}.nbi", "two._g-12.{tag}.2.nbc", "two._g-12.{tag}.nbi"):
        (folder / name.format(tag=TAG)).touch()
        (folder / name.format(tag="py39")).touch()
    for name in (f"three.f-3.{TAG}.nbi", f"oneself.f-3.{TAG}.nbi", "one.cpython-311.pyc", "one.txt"):
        (folder / name).touch()
    return folder


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_the_digest_is_that_of_names_and_contents(sources: Path) -> None:
    digest = sources_digest(sources)
    os.utime(sources / "one.py", (1, 1))
    (sources / "notes.txt").write_text("not a source")
    assert sources_digest(sources) == digest
    seen = {digest}
    (sources / "one.py").write_text("a = 3\n")
    seen.add(sources_digest(sources))
    (sources / "three.py").touch()
    seen.add(sources_digest(sources))
    (sources / "three.py").rename(sources / "four.py")
    seen.add(sources_digest(sources))
    assert len(seen) == 4
    assert sources_digest() == sources_digest(Path(kernels.__file__).parent)


@pytest.mark.parametrize(
    "stamp", [None, b"", b"0" * 63, b"\xff\xfe\x00", b"0" * 64], ids=["none", "empty", "cut", "garbled", "other"]
)
def test_machine_code_of_other_sources_goes_and_nothing_else(
    compiled: Path, sources: Path, stamp: bytes | None
) -> None:
    if stamp is not None:
        (compiled / STAMP).write_bytes(stamp)
    before = names(compiled)
    discard_stale(compiled, sources)
    gone = {f"one.f-3.{TAG}.1.nbc", f"one.f-3.{TAG}.nbi", f"two._g-12.{TAG}.2.nbc", f"two._g-12.{TAG}.nbi"}
    assert names(compiled) == before - gone | {STAMP}
    assert (compiled / STAMP).read_text() == sources_digest(sources)


def test_machine_code_of_the_same_sources_stays(compiled: Path, sources: Path) -> None:
    discard_stale(compiled, sources)
    fresh = compiled / f"one.f-3.{TAG}.nbi"
    fresh.touch()
    before = names(compiled)
    discard_stale(compiled, sources)
    assert names(compiled) == before
    (sources / "two.py").write_text("b = 3\n")
    discard_stale(compiled, sources)
    assert not fresh.exists()


def test_folders_that_are_not_there_or_cannot_be_written_to(compiled: Path, sources: Path) -> None:
    folder = sources / "not" / "yet"
    discard_stale(folder, sources)
    assert names(folder) == {STAMP}
    a_file = sources / "one.py"
    for path in (a_file, a_file / "below"):
        discard_stale(path, sources)
    assert a_file.read_text() == "a = 1\n"
    (compiled / STAMP).mkdir()  # the stamp can neither be read nor written
    discard_stale(compiled, sources)


def test_what_goes_while_one_looks_does_no_harm(compiled: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may be throwing the same files away."""
    unlink = Path.unlink

    def twice(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=missing_ok)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", twice)
    discard_stale(compiled, sources)
    assert (compiled / STAMP).exists()


def test_without_a_cache_only_memory_counts() -> None:
    kernel = kernel_of(None)
    assert not is_compiled(kernel)
    kernel.signatures.append("x")
    assert is_compiled(kernel)
