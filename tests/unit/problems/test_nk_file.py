"""NK files: round trips, the paper's file, and everything that can be wrong with one."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from daedal.problems import NK, read_nk, write_nk

GOOD = ["2 1", "0", "1", "1", "0", "0.1", "0.2", "0.3", "0.4", "1", "2e0", ".5", "-4.", "Optimum: 2.3"]


@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 2), (20, 4)])
def test_a_round_trip_is_exact(n: int, k: int, tmp_path: Path) -> None:
    problem = NK.random(n, k, seed=3)
    write_nk(problem, tmp_path / "a.nk")
    back = read_nk(tmp_path / "a.nk")
    assert np.array_equal(back.neighbors, problem.neighbors)
    assert np.array_equal(back.tables, problem.tables)
    assert back.known_optimum == problem.optimum
    assert os.listdir(tmp_path) == ["a.nk"]


def test_a_round_trip_without_an_optimum(tmp_path: Path) -> None:
    write_nk(NK.random(120, 6, seed=0), tmp_path / "a.nk")
    assert "Optimum" not in (tmp_path / "a.nk").read_text()
    assert read_nk(tmp_path / "a.nk").known_optimum is None


def test_writing_replaces_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.nk"
    write_nk(NK.random(3, 1, seed=0), path)
    before = path.read_text()

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_nk(NK.random(3, 1, seed=1), path)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["a.nk"]
    monkeypatch.undo()
    write_nk(NK.random(3, 1, seed=1), str(path))
    assert path.read_text() != before


def test_the_papers_file(data_dir: Path) -> None:
    problem = read_nk(data_dir / "nk" / "nk_30_4.1")
    assert (problem.n, problem.k) == (30, 4)
    assert problem.neighbors[0].tolist() == [0, 8, 12, 20, 21]
    assert problem.tables[0, 1] == 0.690885
    assert problem.tables[-1, -1] == 0.478072
    assert problem.known_optimum == pytest.approx(23.107466, abs=1e-6)


@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_do_not_matter(end: str, newline: str, tmp_path: Path) -> None:
    (tmp_path / "a.nk").write_bytes((newline.join(GOOD) + end).encode())
    problem = read_nk(tmp_path / "a.nk")
    assert problem.tables.tolist() == [[0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 0.5, -4.0]]
    assert problem.neighbors.tolist() == [[0, 1], [1, 0]]
    assert problem.known_optimum == 2.3


def changed(line: int, text: str) -> bytes:
    lines = GOOD.copy()
    lines[line - 1] = text
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"", 1, "empty"),
        (b"\n \n", 1, "empty"),
        (changed(1, "2"), 1, "whole numbers, got '2'"),
        (changed(1, "2 1 0"), 1, "got '2 1 0'"),
        (changed(1, "2 -1"), 1, "got '2 -1'"),
        (changed(1, "2.0 1"), 1, "two whole numbers, got '2.0 1'"),
        (changed(1, "0 0"), 1, "k < n, got '0 0'"),
        (changed(1, "2 2"), 1, "k < n, got '2 2'"),
        (changed(1, "1000000000000 1"), 1, "4 GiB, got n=1000000000000, k=1"),
        (changed(1, "1000000000000 100000000000"), 1, "4 GiB"),
        (changed(1, "9" * 5000 + " 1"), 1, r"two whole numbers, got '9{37}\.\.\.'"),
        (changed(1, "1000 10"), 14, "2058988 more numbers"),
        (changed(1, "2 0"), 8, "the end .* got '0.3'"),
        ("\n".join(GOOD[:9]).encode(), 10, "4 more numbers"),
        ("\n".join(GOOD[:3]).encode(), 4, "10 more numbers"),
        ("\n".join([*GOOD[:9], GOOD[-1]]).encode(), 10, "4 more numbers"),
        (changed(3, "2"), 3, r"0\.\.1, got '2'"),
        (changed(3, "-1"), 3, r"0\.\.1, got '-1'"),
        (changed(3, "1.0"), 3, r"0\.\.1, got '1.0'"),
        (changed(4, "0"), 4, r"different .*got \[0, 0\]"),
        (changed(7, "abc"), 7, "finite number, got 'abc'"),
        (changed(7, ""), 7, "finite number, got ''"),
        (changed(7, "0.1 0.2"), 7, "finite number, got '0.1 0.2'"),
        (changed(7, "1_0"), 7, "finite number, got '1_0'"),
        (changed(7, "nan"), 7, "finite number, got 'nan'"),
        (changed(7, "1e999"), 7, "finite number, got '1e999'"),
        (changed(14, "Optimum: inf"), 14, "finite number, got 'inf'"),
        (changed(14, "Optimum:"), 14, "finite number, got ''"),
        (changed(14, "Optim"), 14, "the end .* got 'Optim'"),
        ("\n".join([*GOOD, "more"]).encode(), 14, "the end .* got 'Optimum: 2.3'"),
        ("\n".join([*GOOD, "Optimum: 2"]).encode(), 14, "the end"),
        (b"2 1\n0\n\xff\xfe\n", 3, "0xff"),
        (bytes(range(256)), None, "line"),
        (b"\x7fELF" + bytes(100), 1, "two whole numbers"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_bad_file_is_refused_with_its_line(content: bytes, line: int | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.nk"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says) as caught:
        read_nk(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {'' if line is None else f'{line}: '}")
    assert "\n" not in message


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected an NK file at .*none\.nk, found nothing there"):
        read_nk(tmp_path / "none.nk")
    with pytest.raises(ValueError, match="not a plain file"):
        read_nk(tmp_path)
    with pytest.raises(ValueError, match="could not read it: File name too long"):
        read_nk(tmp_path / ("a" * 5000))
