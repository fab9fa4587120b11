"""Arrays and JSON in one file, a checksummed .npz: replaced as a whole; reading one never runs code.

`numpy.load` opens it, whatever it is called. Its members, none of them compressed, are the arrays under their names;
first of all `daedal_checkpoint` (`daedal_run` for a saved run), which is the version of the format; and last
`fields.json`, the bytes of a text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_fits
from daedal.storage import sealed_npz
from daedal.storage.atomic import previous_path, replace_file, restated
from daedal.storage.fields import MEMORY_PER_BYTE, fields_from_bytes, fields_to_bytes
from daedal.storage.kinds import Kind
from daedal.storage.npy import check_array
from daedal.types import Json

_FIELDS_NAME = "fields.json"
_OLD_MARK = b"DAEDAL\r\n"


@dataclass(frozen=True)
class Form:
    """One of the two things that such files are.

    Attributes
    ----------
    name
        That of the first member, which says what the file is, and has the version.
    version
        That of the format.
    kind
        What such a file replaces.
    """

    name: str
    version: int
    kind: Kind


def _front_of(name: str, *others: bytes) -> re.Pattern[bytes]:
    first = rb"PK\x03\x04.{%d}%s\.npy" % (sealed_npz.FIRST_NAME_AT - 4, name.encode())
    return re.compile(b"|".join([first, *others]), re.DOTALL)


CHECKPOINT = Kind("a checkpoint", _front_of("daedal_checkpoint", _OLD_MARK))
"""What checkpoints replace; also those of before the present format."""

SAVED_RUN = Kind("a saved run", _front_of("daedal_run"))
"""What saved runs replace."""

CHECKPOINT_FORM = Form("daedal_checkpoint", 3, CHECKPOINT)  # Version 1 was no .npz, 2 had no traces.
RUN_FORM = Form("daedal_run", 1, SAVED_RUN)


class CheckpointError(ValueError):
    """The file is not a whole, undamaged checkpoint that this version can read."""


def write_checkpoint_file(
    path: str | os.PathLike[str],
    *,
    arrays: Mapping[str, NDArray[Any]],
    fields: Mapping[str, Json],
    form: Form = CHECKPOINT_FORM,
) -> None:
    """Write arrays and fields to a file; a checkpoint keeps the file that was there as its predecessor.

    The file is replaced at once and whole, or not at all, see `replace_file`. Arrays are of plain numbers, see
    `check_array`; fields are what JSON holds, and NaN, the infinities and large whole numbers, at most 64 levels deep.
    """
    for name, array in arrays.items():
        sealed_npz.check_name(name)
        check_array(name, array)
        if name in (form.name, _FIELDS_NAME):
            raise ValueError(f"expected another name for an array, got {name!r}, which means something else here")
    text = np.frombuffer(fields_to_bytes(fields), dtype=np.uint8)
    members = {form.name: np.array(form.version, dtype=np.int64), **arrays, _FIELDS_NAME: text}
    keep = form is CHECKPOINT_FORM
    replace_file(path, lambda file: sealed_npz.write_npz(file, members), kind=form.kind, keep_previous=keep)


def read_checkpoint_file(
    path: str | os.PathLike[str], *, what: str = "a checkpoint", form: Form = CHECKPOINT_FORM
) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Read the arrays and the fields of a file, after a check of every byte of it.

    Nothing in the file is trusted, not even under a right checksum: no code is run, and no more memory is taken than
    the size of the file allows for. Arrays are native and writeable, each with its own memory.
    """
    source = Path(path)
    if os.path.exists(source) and not os.path.isfile(source):  # A folder, or a pipe to wait for without end.
        raise CheckpointError(f"expected {what} at {source}, found something that is not a file; name a file")
    try:
        data = _bytes_of(source, what, form)
    except FileNotFoundError as error:
        advice = _advice(source, "check the name")
        raise restated(error, f"expected {what} at {source}, found nothing there; {advice}") from error
    except OSError as error:
        raise restated(error, f"cannot read {what} from {source}: {error.strerror or error}") from error
    if sentence := sealed_npz.damage_to(data):
        raise _refusal(source, sentence)
    try:
        return _content(source, data, form)
    except CheckpointError:
        raise
    except sealed_npz.MALFORMED as error:
        why = str(error)[:200] or "it ends too soon"
        raise _refusal(source, f"has content that no daedal writes ({why})") from error


def _bytes_of(source: Path, what: str, form: Form) -> bytes:
    """Read the file in one go, so that a file put in its place meanwhile cannot mix with it."""
    with source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_front(source, file.read(sealed_npz.FIRST_NAME_AT + len(form.name)), what, form)
        _check_memory(source, 2 * size)  # before it is taken; the arrays are taken out of the bytes
        file.seek(0)
        return file.read(size)


def _check_front(source: Path, front: bytes, what: str, form: Form) -> None:
    if front.startswith(_OLD_MARK):
        raise CheckpointError(
            f"{source} was written by daedal 0.1, before checkpoints were .npz files; finish the run with that version "
            "or start anew; the file is left as it is"
        )
    if not front:
        came = "is empty"
    elif not b"PK\3\4".startswith(front[:4]):
        came = f"begins with {front[:8]!r}"
    elif not form.name.encode("ascii").startswith(front[sealed_npz.FIRST_NAME_AT :]):
        came = "is a zip archive of something else"
    else:
        return
    raise _refusal(source, f"is not {what} of daedal: it {came}", "name a file that daedal wrote")


def _content(source: Path, data: bytes, form: Form) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Take arrays and fields out of a file; one of `MALFORMED` for what the writer would not have written."""
    _check_memory(source, 2 * len(data) + sealed_npz.directory_memory(data))
    members = sealed_npz.members_of(data)
    version = int(_taken(members, form.name).read_as(np.int64, 0))
    if version > form.version:
        raise CheckpointError(
            f"{source} was written by a newer daedal (format {version}, this one up to {form.version}); upgrade daedal"
        )
    if 1 <= version < form.version:
        sentence = f"was written by an earlier daedal (format {version}, this one has {form.version})"
        raise _refusal(source, sentence, "finish the run with that version or start anew")
    if version < 1:
        raise ValueError(f"expected format {form.version}, got {version}")
    text = _taken(members, _FIELDS_NAME)
    _check_memory(source, 2 * len(data) + MEMORY_PER_BYTE * text.size)
    fields = fields_from_bytes(text.read_as(np.uint8, 1).tobytes())
    return {name: member.read() for name, member in members.items()}, fields


def _taken(members: dict[str, sealed_npz.Member], name: str) -> sealed_npz.Member:
    if name not in members:
        raise ValueError(f"expected a member {name!r}, got none")
    return members.pop(name)


def _check_memory(source: Path, count: int) -> None:
    try:
        check_fits(count, f"reading {source}")
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def _refusal(source: Path, sentence: str, advice: str = "copy it again or start anew") -> CheckpointError:
    return CheckpointError(f"{source} {sentence}; {_advice(source, advice)}")


def _advice(source: Path, otherwise: str) -> str:
    previous = previous_path(source)
    return f"the one before it is at {previous}" if os.path.isfile(previous) else otherwise
