"""Two options never name one file, and a file is known by its kind; what `replace_file` does with that: test_atomic."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from daedal.storage.checkpoint_file import CHECKPOINT

from daedal.storage.kinds import Kind, check_apart, check_place
from daedal.storage.sqlite import open_database
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


@pytest.mark.parametrize("ending", ["-wal", "-journal", "-shm"])
def test_a_database_replaces_nothing_beside_it(tmp_path: Path, ending: str) -> None:
    """Of a "-shm" only that it is a file can be checked: to open it would end the locks of this process."""
    kind = {"application": 7, "version": 1, "schema": "CREATE TABLE a (b);", "what": "a diary"}
    beside = tmp_path / f"a.db{ending}"
    beside.mkdir() if ending == "-shm" else beside.write_text("mine")
    with pytest.raises(ValueError, match=re.escape(str(beside))):
        open_database(tmp_path / "a.db", **kind)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == [beside.name]
    beside.rmdir() if ending == "-shm" else beside.unlink()
    one = open_database(tmp_path / "a.db", **kind)  # type: ignore[arg-type]
    one.execute("INSERT INTO a VALUES (1)")
    open_database(tmp_path / "a.db", **kind).close()  # type: ignore[arg-type]  # beside a journal in use
    one.close()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/null"])
def test_what_stands_for_a_device_is_none_of_our_files(name: str) -> None:
    """Also where a plain file is behind it just now."""
    with pytest.raises(OSError, match="not a plain file"):
        check_place(name, CHECKPOINT)
    with pytest.raises(ValueError, match="not a file"):
        Store(name)
