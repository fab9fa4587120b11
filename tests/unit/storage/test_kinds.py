"""Two options never name one file, and a file is known by its kind; what `replace_file` does with that: test_atomic."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from daedal.storage.kinds import Kind, check_apart, check_place
from daedal.studies.store import Store

BOTH = Kind("a letter", re.compile(rb"Dear "), end=re.compile(rb"Yours"))


@pytest.mark.parametrize(
    ("content", "owned"),
    [
        (b"", True),
        (b"Dear A, Yours, B", True),
        (b"Dear A" + bytes(10**6) + b"Yours", True),
        (b"Dear A", False),
        (b"Yours, dear ", False),
        (b"Dear A Yours" + bytes(10**6), False),
    ],
)
def test_a_kind_is_known_by_both_its_ends(tmp_path: Path, content: bytes, owned: bool) -> None:
    (tmp_path / "a").write_bytes(content)
    assert BOTH.owns(tmp_path / "a") is owned


@pytest.mark.parametrize(
    "other", ["a", "./a", "sub/../a", "soft", "hard", "folder/a", "a.previous", "a.lock", "a-wal", "a-shm", "a-journal"]
)
@pytest.mark.parametrize("exists", [True, False])
def test_two_names_of_one_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, exists: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "folder").symlink_to(".")
    (tmp_path / "soft").symlink_to("a")
    if exists or other == "hard":
        (tmp_path / "a").touch()
    if other == "hard":
        os.link("a", "hard")
    for one, second in (("a", other), (other, "a")):
        with pytest.raises(ValueError, match="--first and --third"):
            check_apart({"--first": one, "--second": None, "--third": Path(second)})
    check_apart({"--first": "a", "--second": "b", "--third": "a.txt", "--fourth": "sub/a"})


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_database_replaces_nothing_beside_it(tmp_path: Path, ending: str) -> None:
    beside = tmp_path / f"a.db{ending}"
    beside.write_text("mine")
    with pytest.raises(ValueError, match=re.escape(str(beside))):
        Store(tmp_path / "a.db")
    assert [path.name for path in tmp_path.iterdir()] == [beside.name]
    assert beside.read_text() == "mine"
    beside.unlink()
    with Store(tmp_path / "a.db"), Store(tmp_path / "a.db"):  # beside a journal in use
        pass


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/null"])
def test_what_stands_for_a_device_is_none_of_our_files(name: str) -> None:
    """Also where a plain file is behind it just now."""
    with pytest.raises(OSError, match="not a plain file"):
        check_place(name, BOTH)
