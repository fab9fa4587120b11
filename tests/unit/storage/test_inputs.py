"""Only plain files are read, and no more of them than there can be."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from daedal.storage.inputs import read_plain_file, read_text_input


def test_a_plain_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(3_000_000))
    assert read_plain_file(path, "a diary", most=3_000_000) == bytes(3_000_000)
    with pytest.raises(ValueError, match=r"too large for a diary; the maximum is"):
        read_plain_file(path, "a diary", most=2_999_999)
    assert read_plain_file("/proc/self/cmdline", "a diary")  # which says that it is empty


def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    (tmp_path / "loop").symlink_to("loop")
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path, tmp_path / "loop", tmp_path / ("a" * 300), "nul\0"):
        with pytest.raises(ValueError, match="cannot read a diary"):
            read_plain_file(path, "a diary")
    with pytest.raises(FileNotFoundError, match=r"cannot read a diary: found nothing at .*none"):
        read_plain_file(tmp_path / "none", "a diary")


def test_text_may_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="is not text"):
        read_text_input(tmp_path / "a", "a diary")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Zürich".encode())))
    assert read_text_input(Path("-"), "a diary") == "Zürich"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(11))))
    with pytest.raises(ValueError, match="standard input is too large"):
        read_text_input("-", "a diary", most=10)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="closed"):
        read_text_input("-", "a diary")
