"""A run under way: what is kept when, whatever ends it, and that nothing that was evaluated is lost."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from daedal.evaluation.evaluator import Evaluator
from daedal.optimizers.eda import EDA
from daedal.run.checkpoint import Checkpointer, load_checkpoint
from daedal.storage.checkpoint_file import write_checkpoint_file
from run_helpers import PAUSE, Rows, at, batch, config, rewrite, score, told

import daedal
from daedal.evaluation.caller import Caller, ObjectiveError
from daedal.limits import Limits, StopReason
from daedal.models import UMDA
from daedal.models.base import Fitted
from daedal.run.config import RunConfig
from daedal.run.loop import Run
from daedal.searches.presets import find_algorithm
from daedal.storage.atomic import previous_path
from daedal.types import Bits, State

Whole = tuple[daedal.Result, int]
RUN: dict[str, Any] = {"n": 10, "algorithm": "umda", "popsize": 20, "seed": 3, "max_generations": 5}


class Disk:
    """Writes checkpoints and remembers them, until it is full; somebody may press Ctrl-C meanwhile."""

    def __init__(self, full_after: int = 1000, pressed: range = range(0)) -> None:
        self.full_after = full_after
        self.pressed = pressed
        self.tried = 0
        self.written: list[tuple[int, int]] = []  # generation, rows of a batch under way
        self.files: list[bytes] = []

    def write(self, path: Path, *, arrays: Any, fields: Any) -> None:
        self.tried += 1
        if self.tried in self.pressed:
            raise KeyboardInterrupt
        if self.tried > self.full_after:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_checkpoint_file(path, arrays=arrays, fields=fields)
        self.written.append((fields["optimizer"]["generation"], len(arrays.get("evaluator/partial", ()))))
        self.files.append(path.read_bytes())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@pytest.fixture(scope="module")
def whole() -> Whole:
    """The run that is never broken off, and how many rows it evaluates."""
    rows = Rows()
    result = daedal.maximize(rows, vectorized=False, **RUN)
    assert result.evaluated == len(rows.calls) == len(set(rows.calls))
    assert result.cached > 0
    return result, len(rows.calls)


# When


@pytest.mark.parametrize(("every", "generations"), [(1, [1, 2, 3, 4, 5, 6]), (3, [1, 4]), ("2", [1, 3, 5]), (100, [1])])
def test_after_so_many_generations_and_at_the_end(
    path: Path, every: int | str, generations: list[int], whole: Whole
) -> None:
    disk = Disk()
    result = config(batch, **RUN).run(checkpointer=Checkpointer(path, every, write=disk.write))
    assert told(result) == told(whole[0])
    assert disk.written == [(generation, 0) for generation in [*generations, 6]]
    os.replace(previous_path(path), path)  # the one before is a checkpoint, too
    assert told(daedal.resume(path, batch)) == told(result)


@pytest.mark.parametrize("objective", [Rows(pauses=25), batch], ids=["row by row", "a batch"])
def test_when_it_is_time_also_in_the_middle_of_a_generation(path: Path, objective: Any, whole: Whole) -> None:
    """And each file goes on as the run itself did; where all rows of a batch have come, without a call for none."""
    disk, by_row = Disk(), isinstance(objective, Rows)
    always = Checkpointer(path, "1s", clock=itertools.count().__next__, write=disk.write)
    result = config(objective, vectorized=not by_row, **RUN).run(checkpointer=always)
    assert told(result) == told(whole[0])
    in_the_middle = [(rows, file) for (_, rows), file in zip(disk.written, disk.files, strict=True) if rows]
    assert any(evaluated <= 5 if by_row else evaluated == 20 for evaluated, _ in in_the_middle)
    for evaluated, file in in_the_middle[:3]:
        path.write_bytes(file)
        rest = Rows()
        again = rest if by_row else lambda x: batch(x) + 0 * x.max()  # max() fails where there are no rows
        assert told(daedal.resume(path, again)) == told(result)
        assert len(rest.calls) <= whole[1] - evaluated


def test_without_a_checkpoint_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    daedal.maximize(batch, **RUN)
    assert list(tmp_path.iterdir()) == []


# Broken off in the middle of a batch


def broken(path: Path, rows: Rows, **how: Any) -> daedal.Result | None:
    """Run until the objective fails; give the result, if there is one."""
    try:
        return daedal.maximize(rows, vectorized=False, checkpoint=path, **RUN | how)
    except (ObjectiveError, KeyboardInterrupt) as raised:
        assert isinstance(raised, KeyboardInterrupt) == (rows.error is KeyboardInterrupt)  # noqa: PT017
        return None


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("call", [2, 3, 11, 20, 21, 25, 40, 55])  # 20 are the first batch; later ones are smaller
def test_what_was_evaluated_is_not_evaluated_again(
    path: Path, call: int, error: type[BaseException], whole: Whole
) -> None:
    """Some of it noted down a while ago, some just now."""
    rows = Rows(call, error, pauses=7 if call == 11 else None)
    result = broken(path, rows)
    assert (result is not None) == (error is KeyboardInterrupt)
    if result is not None:
        assert result.stop is StopReason.INTERRUPTED
        assert result.fitness == max(score(np.array(list(map(int, text)))) for text in rows.calls)
        assert result.evaluated == len(rows.calls) <= result.evaluations
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(whole[0])
    assert set(rest.calls).isdisjoint(rows.calls)
    assert len(rest.calls) + len(rows.calls) == whole[1]


def test_broken_off_again_and_again(path: Path, whole: Whole) -> None:
    """Every few rows, also twice in one batch: nothing is lost, nothing done twice."""
    rows = Rows(4)
    result = broken(path, rows)
    calls = list(rows.calls)
    while result is not None and result.stop is StopReason.INTERRUPTED:
        rows = Rows(8)
        result = daedal.resume(path, rows)
        calls += rows.calls
    assert result is not None
    assert told(result) == told(whole[0])
    assert len(calls) == len(set(calls)) == whole[1]


@dataclass(frozen=True, kw_only=True)
class Pressed(UMDA):
    """UMDA, where Ctrl-C is pressed while a model is fitted."""

    fits_left: ClassVar[int] = 1000

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        Pressed.fits_left -= 1
        if Pressed.fits_left < 0:
            raise KeyboardInterrupt
        return super().fit(x, rng=rng, previous=previous)


def test_broken_off_again_before_the_next_row(path: Path) -> None:
    """What was evaluated before the first break is not lost with the second, which comes in the fit."""
    Pressed.fits_left = 1000
    every = Rows()
    expected = daedal.maximize(every, vectorized=False, **RUN | {"algorithm": Pressed()})
    rows = Rows(27)
    first = broken(path, rows, algorithm=Pressed())
    Pressed.fits_left = 0
    second = daedal.resume(path, Rows(1), algorithm=Pressed())
    assert first is not None
    assert told(second) == told(first)
    Pressed.fits_left = 1000
    rest = Rows()
    assert told(daedal.resume(path, rest, algorithm=Pressed())) == told(expected)
    assert rows.calls + rest.calls == every.calls


INITIAL = np.random.default_rng(7).integers(0, 2, (6, 10))
WAYS: dict[str, dict[str, Any]] = {
    "a cache that others share": {"name": "score"},  # what the run itself had put there was not known from before
    "no deduplication": {"deduplicate": False},  # each row is evaluated as often as it comes, before the break or after
    "rows to begin with": {"initial": INITIAL},
    "rows and values to begin with": {"initial": (INITIAL, np.arange(6.0))},
}


@pytest.mark.parametrize("call", [2, 9, 19, 25])
@pytest.mark.parametrize("way", WAYS)
def test_each_row_is_evaluated_as_if_nothing_had_happened(way: str, call: int, path: Path, tmp_path: Path) -> None:
    how = WAYS[way]

    def cache(name: str) -> dict[str, Any]:
        return how | ({"cache": tmp_path / name} if "name" in how else {})

    expected = Rows()
    result = daedal.maximize(expected, vectorized=False, **RUN, **cache("whole.db"))
    rows, rest = Rows(call), Rows()
    broken(path, rows, **cache("half.db"))
    assert told(daedal.resume(path, rest)) == told(result)
    assert rows.calls + rest.calls == expected.calls
    assert (len(set(expected.calls)) < len(expected.calls)) == (way == "no deduplication")


def test_broken_off_before_anything_was_evaluated_there_is_nothing_to_keep(path: Path) -> None:
    assert broken(path, Rows(1)) is None
    assert not path.exists()


@pytest.mark.parametrize("policy", ["worst", "retry:2,worst"])
@pytest.mark.parametrize("call", [8, 20, 30])
def test_rows_that_fail_are_counted_once(path: Path, call: int, policy: str) -> None:
    """Also where the run is broken off in a batch in which some had failed already."""

    class Picky(Rows):
        def __call__(self, row: Any) -> float:
            value = super().__call__(row)
            return value if row[:2].any() else float("nan")

    expected = daedal.maximize(Picky(), vectorized=False, on_error=policy, **RUN)
    assert expected.failed == len(expected.failures) > 3
    rows, rest = Picky(call), Picky()
    assert broken(path, rows, on_error=policy) is not None
    assert told(daedal.resume(path, rest)) == told(expected)
    assert {text for text in rows.calls if "1" in text[:2]}.isdisjoint(rest.calls)


def test_a_batch_that_fails_keeps_the_rows_before_the_one_to_blame(path: Path, whole: Whole) -> None:
    """A function of a batch: which row it was is found out row by row, and what came on the way is kept."""
    with pytest.raises(ObjectiveError, match="None"):
        daedal.maximize(lambda x: None, checkpoint=path, **RUN)
    assert told(daedal.resume(path, batch)) == told(whole[0])  # even that may be mended
    blame: Any = daedal.maximize(batch, callback=at(0), **RUN).x  # some row of the first batch
    sizes: list[int] = []

    def picky(x: Any) -> Any:
        if blame is not None and (x == blame).all(axis=1).any():
            raise ConnectionError("the simulator is down")
        sizes.append(len(x))
        return batch(x)

    with pytest.raises(ObjectiveError, match="the simulator is down"):
        daedal.maximize(picky, checkpoint=path, overwrite=True, **RUN)
    with pytest.raises(ObjectiveError, match="the simulator is down"):
        daedal.resume(path, picky)
    blame = None
    assert told(daedal.resume(path, picky)) == told(whole[0])
    assert sum(sizes) == whole[1]


# Broken off elsewhere


class PressedRun(Run):
    """A run, by hand, in which Ctrl-C is pressed at some moment of the third batch."""

    def __init__(self, moment: str = "", checkpointer: Checkpointer | None = None) -> None:
        def press(now: str) -> None:
            if now == moment and self.evaluator.batches == (2 if moment == "answered" else 3):
                signal.raise_signal(signal.SIGINT)

        class PressedEDA(EDA):
            def tell(self, fitness: Any) -> daedal.Generation | None:
                record = super().tell(fitness)
                press("told")
                return record

        class PressedEvaluator(Evaluator):
            def commit(self) -> None:
                press("answered")
                super().commit()

        limits, nothing = Limits(max_generations=5), State(arrays={}, fields={})
        eda = PressedEDA(n=10, model=UMDA(), popsize=20, seed=3, limits=limits)
        evaluator = PressedEvaluator(Caller(batch), n=10)
        super().__init__(
            eda,
            evaluator,
            limits=limits,
            config=nothing,
            checkpointer=checkpointer,
            callback=lambda record: press("recorded"),
        )


@pytest.mark.parametrize("moment", ["answered", "told", "recorded"])
def test_ctrl_c_between_the_answers_and_the_record_waits(path: Path, moment: str, whole: Whole) -> None:
    """Counts, population and records belong together: no checkpoint has the one without the others."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # this process may have been told to ignore it
    half = PressedRun(moment, Checkpointer(path, 100)).go()
    signal.signal(signal.SIGINT, before)
    assert (half.stop, half.history[-1].generation) == (StopReason.INTERRUPTED, 2)
    rest = PressedRun()
    rest.restore(load_checkpoint(path))
    means = [record.mean for record in rest.go().history]
    assert means == [record.mean for record in whole[0].history]


@pytest.mark.parametrize("write", [1, 4])
def test_ctrl_c_while_a_checkpoint_is_written(path: Path, write: int, whole: Whole) -> None:
    """The first one ends the run with the best so far; one more while that is written ends it at once."""
    once, twice = Disk(pressed=range(write, write + 1)), Disk(pressed=range(write, write + 2))
    result = config(batch, **RUN).run(checkpointer=Checkpointer(path, 1, write=once.write))
    assert (result.stop, result.generations) == (StopReason.INTERRUPTED, write - 1)
    assert told(daedal.resume(path, batch)) == told(whole[0])
    path.unlink()
    with pytest.raises(KeyboardInterrupt):
        config(batch, **RUN).run(checkpointer=Checkpointer(path, 1, write=twice.write))
    assert path.exists() == (write > 1)


# When the disk is full


@pytest.mark.parametrize(("writes", "generation"), [(0, 0), (3, 3), (6, 5)])
@pytest.mark.parametrize("minimize", [False, True])
def test_a_full_disk_ends_the_run_and_the_error_tells_the_best(
    path: Path, writes: int, generation: int, minimize: bool
) -> None:
    """In the objective's own sign and order, also where variables are shuffled; and what is on the disk stays good."""
    best: list[float] = []
    run = config("trap:k=5,n=10", **RUN | {"n": None, "target": -99 if minimize else 99, "minimize": minimize})
    with pytest.raises(OSError, match="No space left") as caught:
        run.run(
            checkpointer=Checkpointer(path, 1, write=Disk(full_after=writes).write),
            callback=lambda record: best.append(record.best),
        )
    assert len(best) == generation + 1
    assert caught.value.errno == errno.ENOSPC
    sentence, x = str(caught.value).rsplit(": ", 1)
    assert sentence.endswith(f"fitness {best[-1]:g}")
    assert daedal.problems.Trap(k=5, n=10).evaluate(np.array([list(map(int, x))], dtype=np.uint8))[0] == best[-1]
    assert path.exists() == (writes > 0)
    if writes:
        assert told(daedal.resume(path)) == told(run.run())


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        (Rows(pauses=5), OSError, "the best so far has fitness"),  # in the middle of a batch
        (Rows(7), OSError, "the best so far has fitness"),
        (Rows(7, RuntimeError), ObjectiveError, "raised RuntimeError"),
        (Rows(1, RuntimeError), ObjectiveError, "raised RuntimeError"),  # when there is no best
    ],
)
def test_a_full_disk_does_not_hide_what_ended_the_run(
    path: Path, rows: Rows, error: type[Exception], says: str
) -> None:
    clock = itertools.count(step=1000 if rows.pauses else 0).__next__
    full = Checkpointer(path, clock=clock, write=Disk(full_after=0).write)
    with pytest.raises(error, match=says) as caught:
        config(rows, vectorized=False, **RUN).run(checkpointer=full)
    assert "No space left on device" in str(caught.value)
    assert len(rows.calls) <= 7
    if rows.raises != 1:
        assert max(rows.calls, key=lambda text: score(np.array(list(map(int, text))))) in str(caught.value)


# Clocks


def test_time_goes_on_where_it_stood(path: Path) -> None:
    """What all parts of a run took counts together: in the result and in the records."""

    def slow(x: Any) -> Any:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
        return batch(x)

    first = daedal.maximize(slow, checkpoint=path, callback=at(2), **RUN)
    second = daedal.resume(path, slow)
    assert min(first.cpu_seconds, second.cpu_seconds - first.cpu_seconds) >= 0.05
    assert min(first.seconds, second.seconds - first.seconds) >= 0.05
    times = [record.cpu_seconds for record in second.history]
    assert times == sorted(times)
    assert times[:3] == [record.cpu_seconds for record in first.history]


def test_a_run_has_its_time_once_and_not_after_each_break(path: Path) -> None:
    """In the middle of a batch, too; and when it is up, the result is the same again, without a call."""
    daedal.maximize(Rows(), vectorized=False, checkpoint=path, callback=at(2), **RUN, max_seconds=1000)
    rewrite(path, {"run": {"seconds": 1000 - PAUSE / 2}})
    rows = Rows(pauses=1)
    result = daedal.resume(path, rows)
    assert result.stop is StopReason.SECONDS
    assert result.seconds >= 1000
    assert result.generations == 2
    assert len(rows.calls) <= 1  # none where the machine is busy
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(result)
    assert rest.calls == []


# What no optimizer may give


class Careless(daedal.BaseOptimizer):
    """Asks for some rows, and tells something of them."""

    rows: ClassVar[Any] = np.ones((2, 10), np.uint8)
    info: ClassVar[dict[str, Any]] = {"whole": np.int64(3), "share": np.float32(0.5), "yes": np.True_}

    def propose(self) -> Bits:
        return type(self).rows[:]

    def learn(self, rows: Bits, fitness: Any) -> dict[str, Any]:
        return type(self).info


def test_numbers_of_any_kind_are_records_as_a_checkpoint_gives_them_back() -> None:
    record = daedal.maximize(batch, 10, algorithm=Careless, max_generations=0).history[0]
    assert repr(record.info) == "{'whole': 3, 'share': 0.5, 'yes': 1}"


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("rows", np.empty((0, 10), np.uint8), "none"),
        ("rows", np.ones((2, 9), np.uint8), r"\(2, 9\)"),
        ("rows", np.ones(10, np.uint8), r"\(10,\)"),
        ("rows", np.ones((2, 10), np.int64), "int64"),
        ("rows", np.full((2, 10), 2, np.uint8), "a 2"),
        ("rows", [[1] * 10], "list"),
        ("info", {"error": "large"}, "error='large'"),
        ("info", {"error": None}, "error=None"),
    ],
)
def test_who_wrote_an_optimizer_learns_what_is_wrong_with_it(name: str, wrong: Any, says: str) -> None:
    own = type("Own", (Careless,), {name: wrong})
    with pytest.raises((ValueError, TypeError), match=rf"Own.*{says}"):
        daedal.maximize(batch, 10, algorithm=own, max_generations=3)


def test_who_asks_to_end_once_the_run_has_ended_gets_its_result() -> None:
    """While the display closes, and while the result is made."""

    class Display:
        def __enter__(self) -> Display:
            return self

        def __exit__(self, *_: object) -> None:
            signal.raise_signal(signal.SIGINT)

        def update(self, record: daedal.Generation) -> None:
            pass

    algorithm = find_algorithm("umda").with_settings({"popsize": 20})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run = RunConfig(objective="onemax:n=8", algorithm=algorithm, seed=1)
        result = run.run(display=lambda view: Display())
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.fitness == 8
    assert result.stop is StopReason.INTERRUPTED


def test_rows_that_are_none_are_told_by_the_method_that_gave_them() -> None:
    class Wrong(daedal.BaseOptimizer):
        def propose(self) -> Any:
            return np.full((1, self.n), 2, np.uint8)

        def learn(self, rows: Any, fitness: Any) -> None:
            raise NotImplementedError

    with pytest.raises(ValueError, match=r"^Wrong\.propose\(\): "):
        daedal.maximize("onemax:n=4", algorithm=Wrong, seed=1)
