"""Checkpoints: when one is due, and that records come back as they were."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daedal
from daedal.limits import StopReason
from daedal.optimizers.history import history_state, restored_history
from daedal.optimizers.records import Generation
from daedal.run import checkpoint
from daedal.run.checkpoint import Checkpointer, load_checkpoint
from daedal.storage.atomic import previous_path
from daedal.types import State

TIMES = [("60s", 60.0, None), ("0.05s", 0.05, None), ("2m", 120.0, None), (" 1.5 h ", 5400.0, None)]
COUNTS = [(5, None, 5), ("5", None, 5), (np.int64(3), None, 3)]


@pytest.mark.parametrize(("every", "seconds", "generations"), [*TIMES, *COUNTS])
def test_every_is_a_time_or_a_number_of_generations(
    tmp_path: Path, every: Any, seconds: float | None, generations: int | None
) -> None:
    checkpointer = Checkpointer(tmp_path / "run.ckpt", every)
    assert (checkpointer.seconds, checkpointer.generations) == (seconds, generations)


ODD = [0, -1, 1.5, 5.0, True, None, "", "0", "0s", "0.0m", "-5s", "5d", "5 sec", "s", "1e3s", "nan", "²", "5s5", []]


@pytest.mark.parametrize("every", ODD, ids=repr)
def test_every_that_is_neither_is_refused(tmp_path: Path, every: Any) -> None:
    with pytest.raises(ValueError, match="60s") as caught:
        daedal.maximize("onemax:n=4", algorithm="umda", popsize=4, checkpoint=tmp_path / "run.ckpt", every=every)
    assert f"every={every!r}" in str(caught.value)


def test_a_place_where_no_file_can_be_is_told_before_the_run(tmp_path: Path) -> None:
    for place, named in ((tmp_path / "no" / "run.ckpt", tmp_path / "no"), (tmp_path, tmp_path)):
        with pytest.raises(OSError, match=f"{named}"):
            daedal.maximize(lambda x: pytest.fail("the objective was called"), n=4, checkpoint=place)


def test_generations_are_counted_and_time_is_measured(tmp_path: Path) -> None:
    now = 1000.0
    by_generation = Checkpointer(tmp_path / "a", 3)
    by_time = Checkpointer(tmp_path / "b", "10s", clock=lambda: now)
    assert [g for g in range(10) if by_generation.is_due(g)] == [0, 3, 6, 9]
    assert not by_generation.is_due(None)
    now = 1009.9
    assert not by_time.is_due(None)
    now = 1010.0
    assert by_time.is_due(None)
    assert by_time.is_due(7)
    by_time.write(State(arrays={}, fields={}))
    assert not by_time.is_due(7)
    now = 1020.0
    assert by_time.is_due(7)


def test_the_file_before_is_kept(tmp_path: Path) -> None:
    checkpointer = Checkpointer(tmp_path / "run.ckpt", 1)
    for number in (1, 2, 3):
        checkpointer.write(State(arrays={"a": np.full(3, number)}, fields={"number": number}))
    for path, number in ((tmp_path / "run.ckpt", 3), (previous_path(tmp_path / "run.ckpt"), 2)):
        state = load_checkpoint(path)
        assert (state.whole("number"), state.array("a").tolist()) == (number, [number] * 3)
    assert len(list(tmp_path.iterdir())) == 2


RUN = {"algorithm": "umda", "popsize": 10, "seed": 1, "max_generations": 2}


@pytest.mark.parametrize("content", [b"def f(x): ...\n", b"SQLite format 3\0" + bytes(600), b"PK\3\4" + bytes(99)])
def test_a_file_of_another_kind_is_refused_before_the_run_whatever_is_said(tmp_path: Path, content: bytes) -> None:
    for name in ("run.ckpt", "run.ckpt.previous"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileExistsError, match=name):
            daedal.maximize(lambda x: pytest.fail("called"), 4, checkpoint=tmp_path / "run.ckpt", overwrite=True, **RUN)
        assert (tmp_path / name).read_bytes() == content
        (tmp_path / name).unlink()


def test_the_checkpoint_of_another_run_is_replaced_only_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    daedal.maximize("onemax:n=8", checkpoint=path, **RUN)
    before = path.read_bytes()
    for damage in (before, before[:-1]):
        path.write_bytes(damage)
        with pytest.raises(FileExistsError, match=r"daedal\.resume\(.*run\.ckpt.* overwrite=True"):
            daedal.maximize(lambda x: pytest.fail("called"), 8, checkpoint=path, **RUN)
        assert path.read_bytes() == damage
    daedal.maximize("onemax:n=9", checkpoint=path, overwrite=True, **RUN)
    assert daedal.resume(path).x.size == 9


def test_a_checkpoint_without_a_row_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(daedal.ObjectiveError):
        daedal.maximize(lambda x: None, 8, checkpoint=path, **RUN)
    assert path.exists()
    assert daedal.maximize("onemax:n=8", checkpoint=path, **RUN).x.size == 8


def test_what_another_run_has_written_meanwhile_stays(tmp_path: Path) -> None:
    one, other = (Checkpointer(tmp_path / "run.ckpt", 1) for _ in range(2))
    for number in (1, 2):
        one.write(State(arrays={}, fields={"number": number}))
    with pytest.raises(FileExistsError, match=r"run\.ckpt"):
        other.write(State(arrays={}, fields={"number": 3}))
    assert load_checkpoint(one.path).whole("number") == 2
    one.path.unlink()
    other.write(State(arrays={}, fields={"number": 4}))
    assert load_checkpoint(one.path).whole("number") == 4


def test_the_place_stays_where_it_was_when_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)

    def wandering(x: Any) -> Any:
        os.chdir(elsewhere)
        return x.sum(axis=1)

    daedal.maximize(wandering, 8, checkpoint="run.ckpt", cache="values.db", name="w", every=1, **RUN)
    assert os.listdir(elsewhere) == []
    assert {"run.ckpt", "run.ckpt.previous", "values.db"} <= set(os.listdir(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert daedal.resume("run.ckpt", wandering).generations == 2
    assert os.listdir(elsewhere) == []


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
def test_records_come_back_as_they_were(records: list[Generation]) -> None:
    """To the sign of a zero: also where a model tells another thing in each generation."""
    records = [Generation(**{**vars(record), "generation": index}) for index, record in enumerate(records)]
    back = restored_history(history_state(records))
    assert back == records
    for one, other in zip(back, records, strict=True):
        assert type(one.evaluations) is int
        assert math.copysign(1, one.best) == math.copysign(1, other.best)
        assert all(math.copysign(1, one.info[name]) == math.copysign(1, number) for name, number in other.info.items())


def test_whole_numbers_stay_whole_and_what_was_not_told_is_not_there() -> None:
    told: list[dict[str, float]] = [{}, {"epochs": 3, "error": 0.5}, {"epochs": 0}]
    records = [Generation(generation=g, evaluations=g, best=0.0, mean=0.0, info=info) for g, info in enumerate(told)]
    assert repr([dict(record.info) for record in restored_history(history_state(records))]) == repr(told)


def test_a_run_goes_on_behind_a_link(tmp_path: Path) -> None:
    """The file that it leads to is kept up to date, and the link stays one."""
    path, link = tmp_path / "run.ckpt", tmp_path / "link.ckpt"
    how = {"algorithm": "umda", "popsize": 20, "seed": 1, "max_generations": 6}
    daedal.maximize("onemax:n=30", checkpoint=path, callback=lambda record: record.generation == 1, **how)
    link.symlink_to(path)
    before = path.read_bytes()
    assert daedal.resume(link).generations > 1
    assert link.is_symlink()
    assert path.read_bytes() != before


def test_ctrl_c_waits_until_a_checkpoint_is_written_and_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the run would not know the file as its own when it writes the next one."""
    written: list[Path] = []
    real = checkpoint.write_checkpoint_file

    def interrupted(path: Path, **state: Any) -> None:
        real(path, **state)
        written.append(path)
        if len(written) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(
        Checkpointer.__init__, "__kwdefaults__", {**Checkpointer.__init__.__kwdefaults__, "write": interrupted}
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may have it ignored
    how: dict[str, Any] = {
        "algorithm": "umda",
        "popsize": 20,
        "seed": 1,
        "checkpoint": tmp_path / "run.ckpt",
        "every": 1,
    }
    assert daedal.maximize("onemax:n=60", **how).stop is StopReason.INTERRUPTED
    assert len(written) == 3
