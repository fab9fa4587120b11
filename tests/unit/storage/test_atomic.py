"""Replacing a file: the old one or the new one is there, whole, whichever step fails; nothing else is left behind."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from daedal.storage.atomic import previous_path, replace_file
from daedal.storage.kinds import Kind

DIARY = Kind("a diary", re.compile(rb"\d"))


class Failing:
    """The system, of which one call fails, and which may have no links."""

    def __init__(self, at: int = -1, error: BaseException | None = None, *, links: bool = True) -> None:
        self.at, self.error, self.links = at, error, links
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name == "link" and not self.links:
            return self._fail(OSError(errno.EPERM, "no links here"))
        if len(self.made) == self.at and self.error:
            self.at = -1
            return self._fail(self.error)
        self.made.append(name)
        return getattr(os, name)

    @staticmethod
    def _fail(error: BaseException) -> Callable[..., None]:
        def call(*_: object) -> None:
            raise error

        return call


def put(path: Path, text: str, *, keep: bool = True, system: Failing | None = None) -> None:
    replace_file(
        path, lambda file: file.write(text.encode()), kind=DIARY, keep_previous=keep, system=system or Failing()
    )


def held(path: Path) -> dict[str, str]:
    """Give every file in the folder, drafts too."""
    return {place.name: place.read_text() for place in path.parent.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a"


@pytest.mark.parametrize("links", [True, False])
def test_the_predecessor_is_kept_where_it_is_wanted(path: Path, links: bool) -> None:
    put(path, "1", system=Failing(links=links))
    assert held(path) == {"a": "1"}
    for number in (2, 3):
        put(path, str(number), system=Failing(links=links))
        assert held(path) == {"a": str(number), "a.previous": str(number - 1)}
    put(path, "4", keep=False, system=Failing(links=links))
    assert held(path) == {"a": "4", "a.previous": "2"}


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("links", [True, False])
def test_a_fault_at_any_step_leaves_whole_files_and_no_draft(path: Path, links: bool, error: BaseException) -> None:
    counted = Failing(links=links)
    put(path, "1")
    put(path, "2", system=counted)
    assert len(counted.made) == 5
    for at in range(len(counted.made)):
        put(path, "1")
        put(path, "2")
        system = Failing(at, error, links=links)
        if links and at == 1 and isinstance(error, OSError):
            put(path, "3", system=system)  # Without the link, it is copied.
        else:
            with pytest.raises(type(error)) as caught:
                put(path, "3", system=system)
            if isinstance(error, OSError):
                assert "a diary" in str(caught.value)
                assert str(path) in str(caught.value)
                assert isinstance(caught.value, OSError)
                assert caught.value.errno == errno.EIO
        now = {0: ("2", "1"), 1: ("3", "1"), 2: ("3", "2")}[system.made.count("replace")]
        assert held(path) == dict(zip(("a", "a.previous"), now, strict=True))


def test_a_fault_at_the_first_write(path: Path) -> None:
    for at in range(3):  # fsync, replace, fsync of the folder
        system = Failing(at, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(OSError, match="No space left"):
            put(path, "1", system=system)
        assert held(path) == ({"a": "1"} if "replace" in system.made else {})
        path.unlink(missing_ok=True)


def test_a_fault_while_the_content_is_written(path: Path) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    put(path, "1")
    with pytest.raises(OSError, match=f"diary to {path}: No space left on device; make room"):
        replace_file(path, full, kind=DIARY)
    assert held(path) == {"a": "1"}


def test_folders_that_cannot_be_synced_are_no_fault(path: Path) -> None:
    put(path, "1", system=Failing(2, OSError(errno.EINVAL, "Invalid argument")))
    assert held(path) == {"a": "1"}


KILLED = """
import os, re, signal, sys
from pathlib import Path
from daedal.storage.atomic import replace_file
from daedal.storage.kinds import Kind

DIARY = Kind("a diary", re.compile(rb"\\d"))

class Deadly:
    def __init__(self, at):
        self.at = at

    def __getattr__(self, name):
        if not self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.at -= 1
        return getattr(os, name)

path = Path(sys.argv[1])
for at in range(5):
    for text in (b"1" * 10**5, b"2" * 10**5):
        replace_file(path, lambda file: file.write(text), kind=DIARY, keep_previous=True)
    child = os.fork()
    if not child:
        replace_file(path, lambda file: file.write(b"3" * 10**5), kind=DIARY, keep_previous=True, system=Deadly(at))
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    files = [path, path.with_name("a.previous")]
    assert all(len(set(place.read_bytes())) == 1 and place.stat().st_size == 10**5 for place in files)
    print(*(place.read_text()[0] for place in files))
"""


def test_a_process_killed_at_any_step_leaves_two_whole_files(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["2 1", "2 1", "2 1", "3 1", "3 2"], done.stderr


def test_file_and_predecessor_that_are_one_file(path: Path) -> None:
    put(path, "1")
    os.link(path, previous_path(path))
    put(path, "2")
    assert held(path) == {"a": "2", "a.previous": "1"}


def test_a_symbolic_link_is_replaced_and_its_file_left_alone(path: Path) -> None:
    put(path.with_name("real"), "1")
    path.symlink_to("real")
    put(path, "2")
    assert held(path) == {"a": "2", "a.previous": "1", "real": "1"}


@pytest.mark.parametrize("content", [b"mine", b"PK\3\4", b"SQLite format 3\0", b"\x00"])
@pytest.mark.parametrize("through", ["name", "link", "previous"])
def test_what_is_of_another_kind_stays_as_it_is(path: Path, content: bytes, through: str) -> None:
    other = previous_path(path) if through == "previous" else path.with_name("other") if through == "link" else path
    other.write_bytes(content)
    if through == "link":
        path.symlink_to("other")
    before = os.listdir(path.parent)
    with pytest.raises(FileExistsError, match=f"a diary .*{re.escape(str(path))}"):
        put(path, "1")
    assert other.read_bytes() == content
    assert os.listdir(path.parent) == before


def test_an_empty_file_is_nobodys(path: Path) -> None:
    path.touch()
    put(path, "1", keep=False)
    assert held(path) == {"a": "1"}


def test_the_umask_decides_who_may_read_and_what_was_private_stays_so(path: Path) -> None:
    for mask, mode in [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)]:
        path.unlink(missing_ok=True)
        before = os.umask(mask)
        try:
            put(path, "1")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o640)
    put(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "blocked.previous").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(os.listdir(tmp_path))
    for place, kind, says in [
        (tmp_path, IsADirectoryError, "folder"),
        (tmp_path / "blocked", IsADirectoryError, "blocked.previous"),
        (tmp_path / "missing" / "a", FileNotFoundError, "no folder .*missing"),
        (tmp_path / "file" / "a", FileNotFoundError, "no folder .*file"),
        (tmp_path / "pipe", OSError, "not a plain file"),
        (Path("/dev/null"), OSError, "not a plain file"),
        (tmp_path / "dangling", OSError, "leads nowhere"),
        (tmp_path / "loop", OSError, "leads nowhere"),
        (tmp_path / ("x" * 250), OSError, "name too long"),
    ]:
        with pytest.raises(kind, match=says):
            put(place, "1")
    assert sorted(os.listdir(tmp_path)) == before


def test_a_folder_that_may_not_be_written(
    open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
) -> None:
    put(open_folder / "a", "1")
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(PermissionError, match=r"a diary .*Permission denied"):
        put(open_folder / "a", "2")
    assert held(open_folder / "a") == {"a": "1"}
