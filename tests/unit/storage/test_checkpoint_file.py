"""Arrays and fields in one file: what goes in comes out, what is damaged is told, what is there is never lost."""

from __future__ import annotations

import builtins
import copy
import errno
import hashlib
import json
import math
import os
import pickle
import random
import re
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from daedal.settings import checks
from daedal.storage import checkpoint_file as container
from daedal.storage.atomic import previous_path
from daedal.storage.checkpoint_file import CheckpointError, read_checkpoint_file, write_checkpoint_file
from daedal.types import Json

Content = tuple[dict[str, NDArray[Any]], dict[str, Json]]

DTYPES = ["bool", *(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)), "float32", "float64"]
START = 60


def same(one: Content, other: Content) -> bool:
    """Equal to the bit: arrays with their types, fields with the signs of zeros and the kinds of numbers."""
    (arrays, fields), (other_arrays, other_fields) = one, other
    return (
        list(arrays) == list(other_arrays)
        and all(
            a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            for a, b in zip(arrays.values(), other_arrays.values(), strict=True)
        )
        and repr(fields) == repr(other_fields)
    )


def sealed(header: bytes, payload: bytes = b"", *, version: int = 1) -> bytes:
    """Build a file under a right checksum, by the words of the format and not by its code."""
    front = struct.pack("<8sIQQ", b"DAEDAL\r\n", version, len(header), len(payload))
    return front + hashlib.sha256(front + header + payload).digest() + header + payload


def opened(data: bytes) -> tuple[Any, bytes]:
    length = int.from_bytes(data[12:20], "little")
    return json.loads(data[START : START + length]), data[START + length :]


def example() -> Content:
    rng = np.random.default_rng(1)
    arrays: dict[str, NDArray[Any]] = {
        "best": rng.integers(0, 2, 40).astype(np.uint8),
        "weights": rng.normal(size=(8, 12)),
        "bias": rng.normal(size=12).astype(np.float32),
        "mask": np.array([[True, False], [False, True]]),
        "nothing": np.empty((0, 3), dtype=np.int16),
        "count": np.array(7, dtype=np.int64),
    }
    fields: dict[str, Json] = {
        "algorithm": "dae",
        "seed": 2**100,
        "history": [{"generation": g, "best": g / 3, "error": None} for g in range(10)],
        "worst": -math.inf,
        "name": "Dädalus",
    }
    return arrays, fields


def put(path: Path, number: int) -> None:
    write_checkpoint_file(path, arrays={"a": np.full(500, number)}, fields={"number": number})


def number_in(path: Path) -> int:
    arrays, fields = read_checkpoint_file(path)
    number = fields["number"]
    assert isinstance(number, int)
    assert arrays["a"].tolist() == [number] * 500
    return number


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


# Round trips.

TREES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**3000), 2**3000)
    | st.floats()
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=10,
)
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)


@settings(max_examples=150, deadline=None)
@given(arrays=st.dictionaries(st.text(), ARRAYS, max_size=4), fields=st.dictionaries(st.text(), TREES, max_size=4))
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, NDArray[Any]], fields: dict[str, Json]
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.ckpt"
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    back = read_checkpoint_file(path)
    assert same(back, (arrays, fields))
    for array in back[0].values():
        assert array.flags.writeable
        assert array.flags.owndata
        assert array.flags.c_contiguous
        assert array.dtype.isnative


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (0, 2**40), (1,), (7,), (3, 0, 2), (2, 3, 4), (1,) * 32])
def test_every_type_in_every_shape(path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    write_checkpoint_file(path, arrays={"a": array}, fields={})
    assert same(read_checkpoint_file(path), ({"a": array}, {}))


def test_arrays_that_do_not_lie_in_c_order(path: Path) -> None:
    whole = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    arrays = {
        "fortran": np.asfortranarray(whole),
        "turned": whole.T,
        "steps": whole[::-2, 1::2, ::-1],
        "spread": np.broadcast_to(whole[0, 0], (6, 5)),
        "locked": whole[1],
    }
    arrays["locked"].setflags(write=False)
    write_checkpoint_file(path, arrays=arrays, fields={})
    assert same(read_checkpoint_file(path), (arrays, {}))


def test_little_endian_is_stored_whatever_the_machine_is(path: Path) -> None:
    write_checkpoint_file(path, arrays={"a": np.array([1, 2], "<u4"), "b": np.array([True])}, fields={"x": 1})
    header, payload = opened(path.read_bytes())
    assert payload == b"\1\0\0\0\2\0\0\0\1"
    assert header == {
        "fields": {"x": 1},
        "arrays": [
            {"name": "a", "dtype": "<u4", "shape": [2], "offset": 0, "length": 8},
            {"name": "b", "dtype": "|b1", "shape": [1], "offset": 8, "length": 1},
        ],
    }
    assert sealed(path.read_bytes()[START:-9], payload) == path.read_bytes()


def test_bools_come_back_as_zero_and_one(path: Path) -> None:
    write_checkpoint_file(path, arrays={"a": np.array([0, 1, 2, 255], np.uint8).view(np.bool_)}, fields={})
    assert read_checkpoint_file(path)[0]["a"].tobytes() == b"\0\1\1\1"


def test_numbers_that_json_alone_does_not_hold(path: Path) -> None:
    fields: dict[str, Json] = {"a": math.inf, "b": -math.inf, "c": math.nan, "d": -0.0, "e": 5e-324, "f": -(2**4000)}
    write_checkpoint_file(path, arrays={}, fields=fields)
    assert repr(read_checkpoint_file(path)[1]) == repr(fields)


def test_names_of_files_that_are_not_utf_8(path: Path) -> None:
    fields: dict[str, Json] = {os.fsdecode(b"\xff.nk"): "\ud83d\ude00 \U0001f600 \0"}
    write_checkpoint_file(path, arrays={}, fields=fields)
    assert read_checkpoint_file(path)[1] == fields


def test_a_plain_string_is_a_path(path: Path) -> None:
    put(path, 1)
    assert same(read_checkpoint_file(str(path)), read_checkpoint_file(path))
    assert previous_path(str(path)) == path.with_name("run.ckpt.previous")


def test_the_umask_decides_who_may_read(path: Path) -> None:
    for mask, mode in [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)]:
        before = os.umask(mask)
        try:
            put(path, 1)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == mode


# What is refused before anything is written.


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()], dtype=object),
        np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
        np.array(["text"]),
        np.array([b"bytes"]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=np.complex128),
        np.zeros(2, dtype=np.float16),
        np.zeros(2, dtype=">f8" if sys.byteorder == "little" else ">V8"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_arrays_of_other_types_are_refused(path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(TypeError, match=r"^expected an array of bool, .* as 'x', .* got dtype="):
        write_checkpoint_file(path, arrays={"x": array}, fields={})
    assert not path.exists()


@pytest.mark.parametrize(
    ("arrays", "fields", "sentence"),
    [
        ({"x": [1, 2]}, {}, "expected an array as 'x', got list"),
        ({3: np.zeros(1)}, {}, "expected the names of arrays as str, got 3"),
        ({}, {3: 1}, "expected the keys of fields as str, got 3"),
        ({}, {"a": [{None: 1}]}, r"expected the keys of fields\['a'\]\[0\] as str, got None"),
        ({}, {"a": (1, 2)}, r"expected None, bool, .* as fields\['a'\], got tuple"),
        ({}, {"a": [0, np.int64(3)]}, r"expected None, bool, .* as fields\['a'\]\[1\], got int64"),
        ({}, {"a": {1, 2}}, r"as fields\['a'\], got set"),
    ],
)
def test_fields_that_would_not_come_back_are_refused(path: Path, arrays: Any, fields: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        write_checkpoint_file(path, arrays=arrays, fields=fields)
    assert not path.exists()


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


def test_depth_has_the_same_limit_on_both_ways(path: Path) -> None:
    write_checkpoint_file(path, arrays={}, fields={"a": nested(61), "b": "[" * 1000 + '\\"' + "{" * 1000})
    assert read_checkpoint_file(path)[1]["a"] == nested(61)
    endless: list[Json] = []
    endless.append(endless)
    for value in (nested(63), nested(1000), endless):
        with pytest.raises(ValueError, match="expected fields of at most 64 levels, got more in fields"):
            write_checkpoint_file(path, arrays={}, fields={"a": value})


def test_other_limits(path: Path) -> None:
    with pytest.raises(ValueError, match="digits"):
        write_checkpoint_file(path, arrays={}, fields={"a": 10**5000})
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="expected at most 32 dimensions as 'x', got 33"):
            write_checkpoint_file(path, arrays={"x": np.zeros((1,) * 33)}, fields={})
    assert not path.exists()


# The predecessor, and writing as a whole.


def test_the_predecessor_is_kept(path: Path) -> None:
    put(path, 1)
    assert os.listdir(path.parent) == ["run.ckpt"]
    for number in (2, 3, 4):
        put(path, number)
        assert (number_in(path), number_in(previous_path(path))) == (number, number - 1)
        assert sorted(os.listdir(path.parent)) == ["run.ckpt", "run.ckpt.previous"]


@pytest.mark.parametrize("error", [OSError(errno.EPERM, "no links here"), NotImplementedError()])
def test_the_predecessor_is_kept_without_links(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    put(path, 1)
    monkeypatch.setattr(os, "link", failing(error))
    put(path, 2)
    put(path, 3)
    assert (number_in(path), number_in(previous_path(path))) == (3, 2)
    assert len(os.listdir(path.parent)) == 2


def test_file_and_predecessor_that_are_one_file(path: Path) -> None:
    put(path, 1)
    os.link(path, previous_path(path))
    put(path, 2)
    assert (number_in(path), number_in(previous_path(path))) == (2, 1)
    assert len(os.listdir(path.parent)) == 2


def test_a_symbolic_link_is_replaced_and_its_file_left_alone(path: Path) -> None:
    real = path.with_name("real.ckpt")
    put(real, 1)
    path.symlink_to(real.name)
    put(path, 2)
    assert (number_in(real), number_in(path), number_in(previous_path(path))) == (1, 2, 1)


def failing(error: BaseException, *, after: int = 0, act: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Give a function that does its work (`act`) a number of times, and then fails for ever."""
    calls = iter(range(after))

    def function(*args: Any, **kwargs: Any) -> Any:
        if next(calls, None) is None:
            raise error
        assert act is not None
        return act(*args, **kwargs)

    return function


STEPS = [("fsync", 0), ("replace", 0), ("replace", 1), ("fsync", 1), ("open", 0)]


@pytest.mark.parametrize(
    ("links", "name", "after"), [(links, *step) for links in (True, False) for step in STEPS] + [(False, "fsync", 2)]
)
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_a_fault_at_any_step_leaves_a_whole_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, links: bool, name: str, after: int, error: BaseException
) -> None:
    put(path, 1)
    put(path, 2)
    with monkeypatch.context() as patch:
        if not links:
            patch.setattr(os, "link", failing(OSError(errno.EPERM, "no links here")))
        patch.setattr(os, name, failing(error, after=after, act=getattr(os, name)))
        sentence = r"^cannot write a checkpoint to .*run\.ckpt: Input/output error; make room or name another place$"
        with pytest.raises(type(error), match=sentence if isinstance(error, OSError) else "^$") as caught:
            put(path, 3)
    if isinstance(error, OSError):
        assert isinstance(caught.value, OSError)
        assert caught.value.errno == errno.EIO
    assert sorted(os.listdir(path.parent)) == ["run.ckpt", "run.ckpt.previous"]
    early = [("fsync", 0), ("replace", 0)] if links else [("fsync", 0), ("fsync", 1), ("replace", 0)]
    replaced = (name, after) not in early
    assert number_in(path) == (3 if replaced else 2)
    assert number_in(previous_path(path)) == (2 if replaced and name != "replace" else 1)
    put(path, 4)
    assert number_in(path) == 4


@pytest.mark.parametrize(("name", "after"), STEPS)
def test_a_fault_at_the_first_write(path: Path, monkeypatch: pytest.MonkeyPatch, name: str, after: int) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(OSError(errno.EIO, "Input/output error"), after=after, act=getattr(os, name)))
        if (name, after) == ("replace", 1):  # There is no predecessor to move.
            put(path, 1)
        else:
            with pytest.raises(OSError, match="Input/output error"):
                put(path, 1)
    assert os.listdir(path.parent) == ([] if (name, after) in [("fsync", 0), ("replace", 0)] else ["run.ckpt"])


def test_while_a_damaged_file_is_replaced_its_predecessor_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, 1)
    put(path, 2)
    path.write_bytes(path.read_bytes()[:-1])
    act, seen = os.replace, []

    def watched(source: Path, target: Path) -> None:
        act(source, target)
        seen.append([place.name for place in (path, previous_path(path)) if whole(place)])

    monkeypatch.setattr(os, "replace", watched)
    put(path, 3)
    assert seen == [["run.ckpt", "run.ckpt.previous"], ["run.ckpt"]]


def whole(path: Path) -> bool:
    try:
        read_checkpoint_file(path)
    except CheckpointError:
        return False
    return True


def test_folders_that_cannot_be_synced_are_no_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing(OSError(errno.EINVAL, "Invalid argument"), after=1, act=os.fsync))
    put(path, 1)
    assert number_in(path) == 1


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from daedal.storage.checkpoint_file import read_checkpoint_file, write_checkpoint_file
from daedal.storage.atomic import previous_path

path, rng = Path(sys.argv[1]), random.Random(7)

def put(number):
    write_checkpoint_file(path, arrays={"a": np.full(50_000, number)}, fields={"number": number})

put(0)
put(1)
reached = 1
for turn in range(20):
    before = os.stat(path).st_mtime_ns
    child = os.fork()
    if not child:
        number = reached
        while True:
            number += 1
            put(number)
    while turn % 2 and os.stat(path).st_mtime_ns == before:  # Every other child gets through a whole write at least.
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    numbers = []
    for place in (path, previous_path(path)):
        arrays, fields = read_checkpoint_file(place)
        assert (arrays["a"] == fields["number"]).all() and arrays["a"].shape == (50_000,)
        numbers.append(fields["number"])
    assert numbers[0] >= reached and 1 <= numbers[0] - numbers[1] <= 2, (reached, numbers)
    reached = numbers[0]
    for name in os.listdir(path.parent):
        if name.startswith("."):
            os.unlink(path.parent / name)
    put(reached := reached + 1)
print(reached)
"""


def test_a_killed_process_leaves_two_whole_files(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 1 + 20 + 10  # The first, those between the kills, those of the children.


# Places that cannot be written.

TOO_LARGE = """
import resource, sys
import numpy as np
from daedal.storage.checkpoint_file import write_checkpoint_file

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for length in (10**3, 10**5):
    try:
        write_checkpoint_file(sys.argv[1], arrays={"a": np.full(length, 2)}, fields={})
    except OSError as error:
        print(error)
"""


def test_a_disk_that_is_full(path: Path) -> None:
    put(path, 1)
    done = subprocess.run([sys.executable, "-c", TOO_LARGE, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write a checkpoint to {path}: File too large; make room or name another place\n"
    assert read_checkpoint_file(path)[0]["a"].tolist() == [2] * 1000
    assert number_in(previous_path(path)) == 1
    assert len(os.listdir(path.parent)) == 2


def test_a_disk_that_fills_up_while_the_predecessor_is_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, 1)
    put(path, 2)
    full = OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", failing(OSError(errno.EPERM, "no links here")))
        patch.setattr(shutil, "copyfileobj", failing(full))
        with pytest.raises(OSError, match=r"run\.ckpt: No space left on device; make room") as caught:
            put(path, 3)
    assert caught.value.errno == errno.ENOSPC
    assert (number_in(path), number_in(previous_path(path))) == (2, 1)
    assert len(os.listdir(path.parent)) == 2


def test_a_folder_that_may_not_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, 1)
    with monkeypatch.context() as patch:  # By hand, since nothing is forbidden to root.
        patch.setattr(Path, "open", failing(PermissionError(errno.EACCES, "Permission denied")))
        with pytest.raises(
            PermissionError, match=r"^cannot write a study to .*run\.ckpt: Permission denied; make room"
        ):
            write_checkpoint_file(path, arrays={}, fields={}, what="a study")
        with pytest.raises(PermissionError, match=r"^cannot read a study from .*run\.ckpt: Permission denied$"):
            read_checkpoint_file(path, what="a study")
    assert number_in(path) == 1


def test_places_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(
        IsADirectoryError, match=rf"^expected a file to write a checkpoint to, got the folder {tmp_path}$"
    ):
        put(tmp_path, 1)
    with pytest.raises(FileNotFoundError, match=r"but there is no folder .*missing; make it first$"):
        put(tmp_path / "missing" / "run.ckpt", 1)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileNotFoundError, match=r"but there is no folder .*file; make it first$"):
        put(tmp_path / "file" / "run.ckpt", 1)
    (tmp_path / "blocked.previous").mkdir()
    with pytest.raises(IsADirectoryError, match=r"got the folder .*blocked\.previous$"):
        put(tmp_path / "blocked", 1)
    with pytest.raises(OSError, match=r"got /dev/null, which is not a plain file$"):
        put(Path("/dev/null"), 1)
    with pytest.raises(OSError, match=r": File name too long; make room or name another place$"):
        put(tmp_path / ("x" * 250), 1)
    assert sorted(os.listdir(tmp_path)) == ["blocked.previous", "file"]


# Reading: each fault has its sentence.


def told(path: Path, **what: str) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint_file(path, **what)
    return str(caught.value).replace(f"{path.parent}{os.sep}", "")


def test_nothing_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^expected a checkpoint at .*, found nothing there; check the name$"):
        read_checkpoint_file(path)
    put(path, 1)
    put(path, 2)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"nothing there; the one before it is at .*run\.ckpt\.previous$"):
        read_checkpoint_file(path)


def test_not_a_file(path: Path) -> None:
    path.mkdir()
    assert told(path) == "expected a checkpoint at run.ckpt, found something that is not a file"
    path.rmdir()
    os.mkfifo(path)
    assert told(path, what="a study") == "expected a study at run.ckpt, found something that is not a file"


ANEW = "copy it again or start anew"
AS_TEXT = "is damaged: a copy took it for text and changed its line ends; copy it again as binary"
FAULTS: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda data: b"", "is not a checkpoint of daedal: it is empty; name a file that daedal wrote"),
    (
        "foreign",
        lambda data: b"PK\3\4",
        r"is not a checkpoint of daedal: it begins with b'PK\x03\x04'; name a file that daedal wrote",
    ),
    ("text to Unix", lambda data: data.replace(b"\r\n", b"\n"), AS_TEXT),
    ("text to Windows", lambda data: data.replace(b"\n", b"\r\n"), AS_TEXT),
    ("mark", lambda data: data[:6], f"is cut short: 6 bytes, and the front alone takes 60; {ANEW}"),
    ("front", lambda data: data[:59], f"is cut short: 59 bytes, and the front alone takes 60; {ANEW}"),
    ("cut", lambda data: data[:1200], f"is cut short: 1200 of 4160 bytes; {ANEW}"),
    ("longer", lambda data: data + b"more", f"is damaged: 4164 bytes, where 4160 were written; {ANEW}"),
    ("flipped", lambda data: data[:-1] + b"x", f"is damaged (its checksum does not match); {ANEW}"),
    (
        "newer",
        lambda data: sealed(b"{}", version=7),
        "was written by a newer daedal (format 7, this one reads up to 1); upgrade daedal",
    ),
    (
        "newer of another kind",
        lambda data: data[:8] + b"\2\0\0\0and its own ways",
        "was written by a newer daedal (format 2, this one reads up to 1); upgrade daedal",
    ),
    (
        "format 0",
        lambda data: sealed(b"{}", version=0),
        f"is damaged (its format is 0, which no daedal writes); {ANEW}",
    ),
    (
        "header",
        lambda data: sealed(b"{}"),
        f"has a header that no daedal writes (expected fields and arrays, got {{}}); {ANEW}",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_faults_are_told(path: Path, change: Callable[[bytes], bytes], sentence: str) -> None:
    put(path, 1)
    path.write_bytes(change(path.read_bytes()))
    assert told(path) == f"run.ckpt {sentence}"


def test_the_predecessor_is_named_where_there_is_one(path: Path) -> None:
    put(path, 1)
    put(path, 2)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert told(path) == (
        "run.ckpt is damaged (its checksum does not match); the one before it is at run.ckpt.previous"
    )
    path.write_bytes(bytes(4160))  # What a power cut leaves on some file systems.
    assert told(path).endswith("; the one before it is at run.ckpt.previous")


def test_a_file_larger_than_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, 1)
    monkeypatch.setattr(checks, "machine_bytes", lambda: 5000)
    assert re.fullmatch(
        r"reading .*run.ckpt takes about .* KiB of memory, and this machine has .*; take less", told(path)
    )


def test_a_file_of_vast_size_is_not_read(path: Path) -> None:
    put(path, 1)
    os.truncate(path, 2**42)  # It has holes: it takes no room on the disk.
    assert told(path).startswith(f"run.ckpt is damaged: {2**42} bytes, where 4160 were written")
    front = struct.pack("<8sIQQ", b"DAEDAL\r\n", 1, 2**42 - START, 0)
    with path.open("r+b") as file:
        file.write(front)
    assert "of memory, and this machine has" in told(path)
    with path.open("r+b") as file:
        file.write(struct.pack("<8sIQQ", b"DAEDAL\r\n", 1, 2**64 - 1, 2**64 - 1))
    assert told(path).startswith(f"run.ckpt is cut short: {2**42} of {START + 2 * (2**64 - 1)} bytes")


def test_a_file_that_is_replaced_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(path, 1)
    fits = checks.check_fits

    def replaced(count: int, what: str) -> None:
        put(path, 2)
        path.write_bytes(b"")
        fits(count, what)

    monkeypatch.setattr(container, "check_fits", replaced)
    assert number_in(path) == 1


def test_a_file_that_shrinks_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint_file(path, arrays={"a": np.zeros(10**6)}, fields={})
    size = path.stat().st_size
    monkeypatch.setattr(container, "check_fits", lambda count, what: os.truncate(path, 10**6))
    assert told(path) == f"run.ckpt is cut short: {10**6} of {size} bytes; copy it again or start anew"


# Fuzzing: 10,000 and more files, each refused or as it was. Never another exception, never a wrong content.


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for owner, name in [(pickle, "load"), (pickle, "loads"), (np, "load"), (builtins, "eval"), (builtins, "exec")]:
            patch.setattr(owner, name, failing(AssertionError(f"{name} was called")))
        yield


@pytest.fixture
def good(path: Path) -> bytes:
    arrays, fields = example()
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    data = path.read_bytes()
    assert 1800 < len(data) < 2400
    return data


def refused(path: Path, data: bytes) -> bool:
    """Tell whether a file is refused; where it is not, it must hold the same as the good one."""
    path.write_bytes(data)
    try:
        content = read_checkpoint_file(path)
    except CheckpointError as error:
        sentence = str(error)
        assert len(sentence) < 400
        assert "\n" not in sentence
        return True
    assert same(content, example())
    return False


@pytest.mark.usefixtures("nothing_runs")
def test_fuzz_changed_bytes(path: Path, good: bytes) -> None:
    rng = random.Random(1)
    cases = 0
    for at, byte in enumerate(good):
        for other in rng.sample([value for value in range(256) if value != byte], 4):
            assert refused(path, good[:at] + bytes([other]) + good[at + 1 :])
            cases += 1
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(rng.randint(2, 20)):
            data[rng.randrange(len(data))] ^= rng.randint(1, 255)
        assert refused(path, bytes(data)) == (data != good)
        cases += 1
    assert cases >= 8000


@pytest.mark.usefixtures("nothing_runs")
def test_fuzz_lengths(path: Path, good: bytes) -> None:
    rng = random.Random(2)
    for length in range(len(good)):
        assert refused(path, good[:length])
    for _ in range(300):
        more = rng.randbytes(rng.choice([1, 2, 8, 100, 5000]))
        assert refused(path, good + more)
        assert refused(path, more)
        at = rng.randrange(len(good))
        assert refused(path, good[:at] + more + good[at:])
    assert not refused(path, good)


NASTY: list[Any] = [
    *(None, True, False, -1, -(2**63), 1.5, 0.0, -0.0, math.nan, math.inf, 2**31, 2**53, 2**63 - 1, 2**63, 10**400),
    *("0", "O", "|O", "|V8", "<M8", "<M8[ns]", "|S8", "<U2", ">f8", "<c16", "<f2", "f8", "float64", "<f8,<f8", "\0"),
    *("i4, (2,3)f8", "object", "__import__('os')", "(1,)<f8", "<f16", "|b8", "|u8", "9" * 5000, "\ud800"),
    *([None], [[]], [-1], [-1, -1], [1.0], ["1"], [2**31], [2**32, 2**32], [2**64, 0], [0, 2**63], [2**62, 4, 0]),
    *([True], [0] * 33, [1] * 65, [10**4000, 10**4000], {"a": 1}, [{"a": 1}], {"__class__": "os.system"}),
]  # fmt: skip


def hostile_values() -> Iterator[tuple[Any, ...]]:
    """Give the places of a header and what to put there; new names, types and shapes are content, and left out."""
    arrays = example()[0]
    for nasty in NASTY:
        yield (), nasty
        yield ("arrays",), nasty
        if not isinstance(nasty, dict):
            yield ("fields",), nasty
        for index, array in enumerate(arrays.values()):
            yield ("arrays", index), nasty
            for key in ("dtype", "shape", "offset", "length"):
                yield ("arrays", index, key), nasty
            if not isinstance(nasty, str):
                yield ("arrays", index, "name"), nasty
            for axis in range(array.ndim):
                if array.size == 0 and nasty in (2**31, 2**53):  # No rows of that many columns: such arrays exist.
                    continue
                yield ("arrays", index, "shape", axis), nasty


def altered(header: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    header = copy.deepcopy(header)
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return header


@pytest.mark.usefixtures("nothing_runs")
def test_fuzz_hostile_values_under_a_right_checksum(path: Path, good: bytes) -> None:
    header, payload = opened(good)
    accepted = []
    cases = 0
    for place, value in hostile_values():
        data = sealed(json.dumps(altered(header, place, value)).encode(), payload)
        if not refused(path, data):
            accepted.append((place, value))
        cases += 1
    assert accepted == []
    assert cases >= 2000


@pytest.mark.usefixtures("nothing_runs")
def test_fuzz_hostile_structure_under_a_right_checksum(path: Path, good: bytes) -> None:
    header, payload = opened(good)
    rng = random.Random(3)
    hostile: list[Any] = [{"fields": header["fields"]}, {"arrays": header["arrays"]}, {**header, "more": 1}]
    entries = header["arrays"]
    for index, entry in enumerate(entries):
        others = entries[:index] + entries[index + 1 :]
        bad = [{name: value for name, value in entry.items() if name != key} for key in entry]
        bad.append({**entry, "more": 1})
        bad += [{**entry, "offset": entry["offset"] + step} for step in (-8, -1, 1, 8, 10**30)]
        bad += [{**entry, "length": entry["length"] + step} for step in (-8, -1, 1, 8, 10**30)]
        bad += [{**entry, "name": other["name"]} for other in others]
        hostile += [{**header, "arrays": [*entries[:index], one, *entries[index + 1 :]]} for one in bad]
        hostile.append({**header, "arrays": [*entries, entry]})
        if entry["length"]:
            hostile.append({**header, "arrays": others})
    for _ in range(200):  # In another order the offsets overlap or leave gaps.
        mixed = rng.sample(entries, len(entries))
        if [entry["name"] for entry in mixed if entry["length"]] != [e["name"] for e in entries if e["length"]]:
            hostile.append({**header, "arrays": mixed})
    for one in hostile:
        assert refused(path, sealed(json.dumps(one).encode(), payload)), one
    text = json.dumps(header)
    for again in ('"fields": {}, ', '"arrays": [], ', '"arrays": [], "arrays": [], '):
        assert refused(path, sealed(text.replace("{", "{" + again, 1).encode(), payload))
    assert refused(path, sealed(text.replace('"length"', '"length": 0, "length"', 1).encode(), payload))
    for extra in (payload + b"\0", payload[:-1], b""):
        assert refused(path, sealed(text.encode(), extra))
    assert not refused(path, sealed(json.dumps(header, indent=2).encode(), payload))


@pytest.mark.usefixtures("nothing_runs")
def test_fuzz_hostile_text_under_a_right_checksum(path: Path, good: bytes) -> None:
    _, payload = opened(good)
    text = good[START : len(good) - len(payload)]
    rng = random.Random(4)
    deep = 100_000
    bombs = [
        b"[" * deep,
        b"[" * deep + b"]" * deep,
        b'{"fields":' * deep + b"1" + b"}" * deep,
        b'{"fields":{"a":' + b"[" * deep + b"]" * deep + b'},"arrays":[]}',
        b'{"fields":{},"arrays":' + b'[{"a":' * deep + b"1" + b"}]" * deep + b"}",
        b'{"fields":{"\\"a":' + b"[" * deep + b"]" * deep + b'},"arrays":[]}',
        b'"' + b'\\"' * 10**6,  # An open string of quotes must not take the square of its length.
        b'"' * (10**6 + 1),
        b'"' + b"\\" * (10**6 + 1),
        b"9" * 10**6,
        b"-" * 10**6,
        b'{"fields":{"a":' + b"9" * 10**6 + b'},"arrays":[]}',
        pickle.dumps(example()),
        b"",
        b" ",
        b"null",
        b"\xef\xbb\xbf" + text,
        text.decode().encode("utf-16"),
        text.decode().encode("latin-1"),
        text.replace(b"dae", b"d\xffe"),
        text + b"\0",
        text + text,
        text[:-1],
    ]
    for bomb in bombs:
        assert refused(path, sealed(bomb, payload)), bomb[:40]
    # Any text at all: what json cannot read is refused, what it can is checked as a header, so that only fields change.
    for _ in range(1500):
        data = bytearray(text)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.choice(b'{}[]",:\\0129eE-.ntf \x00\xff')
        path.write_bytes(sealed(bytes(data), payload))
        try:
            arrays, fields = read_checkpoint_file(path)
        except CheckpointError:
            continue
        assert sum(array.nbytes for array in arrays.values()) == len(payload)
        assert isinstance(fields, dict)


@pytest.mark.usefixtures("nothing_runs")
def test_a_deep_header_is_refused_under_a_raised_recursion_limit(path: Path) -> None:
    path.write_bytes(sealed(b'{"fields":{"a":' + b"[" * 10**6))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**7)
    try:
        assert "expected at most 64 levels, got more" in told(path)
    finally:
        sys.setrecursionlimit(limit)


class Bomb:
    """What a pickle would run when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (self.folder,)


def test_no_pickle_is_ever_loaded(path: Path) -> None:
    bomb = pickle.dumps(Bomb(path.with_name("ran")))
    for dtype in ("O", "|O", "|O8", f"|V{len(bomb)}", f"|S{len(bomb)}"):
        entry = {"name": "a", "dtype": dtype, "shape": [1], "offset": 0, "length": len(bomb)}
        path.write_bytes(sealed(json.dumps({"fields": {}, "arrays": [entry]}).encode(), bomb))
        assert "expected a dtype of |b1, |u1, " in told(path)
    assert os.listdir(path.parent) == ["run.ckpt"]
