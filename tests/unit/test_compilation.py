"""Kernels are compiled on their first call, say so, and their cache on disk never answers for other sources."""

from __future__ import annotations

import errno
import importlib.util
import logging
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

import daedal
from daedal.compilation import announce, is_compiled, njit, sources_digest

SOURCE = """
from daedal.compilation import njit

@njit()
def double(x):
    return 2 * x

@njit(inline="always")
def triple(x):
    return double(x) + x

@njit()
def apply(function, x):
    return function(triple(x)) - triple(0)
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    path = tmp_path / "fresh_kernels.py"
    path.write_text(SOURCE)
    return path


def load(source: Path, kernel: str = "double") -> Any:
    """Import the module as a new process would, with nothing compiled in memory."""
    spec = importlib.util.spec_from_file_location("fresh_kernels", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


def announced(kernel: Any, caplog: pytest.LogCaptureFixture) -> bool:
    caplog.clear()
    announce(kernel)
    assert [record.name for record in caplog.records] in ([], ["daedal"])
    return "compiling kernels" in caplog.text


def test_a_kernel_calls_kernels_and_takes_them_as_arguments(source: Path) -> None:
    apply = load(source, "apply")
    assert apply(apply.__wrapped__.__globals__["double"], 5) == 30
    assert is_compiled(apply)
    assert apply.__name__ == "apply"


@njit()
def increase(x: int) -> int:
    """Return x + 1."""
    return x + 1


def test_a_kernel_is_sent_to_other_processes_by_name() -> None:
    assert pickle.loads(pickle.dumps(increase)) is increase


def test_said_before_the_first_compilation_and_not_after_it(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    kernel = load(source)
    assert announced(kernel, caplog)
    assert not kernel.signatures, "asking does not compile"
    assert kernel(4) == 8
    assert not announced(kernel, caplog)
    later = load(source)
    assert not later.signatures
    assert is_compiled(later), "the machine code is on disk"
    assert not announced(later, caplog)


def test_the_machine_code_of_another_kernel_does_not_count(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(source, "double")(4)
    assert announced(load(source, "triple"), caplog)


def test_said_again_after_the_source_has_changed(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(source)(4)
    source.write_text(f"{SOURCE}\n# changed")
    later = source.stat().st_mtime + 100  # older versions of Numba look at the time alone
    os.utime(source, (later, later))
    assert announced(load(source), caplog)


def test_a_full_disk_ends_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.FunctionCache, "save_overload", refuse)
    kernel = load(source)
    with caplog.at_level(logging.WARNING):
        assert kernel(4) == 8
        assert kernel(4.5) == 9.0
    (record,) = caplog.records
    assert "No space left" in record.getMessage()
    assert "NUMBA_CACHE_DIR" in record.getMessage()


def test_the_digest_is_that_of_the_names_and_contents_of_all_files_with_kernels(tmp_path: Path) -> None:
    def digest() -> str:
        sources_digest.cache_clear()
        return sources_digest(tmp_path)

    one, other = tmp_path / "one.py", tmp_path / "part" / "other.py"
    other.parent.mkdir()
    one.write_text(SOURCE)
    seen = {digest()}
    os.utime(one, (1, 1))
    (tmp_path / "without.py").write_text("no kernel")
    assert {digest()} == seen
    changes: list[Callable[[], object]] = [
        lambda: other.write_text(SOURCE),
        lambda: other.write_text(SOURCE.replace("2 * x", "x + x")),
        lambda: other.rename(tmp_path / "other.py"),
    ]
    for number, change in enumerate(changes, 2):
        change()
        seen.add(digest())
        assert len(seen) == number
    sources_digest.cache_clear()


# With other processes, in a copy of the package

CALLER = """
from daedal.compilation import njit
from daedal.called import value

@njit()
def doubled():
    return 2 * value()
"""

CALLED = """
from daedal.compilation import njit

@njit()
def value():
    return 1.5
"""

PROGRAM = """
import daedal
from daedal.caller import doubled
from daedal.compilation import announce

announce(doubled)
print(daedal.__file__, doubled())
"""

FIT = """
import hashlib
import numpy as np
import daedal

x = np.random.default_rng(0).integers(0, 2, (60, 16), dtype=np.uint8)
fitted = daedal.models.ECGA().fit(x, rng=np.random.default_rng(1))
print(daedal.__file__, hashlib.sha256(fitted.group.tobytes() + repr(fitted.info).encode()).hexdigest())
"""


class Package:
    """A copy of daedal that may be edited, and the processes that use it."""

    def __init__(self, folder: Path, cache_folder: Path | None = None, *, without: str = "__pycache__") -> None:
        self.folder = folder
        self.cache_folder = cache_folder
        ignore = shutil.ignore_patterns(without)
        shutil.copytree(Path(daedal.__file__).parent, self.sources, ignore=ignore)
        (self.sources / "caller.py").write_text(CALLER)
        (self.sources / "called.py").write_text(CALLED)

    @property
    def sources(self) -> Path:
        return self.folder / "daedal"

    def compiled(self) -> dict[str, tuple[int, int]]:
        """Return the files that Numba has written, with their age and size."""
        files = sorted((self.cache_folder or self.folder).rglob("*.nb[ic]"))
        return {file.name: (file.stat().st_mtime_ns, file.stat().st_size) for file in files}

    def run(self, program: str = PROGRAM, **settings: str) -> tuple[str, bool]:
        """Run a program; return what it prints below its own file, and whether it says that it compiles."""
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


@pytest.mark.parametrize("elsewhere", [False, True], ids=["next to the sources", "in NUMBA_CACHE_DIR"])
def test_a_function_changed_in_another_file_is_noticed(tmp_path: Path, elsewhere: bool) -> None:
    """Numba looks at the file of the kernel, and not at that of a kernel which it calls."""
    package = Package(tmp_path / "copy", tmp_path / "cache" if elsewhere else None)
    assert package.run() == ("3.0", True)
    first = package.compiled()
    assert any(name.startswith("caller.doubled-") for name in first)
    assert package.run() == ("3.0", False)
    assert package.compiled() == first  # unchanged sources: nothing is compiled or written

    (package.sources / "called.py").write_text(CALLED.replace("1.5", "0.5"))
    assert package.run() == ("1.0", True)
    assert set(package.compiled()) == set(first)
    assert package.compiled() != first


def test_the_process_that_compiles_computes_the_same_as_later_ones(tmp_path: Path) -> None:
    """A kernel has a copy of the kernels that it calls, or calls their own machine code, which may round otherwise."""
    package = Package(tmp_path / "copy")
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
    (package.sources / "__pycache__").write_text("where a folder should be")
    home = tmp_path / "home"
    home.touch()
    settings = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NUMBA_CACHE_DIR": str(home / "numba")}
    done = package.process(PROGRAM, PYTHONDONTWRITEBYTECODE="1", **settings)
    assert done.stdout.split()[1] == "3.0"
    (line,) = done.stderr.splitlines()
    assert "NUMBA_CACHE_DIR" in line


def test_damaged_machine_code_is_made_again(tmp_path: Path) -> None:
    package = Package(tmp_path / "copy")
    value, _ = package.run()
    for damage in (b"", b"garbled", b"\x80\x05]."):
        for file in package.folder.rglob("*.nb[ic]"):
            file.write_bytes(damage)
        assert package.run()[0] == value
    whole = package.compiled()
    assert package.run() == (value, False)
    assert package.compiled() == whole, "what was made again is kept"
