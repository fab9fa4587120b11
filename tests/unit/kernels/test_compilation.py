"""The warning that kernels are being compiled, when they have to be and only then; and what every kernel imports."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from daedal import kernels
from daedal.kernels.compilation import announce, is_compiled

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


def announced(kernel: Any, caplog: pytest.LogCaptureFixture) -> bool:
    caplog.clear()
    announce(kernel)
    assert [record.name for record in caplog.records] in ([], ["daedal"])
    return "compiling kernels" in caplog.text


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
    assert announced(load(source, "double_too"), caplog)


def test_said_again_after_the_source_has_changed(source: Path, caplog: pytest.LogCaptureFixture) -> None:
    load(source)(4)
    later = source.stat().st_mtime + 100
    os.utime(source, (later, later))
    assert announced(load(source), caplog)


def test_every_module_with_kernels_has_stale_machine_code_thrown_away_first() -> None:
    """All of them are there as well: a module that `kernels` does not name could not be used."""
    folder = Path(kernels.__file__).parent
    sources = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.stem != "__init__"}
    assert set(kernels.__all__) == set(sources)
    without = [name for name, text in sources.items() if "njit" in text and "daedal.kernels.compilation" not in text]
    assert without == ["compilation"]
