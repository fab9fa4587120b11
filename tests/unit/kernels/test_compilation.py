"""The line that says that kernels are being compiled: when it has to be, and only then."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from daedal.kernels import dae as kernels
from daedal.kernels.compilation import announce
from daedal.kernels.numba_cache import is_compiled

SOURCE = """
from numba import njit

@njit(cache=True)
def double(x):
    return 2 * x

@njit(cache=True)
def double_too(x):
    return 2 * x
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    path = tmp_path / "fresh_kernel.py"
    path.write_text(SOURCE)
    return path


def load(source: Path, kernel: str = "double") -> Any:
    """Import the module as a new process would, with nothing compiled in memory."""
    spec = importlib.util.spec_from_file_location("fresh_kernel", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


def announced(kernel: Any, capsys: pytest.CaptureFixture[str]) -> list[str]:
    announce(kernel)
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


def test_said_before_the_first_compilation_and_never_after(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = load(source)
    lines = announced(kernel, capsys)
    assert len(lines) == 1
    assert lines[0].startswith("compiling kernels, once")
    assert kernel(4) == 8
    assert announced(kernel, capsys) == []


def test_not_said_where_the_machine_code_is_on_disk(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(source)(4)
    later = load(source)
    assert not later.signatures
    assert is_compiled(later)
    assert announced(later, capsys) == []


def test_the_machine_code_of_another_kernel_does_not_count(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(source, "double")(4)
    assert len(announced(load(source, "double_too"), capsys)) == 1
    load(source, "double_too")(4)
    assert announced(load(source, "double_too"), capsys) == []


def test_said_again_after_the_source_has_changed(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(source)(4)
    later = source.stat().st_mtime + 100
    os.utime(source, (later, later))
    assert len(announced(load(source), capsys)) == 1


def test_asking_does_not_compile(source: Path) -> None:
    kernel = load(source)
    assert not is_compiled(kernel)
    assert not kernel.signatures


def test_a_kernel_of_daedal_once_it_has_run(capsys: pytest.CaptureFixture[str]) -> None:
    workspace = kernels.make_workspace(3, 3, 2, 0.1)
    kernels.activate(workspace.hiddens, 3, workspace.live_hidden)
    assert announced(kernels.activate, capsys) == []
