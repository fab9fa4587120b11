"""Files are read and replaced whole, and nothing that is of another kind is overwritten."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from daedal.storage.files import Kind, check_apart, check_place, read_plain_file, read_text_input, replace_file
from daedal.studies.store import Store

DIARY = Kind("a diary", re.compile(rb"\d"))
LETTER = Kind("a letter", re.compile(rb"Dear "), end=re.compile(rb"Yours"))
STEPS = ("fsync", "replace", "fsync")  # of a replacement, in their order


def put(path: Path, text: str) -> None:
    replace_file(path, lambda file: file.write(text.encode()), kind=DIARY)


def held(path: Path) -> dict[str, str]:
    """Return every file in the folder, drafts included."""
    return {place.name: place.read_text() for place in path.parent.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", ["1", None])
@pytest.mark.parametrize("step", range(3))
def test_a_fault_at_any_step_leaves_a_whole_file_and_no_draft(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: int, before: str | None, error: BaseException
) -> None:
    if before:
        put(path, before)
    made: list[str] = []

    def failing(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(*arguments: object) -> object:
            made.append(name)
            if len(made) == step + 1:
                raise error
            return real(*arguments)

        return call

    for name in {*STEPS}:
        monkeypatch.setattr(os, name, failing(name))
    with pytest.raises(type(error)) as caught:
        put(path, "2")
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f"cannot write a diary to {path}: No space left on device; make room")
        assert isinstance(caught.value, OSError)
        assert caught.value.errno == errno.ENOSPC
    assert tuple(made) == STEPS[: step + 1]
    assert held(path) == ({"a": "2"} if step == 2 else {"a": before} if before else {})


def test_a_fault_while_the_content_is_written(path: Path) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    put(path, "1")
    with pytest.raises(OSError, match=f"diary to {path}: No space left on device; make room"):
        replace_file(path, full, kind=DIARY)
    assert held(path) == {"a": "1"}


def test_folders_that_cannot_be_synced_are_no_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def sync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    put(path, "1")
    assert held(path) == {"a": "1"}


KILLED = """
import os, re, signal, sys
from pathlib import Path
from daedal.storage.files import Kind, replace_file

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

for name in ("fsync", "replace"):
    replace_file(sys.argv[1], lambda file: file.write(b"1" * 10**5), kind=Kind("a diary", re.compile(rb"\\d")))
    child = os.fork()
    if not child:
        setattr(os, name, killed)
        replace_file(sys.argv[1], lambda file: file.write(b"2" * 10**5), kind=Kind("a diary", re.compile(rb"\\d")))
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert Path(sys.argv[1]).read_bytes() == b"1" * 10**5
print("done")
"""


def test_a_process_that_is_killed_leaves_the_old_file(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_a_symbolic_link_is_replaced_and_its_file_left_alone(path: Path) -> None:
    put(path.with_name("real"), "1")
    path.symlink_to("real")
    put(path, "2")
    assert held(path) == {"a": "2", "real": "1"}


@pytest.mark.parametrize("content", [b"mine", b"PK\3\4", b"SQLite format 3\0", b"\x00"])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_of_another_kind_stays(path: Path, content: bytes, is_link: bool) -> None:
    other = path.with_name("other") if is_link else path
    other.write_bytes(content)
    if is_link:
        path.symlink_to("other")
    before = os.listdir(path.parent)
    with pytest.raises(FileExistsError, match=f"a diary to {re.escape(str(path))}: it holds something else"):
        put(path, "1")
    assert other.read_bytes() == content
    assert os.listdir(path.parent) == before


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
def test_a_kind_is_known_by_both_its_ends(path: Path, content: bytes, owned: bool) -> None:
    path.write_bytes(content)
    assert LETTER.owns(path) is owned


def test_the_umask_decides_who_may_read_and_private_files_stay_private(path: Path) -> None:
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
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(os.listdir(tmp_path))
    for place, kind, says in [
        (tmp_path, IsADirectoryError, "folder"),
        (tmp_path / "missing" / "a", FileNotFoundError, "no folder .*missing"),
        (tmp_path / "file" / "a", FileNotFoundError, "no folder .*file"),
        (tmp_path / "pipe", OSError, "not a plain file"),
        (Path("/dev/null"), OSError, "not a plain file"),
        (Path("/dev/stdout"), OSError, "not a plain file"),  # also if a plain file is behind it now
        (Path("/proc/self/fd/1"), OSError, "not a plain file"),
        (tmp_path / "dangling", OSError, "leads nowhere"),
        (tmp_path / "loop", OSError, "leads nowhere"),
        (tmp_path / ("x" * 250), OSError, "name too long"),
    ]:
        with pytest.raises(kind, match=says):
            put(place, "1")
    assert sorted(os.listdir(tmp_path)) == before
    check_place(tmp_path / "new", DIARY)


def test_a_folder_that_may_not_be_written(
    open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
) -> None:
    put(open_folder / "a", "1")
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(PermissionError, match=r"a diary .*Permission denied"):
        put(open_folder / "a", "2")
    assert held(open_folder / "a") == {"a": "1"}


@pytest.mark.parametrize("other", ["a", "./a", "sub/../a", "soft", "hard", "folder/a", "a-wal", "a-shm", "a-journal"])
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
        with pytest.raises(ValueError, match="--first and --third name the same file"):
            check_apart({"--first": one, "--second": None, "--third": Path(second)})
    check_apart({"--first": "a", "--second": "b", "--third": "a.txt", "--fourth": "sub/a"})


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_database_replaces_no_file_that_is_not_its_own(tmp_path: Path, ending: str) -> None:
    beside = tmp_path / f"a.db{ending}"
    beside.write_text("mine")
    with pytest.raises(ValueError, match=re.escape(str(beside))):
        Store(tmp_path / "a.db")
    assert held(beside) == {beside.name: "mine"}
    beside.unlink()
    with Store(tmp_path / "a.db"), Store(tmp_path / "a.db"):  # next to a journal in use
        pass


# ---------------------------------------------------------------- reading


def test_a_plain_file_is_read_whole_up_to_its_limit(path: Path) -> None:
    path.write_bytes(bytes(3_000_000))
    assert read_plain_file(path, "a diary", most=3_000_000) == bytes(3_000_000)
    with pytest.raises(ValueError, match="too large for a diary; the maximum is"):
        read_plain_file(path, "a diary", most=2_999_999)
    assert read_plain_file("/proc/self/cmdline", "a diary")  # which says that it is empty


def test_other_files_than_plain_ones_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    (tmp_path / "loop").symlink_to("loop")
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path, tmp_path / "loop", tmp_path / ("a" * 300), "nul\0"):
        with pytest.raises(ValueError, match="cannot read a diary"):
            read_plain_file(path, "a diary")
    with pytest.raises(FileNotFoundError, match=r"cannot read a diary: found nothing at .*none"):
        read_plain_file(tmp_path / "none", "a diary")


def test_text_may_come_from_standard_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not text"):
        read_text_input(path, "a diary")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Zürich".encode())))
    assert read_text_input(Path("-"), "a diary") == "Zürich"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(11))))
    with pytest.raises(ValueError, match="standard input is too large"):
        read_text_input("-", "a diary", most=10)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="closed"):
        read_text_input("-", "a diary")
