"""A run under way: what is kept when, whatever ends it, and that nothing that was evaluated is lost."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import daedal
from daedal import models
from daedal.evaluation import evaluator as evaluation
from daedal.evaluation import serial as here
from daedal.evaluation.caller import ObjectiveError
from daedal.limits import StopReason
from daedal.models.base import Fitted
from daedal.run import checkpoint
from daedal.run import loop as running
from daedal.run.checkpoint import load
from daedal.storage.atomic import previous_path

RUN: dict[str, Any] = {"n": 10, "algorithm": "umda", "popsize": 20, "seed": 3, "max_generations": 5}


def score(row: Any) -> float:
    return float((row * np.arange(len(row))).sum() % 7)


class Rows:
    """A function of one row that counts its calls, and fails in some way in one of them."""

    def __init__(self, at: int | None = None, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.at = at
        self.error = error
        self.calls: list[str] = []

    def __call__(self, row: Any) -> float:
        if len(self.calls) + 1 == self.at:
            raise self.error
        self.calls.append("".join(map(str, row)))
        return score(row)


def batch(x: Any) -> Any:
    return np.array([score(row) for row in x])


def told(result: daedal.Result) -> dict[str, Any]:
    """Give all that a result tells, but for the clocks."""
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    fields["x"] = result.x.tolist()
    fields["history"] = [dataclasses.replace(record, cpu_seconds=0.0) for record in result.history]
    return {name: value for name, value in fields.items() if "seconds" not in name}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@pytest.fixture
def each_row_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for rows that take a tenth of a second each."""
    monkeypatch.setattr(here, "SECONDS_BETWEEN_NOTES", -1.0)


@pytest.fixture(scope="module")
def whole() -> tuple[daedal.Result, int]:
    """The run that is never broken off, and how many rows it evaluates."""
    rows = Rows()
    result = daedal.maximize(rows, vectorized=False, **RUN)
    assert result.carried_out == len(rows.calls) == len(set(rows.calls))
    assert result.cached > 0
    return result, len(rows.calls)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Note each checkpoint as it is written: its generation, and the rows of a batch that is under way."""
    found: list[tuple[int, int]] = []
    real = checkpoint.write_checkpoint_file

    def write(path: Any, *, arrays: Any, fields: Any) -> None:
        real(path, arrays=arrays, fields=fields)
        found.append((fields["optimizer"]["generation"], len(arrays.get("evaluator/partial", ()))))

    monkeypatch.setattr(checkpoint, "write_checkpoint_file", write)
    return found


# When


@pytest.mark.parametrize(("every", "generations"), [(1, [1, 2, 3, 4, 5, 6]), (3, [1, 4]), ("2", [1, 3, 5]), (100, [1])])
def test_after_so_many_generations_and_at_the_end(
    path: Path, written: list[tuple[int, int]], every: int | str, generations: list[int]
) -> None:
    result = daedal.maximize(batch, checkpoint=path, every=every, **RUN)
    assert result.stop is StopReason.GENERATIONS
    assert written == [(generation, 0) for generation in [*generations, 6]]
    last = generations[-1]
    assert load(previous_path(path)).inner("optimizer").whole("generation") == last


def test_after_so_much_time(path: Path, written: list[tuple[int, int]]) -> None:
    daedal.maximize(batch, checkpoint=path, every="1h", **RUN)
    assert written == [(6, 0)]
    written.clear()
    daedal.maximize(batch, checkpoint=path, every="0.000001s", **RUN)
    assert len(written) > 6
    assert written[-1] == (6, 0)


def test_after_so_much_time_in_the_middle_of_a_generation_where_rows_come_one_by_one(
    path: Path, written: list[tuple[int, int]], whole: tuple[daedal.Result, int], tmp_path: Path
) -> None:
    """And the file that is there then goes on as the run itself did."""
    kept: list[bytes] = []

    def slow(row: Any) -> float:
        time.sleep(0.01)
        if written and written[-1][1] and len(kept) < len(written):
            kept.append(path.read_bytes())
        return score(row)

    result = daedal.maximize(slow, vectorized=False, checkpoint=path, every="0.05s", **RUN)
    assert told(result) == told(whole[0])
    in_the_middle = [rows for _, rows in written if rows]
    assert any(0 < rows < 20 for rows in in_the_middle)
    assert kept
    (tmp_path / "copy.ckpt").write_bytes(kept[0])
    rows = Rows()
    assert told(daedal.resume(tmp_path / "copy.ckpt", rows)) == told(result)
    assert len(rows.calls) < whole[1]


def test_the_file_before_is_a_checkpoint_too(path: Path, whole: tuple[daedal.Result, int], tmp_path: Path) -> None:
    daedal.maximize(batch, checkpoint=path, every=1, callback=lambda record: record.generation == 3, **RUN)
    previous = previous_path(path)
    assert load(path).inner("optimizer").whole("generation") == 4
    os.rename(previous, tmp_path / "older.ckpt")
    assert told(daedal.resume(tmp_path / "older.ckpt", batch)) == told(whole[0])


def test_without_a_checkpoint_nothing_is_written(
    tmp_path: Path, written: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    daedal.maximize(batch, **RUN)
    assert written == []
    assert list(tmp_path.iterdir()) == []


# Broken off in the middle of a batch


def broken(path: Path, at: int, error: type[BaseException], **how: Any) -> tuple[Rows, daedal.Result | None]:
    """Run until the objective fails in its n-th call; give it, and the result, if there is one."""
    rows = Rows(at, error)
    try:
        return rows, daedal.maximize(rows, vectorized=False, checkpoint=path, **RUN, **how)
    except (ObjectiveError, KeyboardInterrupt) as raised:
        expected = KeyboardInterrupt if error is KeyboardInterrupt else ObjectiveError
        assert isinstance(raised, expected)  # noqa: PT017
        return rows, None


CALLS = [2, 3, 11, 20, 21, 25, 40, 55]  # 20 are the first batch; later ones are smaller


@pytest.mark.usefixtures("each_row_noted")
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("at", CALLS)
def test_what_was_evaluated_is_not_evaluated_again(
    path: Path, at: int, error: type[BaseException], whole: tuple[daedal.Result, int]
) -> None:
    rows, result = broken(path, at, error)
    assert (result is not None) == (error is KeyboardInterrupt)
    if result is not None:
        assert result.stop is StopReason.INTERRUPTED
        assert result.fitness == max(score(np.array(list(map(int, text)))) for text in rows.calls)
        assert result.carried_out == len(rows.calls) <= result.evaluations
    state = load(path)
    partial = state.arrays.get("evaluator/partial", np.empty((0, 10), dtype=np.uint8))
    settled = state.inner("evaluator").whole("carried_out")
    assert settled + len(partial) == len(rows.calls) == at - 1
    assert ["".join(map(str, row)) for row in partial] == rows.calls[settled:]
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(whole[0])
    assert set(rest.calls).isdisjoint(rows.calls)
    assert len(rest.calls) + len(rows.calls) == whole[1]


def test_what_was_evaluated_a_moment_ago_is_not_evaluated_again_either(
    path: Path, whole: tuple[daedal.Result, int]
) -> None:
    """Rows are noted down every tenth of a second: Ctrl-C must not lose those that came since."""
    rows, _ = broken(path, 15, KeyboardInterrupt)
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(whole[0])
    assert len(rest.calls) + len(rows.calls) == whole[1]


@pytest.mark.usefixtures("each_row_noted")
def test_broken_off_again_and_again(path: Path, whole: tuple[daedal.Result, int]) -> None:
    """Every few rows, also twice in one batch: nothing is lost, nothing done twice."""
    rows, _ = broken(path, 4, KeyboardInterrupt)
    calls = list(rows.calls)
    for _ in range(100):
        rows = Rows(8)
        result = daedal.resume(path, rows)
        calls += rows.calls
        if result.stop is not StopReason.INTERRUPTED:
            break
    assert told(result) == told(whole[0])
    assert len(calls) == len(set(calls)) == whole[1]


@pytest.mark.usefixtures("each_row_noted")
def test_broken_off_again_before_the_next_row(
    path: Path, whole: tuple[daedal.Result, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the model is fitted: what was evaluated before the first break is not lost with the second."""
    rows, first = broken(path, 27, KeyboardInterrupt)

    def fit(*_: Any, **__: Any) -> Fitted:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(models.UMDA, "fit", fit)
        second = daedal.resume(path, Rows(1))
    assert first is not None
    assert told(second) == told(first)
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(whole[0])
    assert len(rest.calls) + len(rows.calls) == whole[1]


def test_broken_off_when_all_rows_have_come(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by SIGKILL right after a checkpoint by the clock: the objective is not called with no rows at all."""
    sizes: list[int] = []

    def careful(x: Any) -> Any:
        sizes.append(len(x))
        return batch(x) + 0 * x.max()  # which does not work without rows

    expected = daedal.maximize(careful, **RUN)
    before = list(sizes)
    sizes.clear()
    real = evaluation.Evaluator.settle

    def commit(self: evaluation.Evaluator) -> None:
        if len(sizes) == 2:
            raise KeyboardInterrupt
        real(self)

    with monkeypatch.context() as patch:
        patch.setattr(evaluation.Evaluator, "commit", commit)
        assert daedal.maximize(careful, checkpoint=path, **RUN).stop is StopReason.INTERRUPTED
    assert told(daedal.resume(path, careful)) == told(expected)
    assert sizes == before


@pytest.mark.usefixtures("each_row_noted")
def test_with_a_cache_that_others_share_the_counts_are_the_same(
    path: Path, tmp_path: Path, whole: tuple[daedal.Result, int]
) -> None:
    """What the run itself had put there before it was broken off was carried out, not known from before."""
    rows, _ = broken(path, 25, KeyboardInterrupt, cache=tmp_path / "known.db", name="score")
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(whole[0])
    assert len(rest.calls) + len(rows.calls) == whole[1]


@pytest.mark.usefixtures("each_row_noted")
def test_without_deduplication_each_row_is_evaluated_as_often_as_it_comes(path: Path) -> None:
    """An objective with noise gives each its own value; the one of a row that came before the break is not two."""
    expected = Rows()
    result = daedal.maximize(expected, vectorized=False, deduplicate=False, **RUN)
    assert len(set(expected.calls)) < len(expected.calls) == result.evaluations
    rows, _ = broken(path, 25, KeyboardInterrupt, deduplicate=False)
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(result)
    assert rows.calls + rest.calls == expected.calls


def test_broken_off_before_anything_was_evaluated_there_is_nothing_to_keep(path: Path) -> None:
    _, result = broken(path, 1, KeyboardInterrupt)
    assert result is None
    assert not path.exists()


@pytest.mark.usefixtures("each_row_noted")
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("at", [2, 9, 19])
def test_rows_to_begin_with_are_not_forgotten(path: Path, at: int, known: bool) -> None:
    """Also where the run is broken off in its first batch, with and without their values."""
    given = np.random.default_rng(7).integers(0, 2, (6, 10))
    initial: Any = (given, np.arange(6.0)) if known else given
    expected = Rows()
    result = daedal.maximize(expected, vectorized=False, initial=initial, **RUN)
    rows, _ = broken(path, at, KeyboardInterrupt, initial=initial)
    rest = Rows()
    assert told(daedal.resume(path, rest)) == told(result)
    assert rows.calls + rest.calls == expected.calls


@pytest.mark.usefixtures("each_row_noted")
@pytest.mark.parametrize("policy", ["worst", "retry:2,worst"])
@pytest.mark.parametrize("at", [8, 20, 30])
def test_rows_that_fail_are_counted_once(path: Path, at: int, policy: str) -> None:
    """Also where the run is broken off in a batch in which some had failed already."""

    class Picky(Rows):
        def __call__(self, row: Any) -> float:
            value = super().__call__(row)
            return value if row[:2].any() else float("nan")

    expected = daedal.maximize(Picky(), vectorized=False, on_error=policy, **RUN)
    assert expected.failed == len(expected.failures) > 3
    rows = Picky(at)
    half = daedal.maximize(rows, vectorized=False, on_error=policy, checkpoint=path, **RUN)
    assert half.stop is StopReason.INTERRUPTED
    good = {text for text in rows.calls if "1" in text[:2]}
    rest = Picky()
    assert told(daedal.resume(path, rest)) == told(expected)
    assert good.isdisjoint(rest.calls)


def test_a_batch_that_fails_keeps_the_rows_before_the_one_to_blame(
    path: Path, whole: tuple[daedal.Result, int]
) -> None:
    """A function of a batch: which row it was is found out row by row, and what came on the way is kept."""
    blame = daedal.maximize(batch, callback=lambda record: True, **RUN).x  # some row of the first batch
    sizes: list[int] = []

    def picky(x: Any) -> Any:
        if (x == blame).all(axis=1).any():
            raise RuntimeError("the simulator is down")
        sizes.append(len(x))
        return batch(x)

    with pytest.raises(ObjectiveError, match="the simulator is down"):
        daedal.maximize(picky, checkpoint=path, **RUN)
    kept = len(load(path).array("evaluator/partial"))
    assert kept == len(sizes)
    sizes.clear()

    def repaired(x: Any) -> Any:
        sizes.append(len(x))
        return batch(x)

    assert told(daedal.resume(path, repaired)) == told(whole[0])
    assert sum(sizes) == whole[1] - kept


def test_an_objective_that_is_wrong_altogether_may_be_mended(path: Path, whole: tuple[daedal.Result, int]) -> None:
    with pytest.raises(ObjectiveError, match="got None"):
        daedal.maximize(lambda x: None, checkpoint=path, **RUN)
    assert told(daedal.resume(path, batch)) == told(whole[0])


# Broken off elsewhere


@pytest.mark.parametrize("generation", [0, 3])
def test_ctrl_c_in_the_callback(path: Path, generation: int, whole: tuple[daedal.Result, int]) -> None:
    def callback(record: daedal.Generation) -> None:
        if record.generation == generation:
            raise KeyboardInterrupt

    result = daedal.maximize(batch, checkpoint=path, callback=callback, **RUN)
    assert (result.stop, result.generations) == (StopReason.INTERRUPTED, generation)
    assert told(daedal.resume(path, batch)) == told(whole[0])


@pytest.mark.parametrize("moment", ["settle", "tell", "record"])
def test_ctrl_c_between_the_answers_and_the_record_waits(
    path: Path, moment: str, whole: tuple[daedal.Result, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, population and records belong together: no checkpoint has the one without the others."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls = 0

    def pressed(real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 3:
                signal.raise_signal(signal.SIGINT)
            return real(*given, **named)

        return wrapped

    with monkeypatch.context() as patch:
        if moment == "record":
            patch.setattr(running, "dataclasses", SimpleNamespace(replace=pressed(dataclasses.replace)))
        else:
            owner = {"settle": evaluation.Evaluator, "tell": daedal.EDA}[moment]
            patch.setattr(owner, moment, pressed(getattr(owner, moment)))
        result = daedal.maximize(batch, checkpoint=path, **RUN)
    signal.signal(signal.SIGINT, before)
    assert result.stop is StopReason.INTERRUPTED
    assert result.history[-1].evaluations == result.evaluations
    assert told(daedal.resume(path, batch)) == told(whole[0])


@pytest.mark.parametrize("write", [1, 4])
def test_ctrl_c_while_a_checkpoint_is_written(
    path: Path, write: int, whole: tuple[daedal.Result, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one ends the run with the best so far; one more while that is written ends it at once."""
    real = checkpoint.write_checkpoint_file
    writes = 0

    def pressed(often: int) -> Callable[..., None]:
        def wrapped(*given: Any, **named: Any) -> None:
            nonlocal writes
            writes += 1
            if write <= writes < write + often:
                raise KeyboardInterrupt
            real(*given, **named)

        return wrapped

    monkeypatch.setattr(checkpoint, "write_checkpoint_file", pressed(1))
    result = daedal.maximize(batch, checkpoint=path, every=1, **RUN)
    assert (result.stop, result.generations) == (StopReason.INTERRUPTED, write - 1)
    assert told(daedal.resume(path, batch)) == told(whole[0])
    path.unlink()
    writes = 0
    monkeypatch.setattr(checkpoint, "write_checkpoint_file", pressed(2))
    with pytest.raises(KeyboardInterrupt):
        daedal.maximize(batch, checkpoint=path, every=1, **RUN)
    assert path.exists() == (write > 1)


# When the disk is full


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Let the disk be full from the n-th checkpoint on."""
    real = checkpoint.write_checkpoint_file

    def fill(after: int) -> None:
        writes = 0

        def write(path: Any, **content: Any) -> None:
            nonlocal writes
            writes += 1
            if writes > after:
                sentence = f"cannot write a checkpoint to {path}: No space left on device"
                error = OSError(sentence)
                error.errno = errno.ENOSPC
                raise error
            real(path, **content)

        monkeypatch.setattr(checkpoint, "write_checkpoint_file", write)

    yield fill
    monkeypatch.setattr(checkpoint, "write_checkpoint_file", real)


@pytest.mark.parametrize(("after", "generation"), [(0, 0), (3, 3), (6, 5)])
@pytest.mark.parametrize("minimise", [False, True])
def test_a_full_disk_ends_the_run_and_the_error_tells_the_best(
    path: Path, full: Callable[[int], None], after: int, generation: int, minimise: bool
) -> None:
    """In the objective's own sign and order, also where variables are shuffled; and what is on the disk stays good."""
    best: list[float] = []
    optimise = daedal.minimize if minimise else daedal.maximize
    run = {**RUN, "n": None, "target": 99 if not minimise else -99}
    full(after)
    with pytest.raises(OSError, match="No space left on device; the best so far has fitness") as caught:
        optimise("trap:k=5,n=10", checkpoint=path, every=1, callback=lambda record: best.append(record.best), **run)
    assert len(best) == generation + 1
    assert caught.value.errno == errno.ENOSPC
    sentence, x = str(caught.value).rsplit(": ", 1)
    assert sentence.endswith(f"fitness {best[-1]:g}")
    assert daedal.problems.Trap(k=5, n=10).evaluate(np.array([list(map(int, x))], dtype=np.uint8))[0] == best[-1]
    assert path.exists() == (after > 0)
    full(1000)
    if after:
        assert told(daedal.resume(path)) == told(optimise("trap:k=5,n=10", **run))


def test_a_full_disk_in_the_middle_of_a_batch_ends_the_run_with_the_best_so_far(
    path: Path, full: Callable[[int], None], each_row_noted: None
) -> None:
    full(0)
    rows = Rows()
    with pytest.raises(OSError, match="No space left on device; the best so far has fitness") as caught:
        daedal.maximize(rows, vectorized=False, checkpoint=path, every="0.0000001s", **RUN)
    assert str(caught.value).endswith(rows.calls[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_full_disk_does_not_hide_what_ended_the_run(
    path: Path, full: Callable[[int], None], error: type[BaseException], each_row_noted: None
) -> None:
    full(0)
    rows = Rows(7, error)
    with pytest.raises((OSError, ObjectiveError)) as caught:
        daedal.maximize(rows, vectorized=False, checkpoint=path, **RUN)
    assert "No space left on device; the best so far has fitness" in str(caught.value)
    if error is RuntimeError:
        assert isinstance(caught.value, ObjectiveError)
        assert "the objective raised RuntimeError" in str(caught.value)


def test_a_full_disk_before_there_is_a_best_is_the_plain_error(path: Path, full: Callable[[int], None]) -> None:
    full(0)
    with pytest.raises(ObjectiveError, match=r"got None.*No space left on device$"):
        daedal.maximize(lambda x: None, checkpoint=path, **RUN)


# Clocks


def test_time_goes_on_where_it_stood(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all parts of a run took counts together: in the result, in the records, and against max_seconds."""

    def slow(x: Any) -> Any:
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
        return batch(x)

    run = {**RUN, "max_seconds": 1000}
    first = daedal.maximize(slow, checkpoint=path, callback=lambda record: record.generation == 2, **run)
    second = daedal.resume(path, slow)
    assert first.seconds >= first.cpu_seconds * 0.9 >= 0.08
    assert second.seconds >= first.seconds + 0.08
    assert second.cpu_seconds >= first.cpu_seconds + 0.08
    times = [record.cpu_seconds for record in second.history]
    assert times == sorted(times)
    assert times[:3] == [record.cpu_seconds for record in first.history]


def test_a_run_has_its_time_once_and_not_after_each_break(path: Path) -> None:
    """Told by the rows, of which there can only be fewer where the machine is slow."""
    rows = 0

    def slow(row: Any) -> float:
        nonlocal rows
        rows += 1
        time.sleep(0.02)
        return score(row)

    run = {**RUN, "max_generations": 1000, "max_seconds": 1.0}
    first = daedal.maximize(slow, vectorized=False, checkpoint=path, callback=lambda record: True, **run)
    assert first.stop is StopReason.CALLBACK
    before = rows
    result = daedal.resume(path, slow)
    assert result.stop is StopReason.SECONDS
    assert result.seconds >= 1.0
    assert before >= 20
    assert rows <= 50 + 10  # in a second, and what a chunk has more; 50 + before would be two


def test_a_run_whose_time_is_up_gives_the_same_again_at_once(path: Path) -> None:
    def slow(row: Any) -> float:
        time.sleep(0.02)
        return score(row)

    first = daedal.maximize(slow, vectorized=False, checkpoint=path, **{**RUN, "max_seconds": 0.7})
    assert first.stop is StopReason.SECONDS
    rows = Rows()
    assert told(daedal.resume(path, rows)) == told(first)
    assert rows.calls == []
