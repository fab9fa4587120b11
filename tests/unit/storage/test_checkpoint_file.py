"""Arrays and fields in one file: what goes in comes out, and what is damaged or made to harm is refused."""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import pickle
import random
import re
import struct
import sys
import threading
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from daedal.storage.atomic import previous_path
from daedal.storage.checkpoint_file import CheckpointError, read_checkpoint_file, write_checkpoint_file
from daedal.storage.fields import MEMORY_PER_BYTE
from daedal.storage.sealed_npz import directory_memory, write_npz
from daedal.types import Json

Content = tuple[dict[str, NDArray[Any]], dict[str, Json]]

DTYPES = ["bool", *(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)), "float32", "float64"]


def exact(content: Content) -> tuple[list[object], str]:
    """Give what is equal only if all is, to the bit: types and bytes, signs of zeros, the order of names."""
    arrays, fields = content
    return [(name, a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()], repr(fields)


def example() -> Content:
    rng = np.random.default_rng(1)
    arrays: dict[str, NDArray[Any]] = {
        "optimizer/best": rng.integers(0, 2, 40).astype(np.uint8),
        "optimizer/weights": rng.normal(size=(4, 6)),
        "mask": np.array([[True, False], [False, True]]),
        "nothing": np.empty((0, 3), dtype=np.int16),
        "zähler": np.array(7, dtype=np.int64),
    }
    return arrays, {"seed": 2**100, "history": [{"best": 1 / 3, "error": None}], "worst": -math.inf}


def put(path: Path, number: int) -> None:
    write_checkpoint_file(path, arrays={"a": np.full(500, number)}, fields={"number": number})


def number_in(path: Path) -> int:
    arrays, fields = read_checkpoint_file(path)
    assert arrays["a"].tolist() == [fields["number"]] * 500
    return int(arrays["a"][0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@pytest.fixture
def good(path: Path) -> bytes:
    arrays, fields = example()
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    return path.read_bytes()


# Round trips.

TREES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(-(2**4000)) | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=10,
)
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
NAMES = (st.text(st.characters()) | st.text("%0\0\\/.")).filter(
    lambda name: name not in ("daedal_checkpoint", "fields.json")
)


@settings(max_examples=150, deadline=None)
@given(arrays=st.dictionaries(NAMES, ARRAYS, max_size=4), fields=st.dictionaries(st.text(), TREES, max_size=4))
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, NDArray[Any]], fields: dict[str, Json]
) -> None:
    """NaN, lone surrogates, vast numbers, empty arrays, names of any letters: all of it, to the bit."""
    path = tmp_path_factory.getbasetemp() / "round.ckpt"
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    back = read_checkpoint_file(str(path))
    assert exact(back) == exact((arrays, fields))
    for array in back[0].values():
        assert array.flags.owndata
        assert array.flags.carray  # C order, aligned, writeable
        assert array.dtype.isnative


def nested(levels: int) -> Json:
    return [nested(levels - 1)] if levels else 1


def test_uncommon_content(path: Path) -> None:
    whole = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    arrays: dict[str, NDArray[Any]] = {
        "turned": whole.T,
        "steps": whole[::-2, 1::2, ::-1],
        "spread": np.broadcast_to(whole[0, 0], (6, 5)),
        "empty": np.zeros((0, 2**40)),
        "deep": np.zeros((1,) * 32),
        "pieces": np.arange(3 * 2**17 + 1),  # more than is read or written at once
    }
    fields = {"deep": nested(63), "not deep": "[" * 1000 + '\\"' + "{" * 1000}
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    assert exact(read_checkpoint_file(path)) == exact((arrays, fields))
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    write_checkpoint_file(path, arrays={"odd": odd}, fields={})
    assert read_checkpoint_file(path)[0]["odd"].tobytes() == b"\0\1\1\1"


def test_numpy_opens_it(good: bytes, path: Path) -> None:
    arrays, fields = example()
    with np.load(path, allow_pickle=False) as opened:
        assert opened.files == ["daedal_checkpoint", *arrays, "fields.json"]
        assert opened["daedal_checkpoint"] == 3
        assert bytes(opened["fields.json"]).startswith(b'{"seed":12676506002282294014967')
        assert exact(({name: opened[name] for name in arrays}, {})) == exact((arrays, {}))
        assert opened.zip.testzip() is None
        assert opened.zip.comment.decode() == hashlib.sha256(good[:-64]).hexdigest()
    write_checkpoint_file(path, arrays=arrays, fields=fields)
    assert path.read_bytes() == good  # It has no time in it.


def test_a_reader_beside_a_writer_sees_whole_files(path: Path) -> None:
    put(path, 0)
    writer = threading.Thread(target=lambda: [put(path, number) for number in range(40)])
    writer.start()
    seen = []
    while writer.is_alive():
        seen.append(number_in(path))
    writer.join()
    assert seen == sorted(seen)
    assert (number_in(path), number_in(previous_path(path))) == (39, 38)
    assert len(os.listdir(path.parent)) == 2


# What is refused before anything is written.


@pytest.mark.parametrize(
    ("arrays", "fields", "error", "says"),
    [
        *(
            ({"x": np.zeros(2, dtype)}, {}, TypeError, "'x'.* got dtype=")
            for dtype in ("O", "i4,f8", "U4", "S4", "M8[D]", "c16", "f2", ">f8", ">u2")
        ),
        ({"x": [1, 2]}, {}, TypeError, "'x', got list"),
        ({3: np.zeros(1)}, {}, TypeError, "str, got int"),
        ({"x" * 70_000: np.zeros(1)}, {}, ValueError, "shorter .* 70000"),
        ({"fields.json": np.zeros(1)}, {}, ValueError, "fields.json"),
        ({}, {3: 1}, TypeError, "keys of fields as str, got 3"),
        ({}, {"a": [{None: 1}]}, TypeError, r"fields\['a'\]\[0\] as str, got None"),
        ({}, {"a": (1, 2)}, TypeError, r"fields\['a'\], got tuple"),
        ({}, {"a": [0, np.int64(3)]}, TypeError, r"fields\['a'\]\[1\], got int64"),
        *(({}, {"a": nested(levels)}, ValueError, "64 levels") for levels in (64, 900)),
        ({}, {"a": 10**5000}, ValueError, "digits"),
    ],
)
def test_what_would_not_come_back_is_refused(path: Path, arrays: Any, fields: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        write_checkpoint_file(path, arrays=arrays, fields=fields)
    assert not path.exists()


def test_a_disk_that_is_full(path: Path) -> None:
    """Whatever is just being written then: an array, its sizes, the directory, the checksum."""

    class Full(io.BytesIO):
        room = 0

        def write(self, data: Any) -> int:
            if self.tell() + len(data) > self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    write_npz(whole := io.BytesIO(), example()[0])
    for Full.room in range(len(whole.getvalue())):
        with pytest.raises(OSError, match="No space left"):
            write_npz(Full(), example()[0])
    with pytest.raises(IsADirectoryError, match="a checkpoint"):
        write_checkpoint_file(path.parent, arrays={}, fields={})


# What is refused when it is read: in one line.


def told(path: Path, **what: str) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint_file(path, **what)
    message = str(caught.value)
    assert str(path) in message
    assert message.isprintable(), message
    assert len(message.replace(str(path), "")) < 400
    return message


def test_nothing_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="check the name"):
        read_checkpoint_file(path)
    put(previous_path(path), 1)
    with pytest.raises(FileNotFoundError, match=r"run\.ckpt\.previous$"):
        read_checkpoint_file(path)


def test_what_is_no_file_or_may_not_be_read(
    open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
) -> None:
    os.mkfifo(pipe := open_folder / "pipe")
    for place in (open_folder, pipe, Path("/dev/zero")):
        assert re.search("a study .*not a file", told(place, what="a study"))
    put(path := open_folder / "run.ckpt", 1)
    path.chmod(0)
    with unprivileged(), pytest.raises(PermissionError, match=f"read a study from {path}: Permission denied"):
        read_checkpoint_file(path, what="a study")


def test_a_file_of_the_old_format_is_refused_and_left_as_it_is(path: Path) -> None:
    header = b'{"fields":{},"arrays":[]}'
    front = struct.pack("<8sIQQ", b"DAEDAL\r\n", 1, len(header), 0)
    old = front + hashlib.sha256(front + header).digest() + header
    path.write_bytes(old)
    assert re.search("daedal 0.1.* finish the run with that version or start anew", told(path))
    assert path.read_bytes() == old


def test_a_file_of_vast_size_is_not_read(path: Path) -> None:
    put(path, 1)
    os.truncate(path, 2**42)  # It has holes: it takes no room on the disk.
    assert "8 TiB of memory" in told(path)


def archived(members: Iterable[tuple[str | zipfile.ZipInfo, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Build a file under a right checksum, by the words of the format and not by its code."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore", UserWarning)  # about names that come twice
        for name, content in members:
            archive.writestr(name, content)
        archive.comment = bytes(64)
    return sealed(buffer.getvalue())


def sealed(data: bytes | bytearray) -> bytes:
    return bytes(data[:-64]) + hashlib.sha256(data[:-64]).hexdigest().encode()


def npy(descr: str, shape: object, body: bytes = b"", order: object = False) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode("latin-1")
    header = header.ljust(-(11 + len(header)) // 64 * -64 - 11) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + body


def version(number: int) -> tuple[str, bytes]:
    return "daedal_checkpoint.npy", npy("'<i8'", (), number.to_bytes(8, "little"))


def fields(text: bytes) -> tuple[str, bytes]:
    return "fields.json.npy", npy("'|u1'", (len(text),), text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "not a checkpoint .*empty; name a file"),
        (lambda data: b"dear reader", r"not a checkpoint .*b'dear rea'; name a file"),
        (lambda data: archived([("letter.txt", b"dear reader")]), "zip archive of something else"),
        (lambda data: data[:1200], "is cut short .*copy it again"),
        (lambda data: data + b"more", "damaged"),
        (lambda data: data.replace(b"\n", b"\r\n"), "damaged"),
        (lambda data: data.replace(b"seed", b"soup"), "damaged.* checksum does not match"),
        (lambda data: archived([version(4)]), "format 4, .* up to 3.*upgrade"),
        (lambda data: archived([version(2), fields(b"{}")]), "format 2.*start anew"),
        (lambda data: archived([version(0), fields(b"{}")]), "got 0.*start anew"),
    ],
)
def test_faults_are_told(good: bytes, path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    path.write_bytes(change(good))
    assert re.search(says, told(path))
    put(previous_path(path), 1)
    assert told(path).endswith(f"the one before it is at {path}.previous") or "upgrade" in says


# Fuzzing. A file is refused, or its content is as it was; never another exception, never a wrong content.


def refused(path: Path, data: bytes) -> bool:
    path.touch()
    with path.open("r+b") as file:  # To empty a file takes the system milliseconds.
        file.write(data)
        file.truncate()
    try:
        found = read_checkpoint_file(path)
    except CheckpointError:
        told(path)
        return True
    assert exact(found) == exact(example())
    return False


def test_every_changed_byte_is_refused(good: bytes, path: Path) -> None:
    rng = random.Random(1)
    for at, byte in enumerate(good):
        for change in (1 << rng.randrange(8), rng.randrange(1, 256)):
            assert refused(path, good[:at] + bytes([byte ^ change]) + good[at + 1 :])
    assert not refused(path, good)


def test_every_length_is_refused(good: bytes, path: Path) -> None:
    rng = random.Random(2)
    for length in range(len(good)):
        assert refused(path, good[:length])
    for _ in range(200):
        more = rng.randbytes(rng.choice([1, 2, 64, 86, 5000]))
        at = rng.randrange(len(good))
        for data in (good + more, more, good[:at] + more + good[at:], good[:at] + good + good[at:], good * 2):
            assert refused(path, data)


def test_bytes_changed_under_a_right_checksum(good: bytes, path: Path) -> None:
    """What is read then is small, whatever the sizes and offsets of the archive say."""
    rng = random.Random(3)
    directory = good.index(b"PK\1\2")
    for case in range(5000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(directory if case % 3 else 0, len(data) - 64)
            data[at] = rng.choice([0, 1, 8, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        with path.open("r+b") as file:
            file.write(sealed(data))
        try:
            arrays, _ = read_checkpoint_file(path)
        except CheckpointError:
            told(path)
        else:
            assert sum(array.nbytes for array in arrays.values()) < len(good)


class Bomb:
    """What a pickle would run when it is loaded."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, ("ran",)


EIGHT = bytes(8)
DESCRS = [
    *("'O'", "'|O'", "'|V8'", "'<M8[ns]'", "'|S8'", "'<U2'", "'>f8'", "'<c8'", "'f8'", "'float64'", "'<f8,<f8'"),
    *("'(1,)<f8'", "'=f8'", "'|b8'", "'|u8'", "'\\0'", "[('a', '<f8')]", "None", "''", '"<f8"', "__import__('os')"),
]
SHAPES: list[object] = [
    *("(-1,)", "(1.0,)", "('1',)", "(True,)", "(None,)", "[1]", "1", "(1)", "(01,)", "(1 ,)", "( 1,)", "(1,,)", "(,)"),
    *("(1,1,)", "(2,)", "(0,)", "(1, -1)", "(\u00b2,)", "(1_0,)", "(" * 3000, "-" * 3000 + "1", "(1,) * 9", "()()"),
    *((2**63,), (2**64, 0), (0, 2**63), (2**62, 4, 0), (2**32, 2**32), (10**4000, 10**4000), f"({'9' * 5000},)"),
    (1,) * 33,
]


def hostile_arrays() -> Iterator[bytes]:
    right = npy("'<f8'", (1,), EIGHT)
    yield from (npy(descr, (1,), EIGHT) for descr in DESCRS)
    yield from (npy("'<f8'", shape, EIGHT) for shape in SHAPES)
    yield from (npy("'<f8'", (1,), EIGHT, order) for order in (True, 0, "None", "[]"))
    yield from (right[:length] for length in range(len(right)))
    yield from (right + b"\0", right + right, right.replace(b"\1\0", b"\2\0", 1), right.replace(b" \n", b"\n\n"))
    yield from (right.replace(b"}", b"}#"), right.replace(b"}", b", 'x': 1}"), right.replace(b"'shape'", b"'shap'"))
    yield from (npy("'|b1'", (8,), b"\0\1\2\0\0\0\0\0"), npy("'|O'", (1,), pickle.dumps(Bomb())), pickle.dumps(Bomb()))


def test_hostile_arrays_under_a_right_checksum(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    path.write_bytes(archived([version(3), ("a.npy", npy("'<f8'", (1,), EIGHT)), fields(b"{}")]))
    assert read_checkpoint_file(path)[0]["a"].tolist() == [0.0]
    for array in hostile_arrays():
        assert refused(path, archived([version(3), ("a.npy", array), fields(b"{}")])), array
        assert refused(path, archived([version(3), ("fields.json.npy", array)])), array
        assert refused(path, archived([("daedal_checkpoint.npy", array), fields(b"{}")])), array
    assert os.listdir() == ["run.ckpt"]


def test_hostile_archives_under_a_right_checksum(good: bytes, path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    assert not refused(path, archived(members))  # so that what follows proves something
    for index, (name, content) in enumerate(members):
        rest = members[:index] + members[index + 1 :]
        assert refused(path, archived([*members, (name, content)]))
        for odd in (name.removesuffix(".npy"), name + "x", name + "/", "a\\b.npy", "%0041.npy", "%005C.npy"):
            assert refused(path, archived([*rest, (odd, content)]))
    assert refused(path, archived(members[1:]))
    assert refused(path, archived(members[:-1]))
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert refused(path, archived(members, compression))
        assert "compressed" in told(path)
    assert refused(path, archived([("daedal_checkpoint.npy", npy("'<u8'", (), b"\3" + bytes(7))), fields(b"{}")]))
    assert refused(path, archived([version(3), ("fields.json.npy", npy("'<i8'", (1,), b'{"a":12}'))]))


def test_hostile_directories_under_a_right_checksum(good: bytes, path: Path) -> None:
    entry = good.index(b"PK\1\2", good.index(b"PK\1\2") + 1)  # of the second member
    encrypted, sizes, place = entry + 8, entry + 20, entry + 42
    for at, change in [
        (encrypted, b"\1"),
        *((sizes, struct.pack("<II", *pair)) for pair in [(len(good),) * 2, (2**31,) * 2, (2**31, 168)]),
        *((place, offset) for offset in (bytes(4), b"\xff" * 4)),  # At 0 is the first member.
    ]:
        assert refused(path, sealed(good[:at] + change + good[at + len(change) :])), (at - entry, change)
    vast = zipfile.ZipInfo("vast.npy")
    vast.extra = struct.pack("<HHQ", 1, 8, 2**64 - 1)  # its place, if the directory says that it is here
    data = archived([version(3), fields(b"{}"), (vast, npy("'<f8'", (1,), EIGHT))])
    place = data.rindex(b"vast.npy") - 4
    assert refused(path, sealed(data[:place] + b"\xff" * 4 + data[place + 4 :]))


def test_members_inside_of_members_are_refused(path: Path) -> None:
    """Else each of them would take the memory of the whole file."""
    inner = archived([("inner.npy", npy("'|u1'", (10**5,), bytes(10**5)))])
    with zipfile.ZipFile(io.BytesIO(inner)) as archive:
        (info,) = archive.infolist()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (version(3), fields(b"{}"), ("outer.npy", npy("'|u1'", (len(inner),), inner))):
            archive.writestr(name, content)
        info.header_offset = archive.start_dir - len(inner)
        archive.filelist.append(info)
        archive.comment = bytes(64)
    assert refused(path, sealed(path.read_bytes()))
    assert "at most" in told(path)


def hostile_texts() -> Iterator[bytes]:
    deep = 100_000
    yield from (b"[" * deep, b'{"a":' * deep + b"1" + b"}" * deep, b'{"\\"a":' + b"[" * deep + b"]" * deep + b"}")
    yield b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"
    # An open string of quotes must not take the square of its length.
    yield from (b'"' + b'\\"' * 10**6, b'"' * (10**6 + 1), b'"' + b"\\" * (10**6 + 1))
    yield from (b'{"a":' + b"9" * 10**6 + b"}", b"-" * 10**6)
    yield from (b"", b" ", b"null", b"[]", b"3", b'"a"', b"{} {}", b"{}\0", b"{", b"\xef\xbb\xbf{}")
    yield from (b'{"a":1,"a":2}', b'{"b":[{"a":1,"a":2}]}', b'{"a":"\xff"}', b'{"a":"\xc0\x80"}')
    yield from ("{}".encode("utf-16"), pickle.dumps({}))


def test_hostile_text_under_a_right_checksum(path: Path) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**7)  # as programs do; the parser has no other guard
    try:
        for text in hostile_texts():
            assert refused(path, archived([version(3), fields(text)])), text[:40]
    finally:
        sys.setrecursionlimit(limit)


def test_reading_takes_no_more_memory_than_is_checked_for(path: Path) -> None:
    """Even where the fields, or the directory, take as much memory as they can for their bytes."""
    text = b'{"a":[' + b"{}," * 50_000 + b"{}]}"
    many = [(f"{number}.npy", npy("'|u1'", (0,))) for number in range(3000)]
    for members in ([version(3), fields(text)], [version(3), *many, fields(b"{}")]):
        data = archived(members)
        path.write_bytes(data)
        tracemalloc.start()
        try:
            read_checkpoint_file(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2 * len(data) + max(MEMORY_PER_BYTE * len(text) * (len(members) == 2), directory_memory(data))
