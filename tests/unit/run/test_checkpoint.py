"""Checkpoints: when they are written, what they give back, and files that nobody should trust."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import random
import re
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import daedal
from daedal.evaluation import evaluator as evaluation
from daedal.optimizers.base import Generation
from daedal.run import checkpoint
from daedal.run.checkpoint import Checkpointer, history_of, history_state, joined, load, taken
from daedal.storage.atomic import previous_path
from daedal.storage.checkpoint_file import read_checkpoint_file, write_checkpoint_file
from daedal.types import Json, State

# When


@pytest.mark.parametrize(
    ("every", "seconds", "generations"),
    [
        ("60s", 60.0, None),
        ("0.05s", 0.05, None),
        ("2m", 120.0, None),
        (" 1.5 h ", 5400.0, None),
        (5, None, 5),
        ("5", None, 5),
        (np.int64(3), None, 3),
    ],
)
def test_every_is_a_time_or_a_number_of_generations(
    tmp_path: Path, every: Any, seconds: float | None, generations: int | None
) -> None:
    keeper = Checkpointer(tmp_path / "run.ckpt", every)
    assert (keeper.seconds, keeper.generations) == (seconds, generations)


@pytest.mark.parametrize(
    "every",
    [
        0,
        -1,
        1.5,
        5.0,
        True,
        False,
        None,
        "",
        "0",
        "0s",
        "0.0m",
        "-5s",
        "5d",
        "5 sec",
        "s",
        "1e3s",
        "nan",
        "²",
        "5s5",
        [],
    ],
)
def test_every_that_is_neither_is_refused(tmp_path: Path, every: Any) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f'as in "60s", or a number of generations, as in 5, got every={every!r}')
    ):
        Checkpointer(tmp_path / "run.ckpt", every)
    with pytest.raises(ValueError, match="got every="):
        daedal.maximize("onemax:n=4", popsize=4, checkpoint=tmp_path / "run.ckpt", every=every)


def test_a_place_where_no_file_can_be_is_told_before_the_run(tmp_path: Path) -> None:
    def never(_: Any) -> None:
        raise AssertionError("the objective was called")

    with pytest.raises(
        ValueError, match=re.escape(f"expected a folder for the checkpoint at {tmp_path / 'no'}, found")
    ):
        daedal.maximize(never, n=4, checkpoint=tmp_path / "no" / "run.ckpt")
    with pytest.raises(ValueError, match=re.escape(f"expected a file for the checkpoint, got the folder {tmp_path}")):
        daedal.maximize(never, n=4, checkpoint=tmp_path)


def test_generations_are_counted_and_time_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now)
    by_generation, by_time = Checkpointer(tmp_path / "a", 3), Checkpointer(tmp_path / "b", "10s")
    assert [g for g in range(10) if by_generation.is_due(g)] == [0, 3, 6, 9]
    assert not by_generation.is_due(None)
    for middle in (None, 7):
        now = 1009.9
        assert not by_time.is_due(middle)
        now = 1010.0
        assert by_time.is_due(middle)
    by_time.keep(State(arrays={}, fields={}))
    assert not by_time.is_due(7)
    now = 1020.0
    assert by_time.is_due(7)


def test_the_file_before_is_kept(tmp_path: Path) -> None:
    keeper = Checkpointer(tmp_path / "run.ckpt", 1)
    for number in (1, 2, 3):
        keeper.keep(State(arrays={"a": np.full(3, number)}, fields={"number": number}))
    for path, number in ((tmp_path / "run.ckpt", 3), (previous_path(tmp_path / "run.ckpt"), 2)):
        state = load(path)
        assert (state.whole("number"), state.array("a").tolist()) == (number, [number] * 3)
    assert len(list(tmp_path.iterdir())) == 2


# What


def test_parts_are_joined_and_taken_apart() -> None:
    one = State(arrays={"x": np.arange(3), "memory/x": np.arange(4)}, fields={"n": 1})
    other = State(arrays={"x": np.arange(5)}, fields={"n": 2, "more": {"deep": [None]}})
    whole = joined({"one": one, "one/memory": State(arrays={}, fields={}), "other": other})
    for name, part in (("one", one), ("other", other)):
        back = taken(whole, name)
        assert back.fields == part.fields
        assert {key: array.tolist() for key, array in back.arrays.items()} == {
            key: array.tolist() for key, array in part.arrays.items()
        }


NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)
RECORDS = st.lists(
    st.builds(
        Generation,
        generation=st.just(0),
        evaluations=st.integers(0, 2**62),
        best=st.floats(allow_nan=False),
        mean=st.floats(allow_nan=False),
        cpu_seconds=st.floats(0, 1e9),
        info=st.dictionaries(st.text(max_size=5), NUMBERS, max_size=3),
    ),
    max_size=6,
)


@settings(max_examples=80, deadline=None)
@given(records=RECORDS)
def test_records_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, records: list[Generation]) -> None:
    """Through a file, to the sign of a zero: also where a model tells another thing in each generation."""
    records = [Generation(**{**vars(record), "generation": index}) for index, record in enumerate(records)]
    path = tmp_path_factory.getbasetemp() / "history.ckpt"
    state = history_state(records)
    write_checkpoint_file(path, arrays=state.arrays, fields=state.fields)
    back = history_of(load(path))
    assert back == records
    for one, other in zip(back, records, strict=True):
        assert type(one.evaluations) is int
        assert math.copysign(1, one.best) == math.copysign(1, other.best)
        for name, number in other.info.items():
            assert math.copysign(1, one.info[name]) == math.copysign(1, number)
            assert type(one.info[name]) in (int, float)


def test_whole_numbers_stay_whole_and_what_was_not_told_is_not_there() -> None:
    told: list[dict[str, float]] = [{}, {"epochs": 3, "error": 0.5}, {"epochs": 0}]
    records = [Generation(generation=g, evaluations=g, best=0.0, mean=0.0, info=info) for g, info in enumerate(told)]
    back = history_of(history_state(records))
    assert [dict(record.info) for record in back] == told
    assert repr(back[2].info["epochs"]) == "0"


# Files that nobody should trust


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail, rather than hang."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(path: Path) -> str:
    """Resume from a file that is not right; give what was said, which is one line."""
    with at_most(20), pytest.raises((ValueError, OSError)) as caught:
        daedal.resume(path)
    message = str(caught.value)
    assert message
    assert message.isprintable(), message
    return message


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a checkpoint, as few as there can be."""
    path = tmp_path_factory.mktemp("small") / "run.ckpt"
    limits: dict[str, Any] = {"max_generations": 2, "target": 9}
    daedal.maximize("onemax:n=4", algorithm="umda", popsize=2, seed=1, checkpoint=path, **limits)
    data = path.read_bytes()
    assert len(data) < 2300
    return data


@dataclass
class Rewritten:
    """A file whose content is changed many times; not by opening it anew, which takes milliseconds."""

    path: Path

    def __enter__(self) -> Rewritten:
        self._file = self.path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, data: bytes) -> None:
        os.pwrite(self._file.fileno(), data, 0)
        os.truncate(self._file.fileno(), len(data))


def test_a_file_that_is_right_is_not_refused(small: bytes, tmp_path: Path) -> None:
    """So that what follows proves something."""
    with Rewritten(tmp_path / "run.ckpt") as file:
        file.put(small)
        assert (
            daedal.resume(file.path).fitness
            == daedal.maximize("onemax:n=4", algorithm="umda", popsize=2, seed=1, max_generations=2, target=9).fitness
        )


def test_cut_at_any_length_it_is_refused(small: bytes, tmp_path: Path) -> None:
    with Rewritten(tmp_path / "run.ckpt") as file:
        for length in range(len(small)):
            file.put(small[:length])
            message = refused(file.path)
            assert ("cut short" if length >= 8 else "") in message
            assert str(file.path) in message


def test_with_bytes_changed_it_is_refused(small: bytes, tmp_path: Path) -> None:
    """Each byte once, then some at a time, anywhere: 10,000 files."""
    rng = random.Random(5)
    cases = 0
    with Rewritten(tmp_path / "run.ckpt") as file:
        while cases < 10_000:
            data = bytearray(small)
            places = [cases] if cases < len(data) else rng.choices(range(len(data)), k=rng.randint(1, 8))
            for place in places:
                data[place] = rng.randrange(256)
            if data == small:
                data[places[0]] ^= 1 << rng.randrange(8)
            file.put(bytes(data))
            assert str(file.path) in refused(file.path)
            cases += 1


def test_with_bytes_put_in_taken_out_or_moved_it_is_refused(small: bytes, tmp_path: Path) -> None:
    rng = random.Random(6)
    with Rewritten(tmp_path / "run.ckpt") as file:
        for case in range(600):
            start, stop = sorted(rng.sample(range(len(small) + 1), 2))
            other = rng.randrange(len(small))
            changed = (
                small[:start] + rng.randbytes(rng.randint(1, 50)) + small[start:],
                small[:start] + small[stop:],
                small[:other] + small[start:stop] + small[other:],
            )[case % 3]
            if changed != small:
                file.put(changed)
                refused(file.path)


@pytest.mark.parametrize("version", [2, 3, 255, 2**31, 2**32 - 1])
def test_of_a_newer_version_it_is_refused_as_such(small: bytes, tmp_path: Path, version: int) -> None:
    """All else is right, the checksum too."""
    front = small[:8] + struct.pack("<I", version) + small[12:28]
    data = front + hashlib.sha256(front + small[60:]).digest() + small[60:]
    path = tmp_path / "run.ckpt"
    path.write_bytes(data)
    assert refused(path) == (
        f"{path} was written by a newer daedal (format {version}, this one reads up to 1); upgrade daedal"
    )


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / "missing.ckpt"):
        assert str(path) in refused(path)


# Hostile ones, under a right checksum

Content = tuple[dict[str, NDArray[Any]], dict[str, Json]]

MISSING = object()

VALUES: list[Any] = [
    MISSING,
    None,
    True,
    -1,
    0,
    10**30,
    10**400,
    0.5,
    math.inf,
    -math.inf,
    math.nan,
    "",
    "x\ny\x1b[2J",
    "../../etc/passwd",
    [],
    [["a", "b", "c"]],
    {},
    {"__class__": "os.system"},
]


def places(fields: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Give the way to each field, whatever its depth."""
    for name, value in fields.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from places(value, (*above, name))


def altered(content: Content, way: tuple[str, ...], value: Any) -> Content:
    arrays, fields = content[0], copy.deepcopy(content[1])
    inside: Any = fields
    for name in way[:-1]:
        inside = inside[name]
    if value is MISSING:
        del inside[way[-1]]
    else:
        inside[way[-1]] = value
    return arrays, fields


def bent(array: NDArray[Any]) -> Iterator[NDArray[Any] | None]:
    """Give arrays that are not the one that belongs there: of other types, shapes and values."""
    yield None
    yield from (array.astype(kind) for kind in ("bool", "int8", "uint8", "int64", "float32", "float64"))
    yield from (array[:0], array[None], array.reshape(-1), np.array(1, dtype=array.dtype))
    yield from (np.concatenate([array, array]), np.concatenate([array] * 50), array[1:])
    if array.ndim == 2:
        yield from (np.ascontiguousarray(array.T), np.concatenate([array, array], axis=1))
    numbers = (2, 255, 2**62, -1) if array.dtype.kind in "ui" else (math.nan, math.inf, -math.inf, -1.0, 1e300)
    for number in numbers:
        if array.size and (array.dtype.kind != "u" or 0 <= number < 2 ** (8 * array.itemsize)):
            yield np.full_like(array, number) if array.dtype.kind != "b" else array ^ True


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    """What three runs have to keep: with niching, with a model that lives on, and in the middle of a generation."""
    folder = tmp_path_factory.mktemp("contents")
    made: dict[str, Content] = {}
    for name in ("hboa", "pbil"):
        daedal.maximize(
            "onemax:n=5",
            algorithm=name,
            popsize=12,
            seed=1,
            max_generations=4,
            target=9.5,
            checkpoint=folder / name,
            callback=lambda record: record.generation == 2,
        )
        made[name] = read_checkpoint_file(folder / name)
    made["partial"] = read_checkpoint_file(_broken_off(folder / "partial"))
    assert "evaluator/partial" in made["partial"][0]
    assert "optimizer/initial" in made["partial"][0]
    return made


def _broken_off(path: Path) -> Path:
    """Write the checkpoint of a run that was broken off in its first batch."""

    def once(self: evaluation.Evaluator) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation.Evaluator, "settle", once)
        rows = np.ones((2, 5), dtype=np.uint8)
        daedal.maximize(
            "onemax:n=5", algorithm="umda", popsize=6, seed=1, max_generations=2, checkpoint=path, initial=rows
        )
    return path


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the processes that a file asks for, and start none."""
    asked: list[int] = []

    def start(count: int, function: object) -> None:
        asked.append(count)
        raise ValueError("no workers here")

    monkeypatch.setattr(evaluation, "ProcessPool", start)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # which is not what is tested here, and slow
    return asked


def outcome(path: Path, content: Content) -> str:
    """Resume from a content; it either runs, or is refused in one line."""
    write_checkpoint_file(path, arrays=content[0], fields=content[1])
    with at_most(20):
        try:
            result = daedal.resume(path)
        except (ValueError, OSError) as error:
            said = str(error)
            assert said.isprintable(), said
            return said
    assert set(result.x.tolist()) <= {0, 1}
    assert result.x.shape == (5,)
    return ""


OPTIONAL = re.compile(r"optimizer\.stop|description\.(spec|(limits|settings)\..*|means\.(timeout|cache|name))")


def fits(kept: Any, value: Any, way: tuple[str, ...]) -> bool:
    """Whether a value is of the kind that a field has."""
    if value is MISSING or kept is None or (value is None and OPTIONAL.fullmatch(".".join(way))):
        return kept is None or OPTIONAL.fullmatch(".".join(way)) is not None
    if isinstance(kept, float):
        return type(value) in (int, float)
    return type(value) is type(kept)


def found(fields: Any, way: tuple[str, ...]) -> Any:
    for name in way:
        fields = fields[name]
    return fields


@pytest.mark.parametrize("name", ["hboa", "pbil", "partial"])
def test_a_field_of_any_other_kind_does_no_harm(
    name: str, contents: dict[str, Content], no_workers: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field missing, of each other kind, negative, huge: no file, process or hang, and a word where it is odd."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.ckpt"
    assert outcome(path, contents[name]) == ""
    ways = list(places(contents[name][1]))
    assert len(ways) > 40
    for way in ways:
        for value in VALUES:
            said = outcome(path, altered(contents[name], way, value))
            assert said or fits(found(contents[name][1], way), value, way), (way, value)
    assert max(no_workers, default=0) <= 12
    assert {entry.name for entry in tmp_path.iterdir()} == {"run.ckpt", "run.ckpt.previous"}


@pytest.mark.parametrize("name", ["hboa", "pbil", "partial"])
def test_an_array_of_any_other_kind_does_no_harm(
    name: str, contents: dict[str, Content], no_workers: list[int], tmp_path: Path
) -> None:
    """Kernels do not look at what they are given: what gets there has to be right."""
    arrays, fields = contents[name]
    path = tmp_path / "run.ckpt"
    counts = {"run": 0, "refused": 0}
    for which, array in arrays.items():
        for other in bent(array):
            changed = {key: kept for key, kept in arrays.items() if key != which}
            said = outcome(path, (changed if other is None else {**changed, which: other}, fields))
            counts["refused" if said else "run"] += 1
            if other is None and not which.startswith(("optimizer/model", "optimizer/initial", "evaluator/partial")):
                assert said, which
            odd = other is not None and (other.dtype.kind != array.dtype.kind or other.ndim != array.ndim)
            if odd and not which.startswith("history/info/"):
                assert said, (which, other)
    assert min(counts.values()) > 20, counts
    assert no_workers == []


def test_a_file_cannot_ask_for_more_workers_than_there_are_rows(
    contents: dict[str, Content], no_workers: list[int], tmp_path: Path
) -> None:
    for workers in (3, 10**9):
        content = altered(contents["pbil"], ("description", "means", "workers"), workers)
        assert outcome(tmp_path / "run.ckpt", content) == "no workers here"
    assert no_workers == [3, 12]


def test_what_is_unknown_is_refused(contents: dict[str, Content], no_workers: list[int], tmp_path: Path) -> None:
    content = contents["pbil"]
    for way, says in (
        (("description", "limits", "max_hours"), "expected fields of Limits in the checkpoint, got 'max_hours'"),
        (
            ("description", "means", "executor"),
            "EvaluationOptions in the checkpoint, got 'executor'",
        ),
        (("description", "settings", "corruption"), "unknown setting of pbil 'corruption'"),
    ):
        assert outcome(tmp_path / "run.ckpt", altered(content, way, 1)).startswith(says)


@pytest.mark.parametrize(
    "spec",
    [
        "{folder}/harm.py:f",
        "cmd:touch {folder}/harmed",
        "cmd:{folder}/harm.py",
        "harm:f",
        "../../etc/passwd",
        "nk:../../etc/passwd",
        "nk:{folder}/harm.py",
        "nk:{folder}/pipe",
        "nk:/dev/zero",
        "nk:{folder}",
        "onemax:n=__import__('os').system('touch {folder}/harmed')",
        "onemax:n=1000000000000",
        "onemax:n=6",
        "nk:n=1000000,k=40,seed=1",
        "\0",
        "",
    ],
)
def test_a_checkpoint_names_problems_of_daedal_and_nothing_else(
    spec: str, contents: dict[str, Content], no_workers: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of Python, no program: whatever the text, nothing is run, and nothing is waited for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')\ndef f(x): return x.sum(axis=1)\n")
    (tmp_path / "harm.py").chmod(0o755)
    os.mkfifo(tmp_path / "pipe")
    text = spec.format(folder=tmp_path)
    content = altered(contents["pbil"], ("description", "spec"), text)
    for objective in (text, "onemax:n=5"):
        said = outcome(tmp_path / "run.ckpt", altered(content, ("description", "objective"), objective))
        assert said
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("algorithm", "model"),
    [("nobody", "Nobody"), ("pbil", "Nobody"), ("dae", "PBIL"), ("pbil", "DAE"), ("os.system", "os.system"), ("", "")],
)
def test_an_algorithm_that_is_not_the_one_of_the_run_is_refused(
    algorithm: str, model: str, contents: dict[str, Content], no_workers: list[int], tmp_path: Path
) -> None:
    content = altered(contents["pbil"], ("description", "algorithm"), algorithm)
    content = altered(content, ("description", "model"), model)
    content = altered(content, ("description", "settings"), {})
    assert "algorithm" in outcome(tmp_path / "run.ckpt", content)


def test_a_cache_is_not_made_where_a_checkpoint_says(
    contents: dict[str, Content], no_workers: list[int], tmp_path: Path
) -> None:
    content = altered(contents["pbil"], ("description", "means", "cache"), str(tmp_path / "new.db"))
    assert "expected the cache of the run at" in outcome(tmp_path / "run.ckpt", content)
    assert not (tmp_path / "new.db").exists()
    victim = tmp_path / "letter.txt"
    victim.write_text("dear reader, " * 500)
    content = altered(contents["pbil"], ("description", "means", "cache"), str(victim))
    assert str(victim) in outcome(tmp_path / "run.ckpt", content)
    assert victim.read_text() == "dear reader, " * 500
    (tmp_path / "new.db").touch()
    content = altered(contents["pbil"], ("description", "means", "cache"), str(tmp_path / "new.db"))
    assert outcome(tmp_path / "run.ckpt", content) == ""
